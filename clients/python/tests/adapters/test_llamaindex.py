"""The block in LlamaIndex' own Memory."""

from examples import run_example
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import MessageStatus

import memsidecar
from memsidecar.llamaindex import MemsidecarBlock


def said(role, text):
    return ChatMessage(role=role, content=text)


def test_example(home):
    run_example("LlamaIndex")


async def test_recall(home):
    """What bears on the last user message is put in, and nothing for one that nothing bears on."""
    memsidecar.Client(space="llamaindex").remember("Deploys of the shop go through make release")
    memory = Memory.from_defaults(session_id="s", memory_blocks=[MemsidecarBlock()])
    await memory.aput(said("user", "How do deploys of the shop go?"))
    assert "make release" in str([m.content for m in await memory.aget()])
    await memory.aput(said("user", "What is the capital of Peru?"))
    assert "make release" not in str([m.content for m in await memory.aget()])


async def test_recorded(home):
    """Messages that leave the short-term memory are recorded in their order, none twice, and learned from."""
    block = MemsidecarBlock()
    memory = Memory.from_defaults(
        session_id="long", token_limit=400, token_flush_size=100, chat_history_token_ratio=0.5, memory_blocks=[block]
    )
    await memory.aput(said("user", "Please remember that the staging server is staging.example.com"))
    await memory.aput(said("assistant", "I will"))
    for n in range(60):
        await memory.aput(said("user", f"question number {n} about nothing in particular"))
        await memory.aput(said("assistant", f"answer number {n} about nothing in particular"))
    client = memsidecar.Client(space="llamaindex")
    recorded = [m.content for m in client.session("long").messages()]
    assert recorded[0].startswith("Please remember") and len(recorded) == len(set(recorded)) > 50
    kept = [m.content for m in await memory.aget_all(status=MessageStatus.ACTIVE)]
    assert not set(recorded) & set(kept) and len(recorded) + len(kept) == 122
    await block.areflect("long")
    assert "staging.example.com" in await block.aget([said("user", "which server is staging?")])
