"""An AutoGen memory in memsidecar: ``pip install 'memsidecar[autogen]'``.

agent = AssistantAgent("assistant", model_client=model, memory=[MemsidecarMemory()])
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from autogen_core import CancellationToken, Component
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import SystemMessage
from pydantic import BaseModel

from . import _requests
from ._keyed import data_of, retire
from ._requests import Filter
from .client import Client
from .v1 import memory_pb2

SOURCE = "autogen"


class MemsidecarMemoryConfig(BaseModel):
    """What a component file holds of the memory."""

    space: str = SOURCE


class MemsidecarMemory(Memory, Component[MemsidecarMemoryConfig]):
    """Keeps texts and JSON, each once, in a space. ``update_context`` adds only what bears on the last message."""

    component_config_schema = MemsidecarMemoryConfig
    component_provider_override = "memsidecar.autogen.MemsidecarMemory"

    def __init__(self, client: Client | None = None, *, space: str = SOURCE) -> None:
        self._own = client is None
        self._client = client or Client(space=space)

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        mime_type = content.mime_type.value if isinstance(content.mime_type, MemoryMimeType) else content.mime_type
        if isinstance(content.content, str):
            text = content.content
        elif isinstance(content.content, dict):
            text = json.dumps(content.content, ensure_ascii=False)
        else:
            raise ValueError(f"memsidecar stores text and JSON, not {mime_type}")
        data = {"mime_type": mime_type, "metadata": content.metadata or {}}
        await asyncio.to_thread(self._client.remember, text, source=SOURCE, structured_data=data)

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """Find memories; ``limit`` is 1 to 200, default 10."""
        text = query if isinstance(query, str) else str(query.content)
        hits = await asyncio.to_thread(self._client.search, text, int(kwargs.get("limit", 10)))
        return MemoryQueryResult(results=[_content(hit.memory, hit.score) for hit in hits])

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        messages = await model_context.get_messages()
        prompt = str(messages[-1].content) if messages else ""
        found: list[MemoryContent] = []
        if prompt:
            request = _requests.recall(self._client.space, prompt, "", 0)
            recalled = await asyncio.to_thread(self._client.call, self._client.searches.Recall, request)
            found = [_content(item.memory, item.score) for item in recalled.items]
            if recalled.block:
                await model_context.add_message(SystemMessage(content=recalled.block))
        return UpdateContextResult(memories=MemoryQueryResult(results=found))

    async def clear(self) -> None:
        """Retire what this adapter saved; undo brings it back."""
        await asyncio.to_thread(retire, self._client, Filter(sources=[SOURCE]))

    async def close(self) -> None:
        if self._own:
            self._client.close()

    def _to_config(self) -> MemsidecarMemoryConfig:
        return MemsidecarMemoryConfig(space=self._client.space)

    @classmethod
    def _from_config(cls, config: MemsidecarMemoryConfig) -> MemsidecarMemory:
        return cls(space=config.space)


def _content(memory: memory_pb2.Memory, score: float) -> MemoryContent:
    data = data_of(memory)
    mime_type = str(data.get("mime_type", MemoryMimeType.TEXT.value))
    content: str | dict[str, Any] = memory.content
    if mime_type == MemoryMimeType.JSON.value:
        content = json.loads(memory.content)
    return MemoryContent(
        content=content, mime_type=mime_type, metadata={**data.get("metadata", {}), "id": memory.id, "score": score}
    )
