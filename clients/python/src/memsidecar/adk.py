"""A memory service for Google's Agent Development Kit: ``pip install 'memsidecar[adk]'``.

runner = Runner(agent=agent, app_name="app", session_service=sessions, memory_service=MemsidecarMemoryService())
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from . import _requests
from ._errors import MemsidecarError
from ._keyed import data_of
from ._spaces import slug
from .client import Client
from .v1 import search_service_pb2, session_pb2


class MemsidecarMemoryService(BaseMemoryService):
    """Learns from sessions and keeps memories, in a space for each application and user.

    A session's events are recorded, and the daemon learns from them at once: by rules, and with its language model if one is
    configured. ``search_memory`` finds what was learned or added, and entries of the daily log; at most ``limit``, 1 to 200.
    """

    def __init__(self, client: Client | None = None, *, limit: int = 10) -> None:
        self._client = client or Client()
        self._limit = limit

    async def add_session_to_memory(self, session: Session) -> None:
        """Record the events that were not recorded yet, and learn from the session."""
        client = self._user(session.app_name, session.user_id)
        await asyncio.to_thread(_learn, client, session.id, 1, list(_messages(session.events)), "")

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Record events, and learn from them. The same events again within a day are recorded once."""
        key = hashlib.sha256("\0".join([session_id or "", *(e.id for e in events)]).encode()).hexdigest()
        client = self._user(app_name, user_id)
        await asyncio.to_thread(_learn, client, f"{session_id or 'events'}.events", 0, list(_messages(events)), key)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Save texts as they are. A text that is known already is not saved twice."""
        client = self._user(app_name, user_id)
        for entry in memories:
            data: dict[str, Any] = {**(custom_metadata or {}), **entry.custom_metadata}
            if entry.author:
                data["author"] = entry.author
            await asyncio.to_thread(client.remember, _text(entry.content), source="adk", structured_data=data)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        client = self._user(app_name, user_id)
        hits = await asyncio.to_thread(client.search, query, self._limit, include_logs=True)
        return SearchMemoryResponse(memories=[_entry(hit) for hit in hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Retire a memory, which is not learned again; undo brings it back."""
        if not memory_id:
            raise ValueError("memory_id is empty; give the id of a memory that search_memory returned")
        await asyncio.to_thread(self._user(app_name, user_id).forget, memory_id)

    def _user(self, app_name: str, user_id: str) -> Client:
        return self._client.in_space(slug("adk", app_name, user_id))


def _learn(client: Client, session: str, first: int, messages: list[session_pb2.SessionMessage], key: str) -> None:
    if not messages:
        return
    for start in range(0, len(messages), _requests.MAX_BATCH):
        part = messages[start : start + _requests.MAX_BATCH]
        request = _requests.append(client.space, session, first and first + start, part)
        if key:
            request.idempotency_key = f"{key}-{start}"
        client.call(client.sessions.Append, request)
    try:
        client.call(client.sessions.Reflect, _requests.reflect(client.space, session))
    except MemsidecarError as err:
        if err.code != "UNAVAILABLE":  # the session is recorded, and the daemon learns from it later
            raise


def _messages(events: Iterable[Event]) -> Iterable[session_pb2.SessionMessage]:
    """Yield turns and answered tool calls, in order: an event that is added again has the same number."""
    calls: dict[str, str] = {}
    for event in events:
        for call in event.get_function_calls():
            calls[call.id or call.name or ""] = str(call.args or {})
        for answer in event.get_function_responses():
            response: dict[str, Any] = answer.response or {}
            error = str(response["error"]) if "error" in response else ""
            arguments = calls.get(answer.id or answer.name or "", "")
            yield _requests.tool(answer.name or "tool", arguments, "" if error else str(response), error)
        text = _text(event.content)
        if text:
            yield _requests.message("user" if event.author == "user" else "assistant", text)


def _text(content: types.Content | None) -> str:
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _entry(hit: search_service_pb2.SearchHit) -> MemoryEntry:
    if not hit.HasField("memory"):
        text = hit.log.entry.content or hit.log.summary
        return MemoryEntry(content=_content(text), author="log", timestamp=hit.log.date)
    data = data_of(hit.memory)
    author = str(data.pop("author", "memory"))
    return MemoryEntry(
        id=hit.memory.id,
        content=_content(hit.memory.content),
        author=author,
        timestamp=hit.memory.created_at.ToJsonString(),
        custom_metadata=data,
    )


def _content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])
