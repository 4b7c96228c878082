"""A LlamaIndex memory block in memsidecar: ``pip install 'memsidecar[llamaindex]'``.

memory = Memory.from_defaults(memory_blocks=[MemsidecarBlock()])
"""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock

from . import _requests
from .client import Client

ROLES = {MessageRole.USER: "user", MessageRole.ASSISTANT: "assistant", MessageRole.CHATBOT: "assistant"}


class MemsidecarBlock(BaseMemoryBlock[str]):
    """Adds what bears on the last user message, and records the messages that leave the short-term memory.

    The daemon learns from recorded messages when their session has been idle; :meth:`areflect` makes it learn at once.
    """

    name: str = Field(default="memsidecar", description="The name of the block.")
    space: str = Field(default="llamaindex", description="The space of the memories.")
    session_id: str = Field(default="", description="The session that messages without one are recorded in.")
    token_budget: int = Field(default=0, description="The size of the block in tokens, 50 to 8,000; 0 means 1,500.")
    _client: Client = PrivateAttr()

    def __init__(self, client: Client | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._client = client.in_space(self.space) if client else Client(space=self.space)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = [m.content for m in messages or [] if m.role == MessageRole.USER and m.content]
        if not asked:
            return ""
        return await asyncio.to_thread(self._client.recall, asked[-1], token_budget=self.token_budget)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions: dict[str, list[Any]] = {}
        for message in messages:
            session = str(message.additional_kwargs.get("session_id") or self.session_id or "llamaindex")
            if message.content and message.role in ROLES:
                sessions.setdefault(session, []).append(_requests.message(ROLES[message.role], message.content))
        for session, turns in sessions.items():
            for start in range(0, len(turns), _requests.MAX_BATCH):
                request = _requests.append(self.space, session, 0, turns[start : start + _requests.MAX_BATCH])
                await asyncio.to_thread(self._client.call, self._client.sessions.Append, request)

    async def areflect(self, session_id: str = "") -> None:
        """End a session, and wait until the daemon has learned from it."""
        request = _requests.reflect(self.space, session_id or self.session_id or "llamaindex")
        await asyncio.to_thread(self._client.call, self._client.sessions.Reflect, request)
