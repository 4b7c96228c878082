"""The AutoGen memory in AutoGen's own contexts, beside its ListMemory."""

import asyncio

import pytest
from autogen_core.memory import ListMemory, Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import SystemMessage, UserMessage
from examples import run_example

import memsidecar
from memsidecar.autogen import MemsidecarMemory


def text(content, **metadata):
    return MemoryContent(content=content, mime_type=MemoryMimeType.TEXT, metadata=metadata)


def test_example(home):
    run_example("AutoGen")


async def test_memory(home):
    memory = MemsidecarMemory()
    await memory.add(text("The staging server is staging.example.com", by="ada"))
    await memory.add(MemoryContent(content={"colour": "green", "n": 1}, mime_type=MemoryMimeType.JSON))
    (found,) = (await memory.query("which server is staging?", limit=1)).results
    assert (found.content, found.mime_type) == ("The staging server is staging.example.com", "text/plain")
    assert found.metadata["by"] == "ada" and found.metadata["score"] > 0
    (found,) = (await memory.query(text("green colour"))).results
    assert (found.content, found.mime_type) == ({"colour": "green", "n": 1}, "application/json")
    with pytest.raises(ValueError, match="text and JSON"):
        await memory.add(MemoryContent(content=b"x", mime_type=MemoryMimeType.BINARY))
    await memory.clear()
    assert (await memory.query("staging server")).results == []


async def test_context(home):
    """A context gets what bears on the last message, and nothing else; ListMemory puts in everything."""
    results = []
    for memory in (MemsidecarMemory(), ListMemory()):
        await memory.add(text("Deploys of the shop go through make release"))
        await memory.add(text("The office plant is called Fern"))
        context = BufferedChatCompletionContext(buffer_size=10)
        await context.add_message(UserMessage(content="How do deploys of the shop go?", source="user"))
        updated = await memory.update_context(context)
        messages = await context.get_messages()
        assert [type(m) for m in messages] == [UserMessage, SystemMessage]
        results.append((len(updated.memories.results), "Fern" in messages[-1].content, "make release" in messages[-1].content))
    assert results == [(1, False, True), (2, True, True)]
    context = BufferedChatCompletionContext(buffer_size=10)
    await MemsidecarMemory().update_context(context)
    await context.add_message(UserMessage(content="What is the capital of Peru?", source="user"))
    await MemsidecarMemory().update_context(context)
    assert len(await context.get_messages()) == 1


async def test_component(home):
    """A memory survives being written to a component file."""
    memory = MemsidecarMemory(space="team")
    await memory.add(text("The build takes four minutes"))
    again = Memory.load_component(memory.dump_component())
    assert len((await again.query("how long does the build take")).results) == 1
    await again.close()


async def test_duplicates_and_growth(home):
    memory = MemsidecarMemory()
    await asyncio.gather(*(memory.add(text("The build takes four minutes")) for _ in range(20)))
    await asyncio.gather(*(memory.add(text(f"fact number {n}")) for n in range(50)))
    assert len(list(memsidecar.Client(space="autogen").list())) == 51
