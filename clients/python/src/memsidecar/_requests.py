"""Requests and results that both clients share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ._errors import MemsidecarError
from .v1 import memory_service_pb2, search_service_pb2, session_pb2, session_service_pb2, write_pb2


@dataclass(frozen=True)
class Saved:
    """The outcome of ``remember``. The memory is durable.

    ``operation`` is the id of the operation, for ``undo``; it is empty if nothing was written. ``duplicate`` is true if the
    same memory existed already. ``reason`` is a remark such as REDACTED.
    """

    id: str
    operation: str
    duplicate: bool
    reason: str


def add(
    space: str, content: str, category: str, salience: float | None, title: str, tags: Iterable[str]
) -> memory_service_pb2.MemoryServiceAddRequest:
    item = memory_service_pb2.NewMemory(content=content, category=category, salience=salience, title=title, tags=tags)
    return memory_service_pb2.MemoryServiceAddRequest(space=space, items=[item])


def saved(response: memory_service_pb2.MemoryServiceAddResponse) -> Saved:
    outcome = response.result.outcomes[0]
    if outcome.status == write_pb2.OUTCOME_STATUS_REJECTED:
        raise MemsidecarError("FAILED_PRECONDITION", f"rejected: {outcome.id}", outcome.reason)
    duplicate = outcome.status == write_pb2.OUTCOME_STATUS_DUPLICATE
    return Saved(outcome.id, response.result.operation_id, duplicate, outcome.reason)


def search(space: str, query: str, limit: int) -> search_service_pb2.SearchServiceSearchRequest:
    return search_service_pb2.SearchServiceSearchRequest(spaces=[space] if space else [], query=query, limit=limit)


def recall(space: str, prompt: str, session: str) -> search_service_pb2.SearchServiceRecallRequest:
    return search_service_pb2.SearchServiceRecallRequest(spaces=[space] if space else [], text=prompt, session_id=session)


def start(space: str, session: str, host: str, cwd: str) -> session_service_pb2.SessionServiceStartRequest:
    return session_service_pb2.SessionServiceStartRequest(
        space=space, session_id=session, host=host, cwd=cwd, context=session_service_pb2.ContextOptions()
    )


def append(
    space: str, session: str, next_seq: int, messages: Iterable[session_pb2.SessionMessage]
) -> session_service_pb2.SessionServiceAppendRequest:
    request = session_service_pb2.SessionServiceAppendRequest(space=space, session_id=session, messages=messages)
    for seq, message in enumerate(request.messages, next_seq):
        message.seq = seq
    return request


def failure(tool: str, arguments: str, error: str) -> session_pb2.SessionMessage:
    call = session_pb2.ToolCall(name=tool, arguments=arguments, error=error, failed=True)
    return session_pb2.SessionMessage(role=session_pb2.ROLE_TOOL, tool=call)


def message(role: str, content: str) -> session_pb2.SessionMessage:
    """Make a message; the role is user, assistant, system or tool."""
    try:
        number = session_pb2.Role.Value(f"ROLE_{role.upper()}")
    except ValueError as err:
        raise ValueError(f"the role {role!r} is not user, assistant, system or tool") from err
    return session_pb2.SessionMessage(role=number, content=content)
