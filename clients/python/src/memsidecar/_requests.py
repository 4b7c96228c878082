"""Requests and results that both clients share."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import struct_pb2, timestamp_pb2

from ._errors import MemsidecarError
from ._retry import new_key
from .v1 import (
    memory_pb2,
    memory_service_pb2,
    operation_service_pb2,
    search_service_pb2,
    session_pb2,
    session_service_pb2,
    write_pb2,
)

MAX_BATCH = 1000
"""The most items of one request, and the largest page of a list."""


@dataclass(frozen=True)
class Redaction:
    """What was taken out of a text before it was stored: its field, what it looked like, and its place in characters.

    It never holds the secret. ``end`` is behind the last character.
    """

    field: str
    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Saved:
    """The outcome of ``remember``. The memory is durable.

    ``operation`` is the id of the operation, for ``undo``; it is empty if nothing was written. ``duplicate`` is true if the
    same memory existed already. ``reason`` is a remark such as REDACTED, and ``redactions`` say what was taken out and where.
    ``positions`` name the memory for ``after``, if the space is shared.
    """

    id: str
    operation: str
    duplicate: bool
    reason: str
    redactions: tuple[Redaction, ...] = ()
    positions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Filter:
    """Selects memories, in lists and searches. A memory must meet every criterion that is given.

    ``categories``, ``tags``, ``sources`` and ``sessions`` match any of their values. ``statuses`` are of active, superseded and
    retired; without one, memories are active and not expired. The times have a time zone; ``_before`` excludes its own time.
    """

    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    sources: Sequence[str] = ()
    sessions: Sequence[str] = ()
    statuses: Sequence[str] = ()
    min_salience: float = 0.0
    pinned: bool | None = None
    created_from: datetime.datetime | None = None
    created_before: datetime.datetime | None = None
    updated_from: datetime.datetime | None = None
    updated_before: datetime.datetime | None = None

    def message(self) -> memory_pb2.MemoryFilter:
        """Return the filter as a message of the API."""
        return memory_pb2.MemoryFilter(
            categories=self.categories,
            tags=self.tags,
            sources=self.sources,
            session_ids=self.sessions,
            statuses=[memory_pb2.MemoryStatus.Value(f"MEMORY_STATUS_{name.upper()}") for name in self.statuses],
            min_salience=self.min_salience,
            pinned=self.pinned,
            created_from=_timestamp(self.created_from),
            created_before=_timestamp(self.created_before),
            updated_from=_timestamp(self.updated_from),
            updated_before=_timestamp(self.updated_before),
        )


def _timestamp(at: datetime.datetime | None) -> timestamp_pb2.Timestamp | None:
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError(f"the time {at} has no time zone; add one, such as datetime.timezone.utc")
    stamp = timestamp_pb2.Timestamp()
    stamp.FromDatetime(at.astimezone(datetime.timezone.utc))
    return stamp


def _struct(data: Mapping[str, Any] | None) -> struct_pb2.Struct | None:
    if data is None:
        return None
    struct = struct_pb2.Struct()
    struct.update(dict(data))
    return struct


def new(
    content: str,
    *,
    id: str = "",
    category: str = "",
    salience: float | None = None,
    title: str = "",
    tags: Iterable[str] = (),
    description: str = "",
    pinned: bool = False,
    source: str = "",
    created_at: datetime.datetime | None = None,
    expires_at: datetime.datetime | None = None,
    structured_data: Mapping[str, Any] | None = None,
) -> memory_service_pb2.NewMemory:
    """Make a memory to add; ``id`` is a new one unless given, and a time has a time zone."""
    return memory_service_pb2.NewMemory(
        id=id,
        content=content,
        category=category,
        salience=salience,
        title=title,
        tags=tags,
        description=description,
        pinned=pinned,
        source=source,
        created_at=_timestamp(created_at),
        expires_at=_timestamp(expires_at),
        structured_data=_struct(structured_data),
    )


def add(
    space: str, items: Iterable[memory_service_pb2.NewMemory], allow_sensitive: bool = False
) -> memory_service_pb2.MemoryServiceAddRequest:
    """Make a request that has its key already, so that no call copies it to give it one."""
    return memory_service_pb2.MemoryServiceAddRequest(
        space=space, items=items, allow_sensitive=allow_sensitive, idempotency_key=new_key()
    )


def _accepted(result: write_pb2.WriteResult) -> write_pb2.Outcome:
    outcome = result.outcomes[0]
    if outcome.status == write_pb2.OUTCOME_STATUS_REJECTED:
        raise MemsidecarError("FAILED_PRECONDITION", f"rejected: {outcome.id}", outcome.reason)
    return outcome


def saved(response: memory_service_pb2.MemoryServiceAddResponse) -> Saved:
    result = response.result
    outcome = _accepted(result)
    duplicate = outcome.status == write_pb2.OUTCOME_STATUS_DUPLICATE
    positions = tuple(result.positions) if result.positions else ()
    return Saved(outcome.id, result.operation_id, duplicate, outcome.reason, redactions(outcome), positions)


def redactions(outcome: write_pb2.Outcome) -> tuple[Redaction, ...]:
    if not outcome.redactions:
        return ()  # a generator takes as long as the rest of a result
    return tuple(Redaction(one.field, one.kind, one.start, one.end) for one in outcome.redactions)


def get(
    space: str, ids: Iterable[str], token: str = "", after: Iterable[str] = ()
) -> memory_service_pb2.MemoryServiceGetRequest:
    return memory_service_pb2.MemoryServiceGetRequest(space=space, ids=ids, page_token=token, min_positions=after)


def page(
    space: str,
    filter: Filter | None,
    order: str,
    ascending: bool,
    limit: int | None,
    token: str,
    after: Iterable[str] = (),
) -> memory_service_pb2.MemoryServiceListRequest:
    return memory_service_pb2.MemoryServiceListRequest(
        space=space,
        filter=filter.message() if filter else None,
        order=memory_service_pb2.MemoryOrder.Value(f"MEMORY_ORDER_{order.upper()}"),
        ascending=ascending,
        page_size=MAX_BATCH if limit is None else min(limit, MAX_BATCH),
        page_token=token,
        min_positions=after,
    )


def update(
    space: str,
    id: str,
    *,
    content: str | None = None,
    category: str | None = None,
    salience: float | None = None,
    title: str | None = None,
    tags: Iterable[str] | None = None,
    description: str | None = None,
    pinned: bool | None = None,
    expires_at: datetime.datetime | None = None,
    structured_data: Mapping[str, Any] | None = None,
    clear: Iterable[str] = (),
    expected_revision: int = 0,
    allow_sensitive: bool = False,
) -> memory_service_pb2.MemoryServiceUpdateRequest:
    given = {
        "content": content,
        "category": category,
        "salience": salience,
        "title": title,
        "tags": tags,
        "description": description,
        "pinned": pinned,
        "expires_at": expires_at,
        "structured_data": structured_data,
    }
    patch = memory_service_pb2.MemoryPatch(
        content=content,
        category=category,
        salience=salience,
        title=title,
        tags=tags or (),
        description=description,
        pinned=pinned,
        expires_at=_timestamp(expires_at),
        structured_data=_struct(structured_data),
    )
    request = memory_service_pb2.MemoryServiceUpdateRequest(
        space=space, id=id, patch=patch, expected_revision=expected_revision, allow_sensitive=allow_sensitive
    )
    request.update_mask.paths.extend([*(name for name, value in given.items() if value is not None), *clear])
    return request


def save(
    space: str, memory_text: str, history_entry: str, session_id: str, dry_run: bool
) -> memory_service_pb2.MemoryServiceSaveRequest:
    return memory_service_pb2.MemoryServiceSaveRequest(
        space=space, memory_text=memory_text, history_entry=history_entry, session_id=session_id, dry_run=dry_run
    )


def delete(space: str, ids: Iterable[str], learnable: bool = False) -> memory_service_pb2.MemoryServiceDeleteRequest:
    return memory_service_pb2.MemoryServiceDeleteRequest(space=space, ids=ids, keep_learnable=learnable)


def restore(space: str, ids: Iterable[str]) -> memory_service_pb2.MemoryServiceRestoreRequest:
    return memory_service_pb2.MemoryServiceRestoreRequest(space=space, ids=ids)


def restored(response: memory_service_pb2.MemoryServiceRestoreResponse) -> str:
    _accepted(response.result)
    return response.result.operation_id


def undo(operation: str) -> operation_service_pb2.OperationServiceUndoRequest:
    return operation_service_pb2.OperationServiceUndoRequest(id=operation)


def history(space: str, id: str, token: str) -> memory_service_pb2.MemoryServiceHistoryRequest:
    return memory_service_pb2.MemoryServiceHistoryRequest(space=space, id=id, page_token=token)


def search(
    space: str,
    query: str,
    limit: int,
    filter: Filter | None,
    include_logs: bool,
    min_score: float,
    session_id: str,
    after: Iterable[str] = (),
) -> search_service_pb2.SearchServiceSearchRequest:
    return search_service_pb2.SearchServiceSearchRequest(
        spaces=[space] if space else [],
        query=query,
        limit=limit,
        filter=filter.message() if filter else None,
        include_logs=include_logs,
        min_score=min_score,
        session_id=session_id,
        min_positions=after,
    )


def recall(
    space: str, prompt: str, session_id: str, token_budget: int, after: Iterable[str] = ()
) -> search_service_pb2.SearchServiceRecallRequest:
    return search_service_pb2.SearchServiceRecallRequest(
        spaces=[space] if space else [],
        text=prompt,
        session_id=session_id,
        token_budget=token_budget,
        min_positions=after,
    )


def hint(space: str, tool: str, arguments: str, session_id: str) -> search_service_pb2.SearchServiceHintRequest:
    return search_service_pb2.SearchServiceHintRequest(
        spaces=[space] if space else [], tool=tool, arguments=arguments, session_id=session_id
    )


def start(
    space: str, session: str, host: str, cwd: str, token_budget: int = 0, first_message: str = ""
) -> session_service_pb2.SessionServiceStartRequest:
    return session_service_pb2.SessionServiceStartRequest(
        space=space,
        session_id=session,
        host=host,
        cwd=cwd,
        context=session_service_pb2.ContextOptions(token_budget=token_budget),
        first_message=first_message,
    )


def append(
    space: str, session: str, next_seq: int, messages: Iterable[session_pb2.SessionMessage]
) -> session_service_pb2.SessionServiceAppendRequest:
    """Number the messages from next_seq; 0 leaves them without numbers, for several writers of one session."""
    request = session_service_pb2.SessionServiceAppendRequest(space=space, session_id=session, messages=messages)
    if next_seq:
        for seq, message in enumerate(request.messages, next_seq):
            message.seq = seq
    return request


def messages(space: str, session: str, first: int, token: str) -> session_service_pb2.SessionServiceListMessagesRequest:
    return session_service_pb2.SessionServiceListMessagesRequest(
        space=space, session_id=session, first_seq=first, page_token=token
    )


def end(space: str, session: str) -> session_service_pb2.SessionServiceEndRequest:
    return session_service_pb2.SessionServiceEndRequest(space=space, session_id=session, end_reason="client")


def reflect(space: str, session: str) -> session_service_pb2.SessionServiceReflectRequest:
    return session_service_pb2.SessionServiceReflectRequest(space=space, session_id=session)


def tool(name: str, arguments: str, result: str, error: str) -> session_pb2.SessionMessage:
    call = session_pb2.ToolCall(name=name, arguments=arguments, result=result, error=error, failed=bool(error))
    return session_pb2.SessionMessage(role=session_pb2.ROLE_TOOL, tool=call)


def message(role: str, content: str) -> session_pb2.SessionMessage:
    """Make a message; the role is user, assistant, system or tool."""
    try:
        number = session_pb2.Role.Value(f"ROLE_{role.upper()}")
    except ValueError as err:
        raise ValueError(f"the role {role!r} is not user, assistant, system or tool") from err
    return session_pb2.SessionMessage(role=number, content=content)
