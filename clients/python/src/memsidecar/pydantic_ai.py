"""A capability of Pydantic AI agents: ``pip install 'memsidecar[pydantic-ai]'``.

    agent = Agent(model, capabilities=[MemsidecarMemory()])
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, RunContext
from pydantic_ai.toolsets import FunctionToolset

from . import _requests
from .client import Client
from .v1 import session_pb2


@dataclass
class MemsidecarMemory(AbstractCapability[AgentDepsT]):
    """Gives an agent what bears on the prompt, tools to remember, search and forget, and a recording to learn from.

    Memories are in one space, ``pydantic-ai`` unless the client given has another. A run is recorded under its conversation's
    id when it has ended; the daemon learns from the conversation when it has been idle. ``tools`` and ``record`` turn those off.
    """

    client: Client = field(default_factory=lambda: Client(space="pydantic-ai"))
    tools: bool = True
    record: bool = True

    def get_instructions(self) -> Callable[[RunContext[AgentDepsT]], Awaitable[str | None]]:
        async def instructions(ctx: RunContext[AgentDepsT]) -> str | None:
            prompt = _text(ctx.prompt)
            if not prompt:
                return None
            return await asyncio.to_thread(self.client.recall, prompt) or None

        return instructions

    def get_toolset(self) -> FunctionToolset[AgentDepsT] | None:
        if not self.tools:
            return None
        toolset: FunctionToolset[AgentDepsT] = FunctionToolset()

        @toolset.tool_plain  # type: ignore[untyped-decorator]
        def remember(text: str) -> str:
            """Save one fact, preference or decision for later conversations, as a sentence that is clear by itself."""
            saved = self.client.remember(text)
            return f"{'Known already' if saved.duplicate else 'Saved'}: {saved.id}"

        @toolset.tool_plain  # type: ignore[untyped-decorator]
        def search_memories(query: str) -> list[dict[str, str]]:
            """Find memories of earlier conversations; none if nothing bears on the query."""
            return [{"id": hit.memory.id, "text": hit.memory.content} for hit in self.client.search(query)]

        @toolset.tool_plain  # type: ignore[untyped-decorator]
        def forget(id: str) -> str:
            """Retire a memory that is wrong or no longer wanted, by the id that a search returned."""
            self.client.forget(id)
            return "Forgotten"

        return toolset

    async def after_run(self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        turns = list(_turns(result.new_messages()))
        session = ctx.conversation_id or ctx.run_id
        if self.record and session:
            for start in range(0, len(turns), _requests.MAX_BATCH):
                request = _requests.append(self.client.space, session, 0, turns[start : start + _requests.MAX_BATCH])
                await asyncio.to_thread(self.client.call, self.client.sessions.Append, request)
        return result


def _turns(messages: Iterable[ModelMessage]) -> Iterable[session_pb2.SessionMessage]:
    calls: dict[str, str] = {}
    for message in messages:
        answer = isinstance(message, ModelResponse)
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part.args_as_json_str()
            elif isinstance(part, ToolReturnPart):
                text = part.model_response_str()
                result, error = ("", text) if part.outcome in ("failed", "retried") else (text, "")
                yield _requests.tool(part.tool_name, calls.get(part.tool_call_id, ""), result, error)
            elif isinstance(part, RetryPromptPart) and part.tool_name:
                yield _requests.tool(part.tool_name, calls.get(part.tool_call_id, ""), "", part.model_response())
            elif isinstance(part, (UserPromptPart, TextPart)):
                text = _text(part.content)
                if text:
                    yield _requests.message("assistant" if answer else "user", text)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part for part in content or () if isinstance(part, str))
