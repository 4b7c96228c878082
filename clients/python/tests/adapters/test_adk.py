"""The ADK memory service with ADK's own sessions, events and runner."""

import asyncio

import pytest
from examples import run_example
from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import InMemorySessionService
from google.genai import types

import memsidecar
from memsidecar._spaces import slug
from memsidecar.adk import MemsidecarMemoryService

ADA = {"app_name": "app", "user_id": "ada@example.com"}
BOB = {"app_name": "app", "user_id": "bob@example.com"}


def said(author, text):
    return Event(author=author, content=types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=text)]))


def tool_failed():
    call = types.FunctionCall(id="1", name="deploy", args={"to": "prod"})
    answer = types.FunctionResponse(id="1", name="deploy", response={"error": "401 unauthorized"})
    return [
        Event(author="agent", content=types.Content(role="model", parts=[types.Part(function_call=call)])),
        Event(author="agent", content=types.Content(role="user", parts=[types.Part(function_response=answer)])),
    ]


def texts(response):
    return [m.content.parts[0].text for m in response.memories]


def test_example(home):
    run_example("Google ADK")


async def test_session(home):
    """A session that is added again and again is recorded once, and what was said is found, by its user alone."""
    sessions, service = InMemorySessionService(), MemsidecarMemoryService()
    session = await sessions.create_session(**ADA)
    for event in [said("user", "Please remember that the staging server is staging.example.com"), *tool_failed()]:
        await sessions.append_event(session, event)
    await service.add_session_to_memory(session)
    await sessions.append_event(session, said("user", "Always answer in French from now on"))
    await service.add_session_to_memory(session)
    await service.add_session_to_memory(session)
    assert any("staging.example.com" in t for t in texts(await service.search_memory(**ADA, query="which server is staging?")))
    assert texts(await service.search_memory(**BOB, query="which server is staging?")) == []
    space = slug("adk", "app", "ada@example.com")
    assert space == "adk-app-ada-example-com-534f485d8bc9"  # the service in Go has the same
    client = memsidecar.Client(space=space)
    messages = list(client.session(session.id).messages())
    assert len(messages) == 3
    assert (messages[1].tool.name, messages[1].tool.failed, messages[1].tool.error) == ("deploy", True, "401 unauthorized")
    learned = [m.content for m in client.list()]
    assert len(learned) == len(set(learned))


async def test_events(home):
    service = MemsidecarMemoryService()
    events = [said("user", "Please remember that the port of the API is 8465")]
    for _ in range(2):
        await service.add_events_to_memory(**ADA, events=events, session_id="s")
    assert any("8465" in t for t in texts(await service.search_memory(**ADA, query="which port has the API?")))
    client = memsidecar.Client(space=slug("adk", "app", "ada@example.com"))
    assert len(list(client.session("s.events").messages())) == 1


async def test_memories(home):
    service = MemsidecarMemoryService()
    entry = MemoryEntry(content=types.Content(parts=[types.Part(text="Ada grows tulips")]), author="ada", custom_metadata={"n": 1})
    for _ in range(2):
        await service.add_memory(**ADA, memories=[entry])
    await asyncio.gather(*(service.add_memory(**BOB, memories=[entry]) for _ in range(5)))
    (found,) = (await service.search_memory(**ADA, query="who grows tulips?")).memories
    assert (found.author, found.custom_metadata, found.content.parts[0].text) == ("ada", {"n": 1}, "Ada grows tulips")
    await service.delete_memory(**ADA, memory_id=found.id)
    assert texts(await service.search_memory(**ADA, query="tulips")) == []
    assert texts(await service.search_memory(**BOB, query="tulips")) == ["Ada grows tulips"]
    with pytest.raises(ValueError):
        await service.delete_memory(**ADA)
