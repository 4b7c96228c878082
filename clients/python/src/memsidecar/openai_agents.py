"""A session of the OpenAI Agents SDK in memsidecar: ``pip install 'memsidecar[openai-agents]'``.

    result = await Runner.run(agent, "Hello", session=MemsidecarSession("conversation-1"))
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from agents.items import TResponseInputItem
from agents.memory import SessionABC, SessionSettings

from . import _requests
from ._errors import MemsidecarError
from .client import Client
from .v1 import session_pb2

MARK = "memsidecar"
MAX_ITEM = 60_000  # characters of JSON; a message holds 64 KiB


class MemsidecarSession(SessionABC):
    """A conversation that several processes may write to, and from which the daemon learns.

    It is a recorded session in one space, ``openai-agents`` unless the client given has another. Items are appended and never
    rewritten: ``pop_item`` and ``clear_session`` are recorded too, and what they hide stays in the session.
    """

    def __init__(
        self, session_id: str, client: Client | None = None, *, session_settings: SessionSettings | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._client = client or Client(space="openai-agents")
        self._items: list[Any] = []
        self._next = 1
        self._shown: dict[str, Any] | None = None  # an item whose readable message comes next

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        limit = self.session_settings.limit if limit is None and self.session_settings else limit
        return await asyncio.to_thread(self._read, limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items durably, at most 500 as one write."""
        for start in range(0, len(items), 500):
            messages = [m for item in items[start : start + 500] for m in _messages(dict(item))]
            await asyncio.to_thread(self._append, messages)

    async def pop_item(self) -> TResponseInputItem | None:
        """Hide the last item and return it. Two processes that pop at once may hide the same number and return one item."""
        items = await asyncio.to_thread(self._read, None)
        if not items:
            return None
        await asyncio.to_thread(self._append, [_note("pop")])
        return items[-1]

    async def clear_session(self) -> None:
        """Hide all items."""
        await asyncio.to_thread(self._append, [_note("clear")])

    def _append(self, messages: list[session_pb2.SessionMessage]) -> None:
        request = _requests.append(self._client.space, self.session_id, 0, messages)
        self._client.call(self._client.sessions.Append, request)

    def _read(self, limit: int | None) -> list[Any]:
        """Read the messages that came since the last time."""
        token = ""
        first = self._next
        while True:
            request = _requests.messages(self._client.space, self.session_id, first, token)
            try:
                response = self._client.call(self._client.sessions.ListMessages, request)
            except MemsidecarError as err:
                if err.reason != "NOT_FOUND":
                    raise
                return []
            for message in response.messages:
                self._apply(message)
                self._next = message.seq + 1
            token = response.next_page_token
            if not token:
                break
        return list(self._items) if limit is None else self._items[len(self._items) - min(limit, len(self._items)) :]

    def _apply(self, message: session_pb2.SessionMessage) -> None:
        if message.role == session_pb2.ROLE_SYSTEM:
            note = _parsed(message.content)
            if note.get(MARK) == "pop":
                self._items = self._items[:-1]
            elif note.get(MARK) == "clear":
                self._items = []
            elif note.get(MARK) == "item":
                self._items.append(note["item"])
                self._shown = note if note["shown"] else None
            return
        if self._shown is not None:
            self._shown = None  # the readable form of the item before it
            return
        if message.role != session_pb2.ROLE_TOOL:
            role = "user" if message.role == session_pb2.ROLE_USER else "assistant"
            self._items.append({"role": role, "content": message.content})


def _messages(item: dict[str, Any]) -> Iterable[session_pb2.SessionMessage]:
    """Yield an item as a turn if a turn can hold it, else as JSON, and behind it a turn that the daemon can learn from."""
    role, content = item.get("role"), item.get("content")
    turn = role in ("user", "assistant")
    if turn and isinstance(content, str) and content and set(item) == {"role", "content"} and len(content) < MAX_ITEM:
        yield _requests.message(str(role), content)
        return
    shown: session_pb2.SessionMessage | None = None
    text = _text(content)
    if turn and text:
        shown = _requests.message(str(role), text)
    elif item.get("type") == "function_call":
        shown = _requests.tool(str(item.get("name")), str(item.get("arguments", "")), "", "")
    yield _note("item", item=_fitting(item), shown=shown is not None)
    if shown is not None:
        yield shown


def _note(kind: str, **rest: Any) -> session_pb2.SessionMessage:
    return _requests.message("system", json.dumps({MARK: kind, **rest}, ensure_ascii=False))


def _parsed(text: str) -> dict[str, Any]:
    try:
        note = json.loads(text)
    except ValueError:
        return {}  # a passage that must not be stored took its end with it; the turn behind it has the text
    return note if isinstance(note, dict) else {}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: list[Any] = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _fitting(item: dict[str, Any]) -> dict[str, Any]:
    """Shorten the texts of an item that is too long for a message, in their middle."""
    longest = MAX_ITEM
    while len(json.dumps(item, ensure_ascii=False).encode()) > MAX_ITEM and longest > 100:
        longest //= 2
        item = _shortened(item, longest)
    return item


def _shortened(value: Any, longest: int) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(part, longest) for name, part in value.items()}
    if isinstance(value, list):
        return [_shortened(part, longest) for part in value]
    if isinstance(value, str) and len(value) > longest:
        return value[: longest // 2] + " [cut] " + value[-longest // 2 :]
    return value
