"""CrewAI's unified memory in memsidecar: ``pip install 'memsidecar[crewai]'``.

    crew = Crew(agents=[...], tasks=[...], memory=MemsidecarMemory())
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from datetime import datetime, timezone
from typing import Any, Literal

from crewai.events.event_bus import crewai_event_bus
from crewai.events.types.memory_events import MemoryQueryCompletedEvent, MemoryQueryFailedEvent, MemoryQueryStartedEvent
from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo
from crewai.memory.unified_memory import Memory
from crewai.memory.utils import join_scope_paths, normalize_scope_path
from pydantic import Field

from . import _requests
from ._keyed import MAX_TAG, current, data_of, packed, retire_ids, tag, unpacked
from ._requests import MAX_BATCH, Filter
from ._spaces import slug
from .client import Client
from .v1 import memory_pb2, memory_service_pb2

SOURCE = "crewai"
EVENT_SOURCE = "unified_memory"
MAX_HITS = 200
MAX_DEPTH, MAX_CATEGORIES = 12, 15  # tags of a memory; what has more is filtered here


class MemsidecarMemory(Memory):
    """CrewAI's ``Memory`` without embeddings and without a model: the daemon ranks, and leaves out what does not bear on a query.

    Its records are memories in one space, ``crewai`` unless the client given has another. What is remembered is durable when the
    call returns, and saved once for a scope. ``llm`` is only asked what to keep of the result of a task; without one nothing is.
    """

    llm: Any = Field(default=None)

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        super().__init__(storage=_Records(client or Client(space=SOURCE)), **options)

    def extract_memories(self, content: str) -> list[str]:
        extracted: list[str] = super().extract_memories(content) if self.llm is not None else []
        return extracted

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Find records, at most 200. Both depths are one search, by words and meaning."""
        asked = {"query": query, "limit": limit, "score_threshold": None, "source_type": EVENT_SOURCE}
        crewai_event_bus.emit(self, MemoryQueryStartedEvent(**asked))
        start = time.perf_counter()
        try:
            path = join_scope_paths(self.root_scope, scope)
            found = [
                MemoryMatch(record=record, score=score)
                for record, score in self._storage.find(query, path, categories, limit)
                if include_private or not record.private or (source is not None and record.source == source)
            ][:limit]
        except Exception as err:
            crewai_event_bus.emit(self, MemoryQueryFailedEvent(**asked, error=str(err)))
            raise
        spent = (time.perf_counter() - start) * 1000
        crewai_event_bus.emit(self, MemoryQueryCompletedEvent(**asked, results=found, query_time_ms=spent))
        return found

    def update(
        self,
        record_id: str,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
    ) -> MemoryRecord:
        existing = self._storage.get_record(record_id)
        if existing is None:
            raise ValueError(f"Record not found: {record_id}")
        if self.read_only:
            return existing
        given = {"content": content, "scope": scope, "categories": categories, "metadata": metadata, "importance": importance}
        updated = existing.model_copy(update={name: value for name, value in given.items() if value is not None})
        self._storage.update(updated)
        return updated

    def _encode_batch(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        record = MemoryRecord(
            content="",
            scope=join_scope_paths(root_scope, scope),
            categories=categories or [],
            metadata=metadata or {},
            importance=self.default_importance if importance is None else importance,
            source=source,
            private=private,
        )
        new = [record.model_copy(update={"id": MemoryRecord(content="").id, "content": content}) for content in contents]
        return self._storage.add(new) if new else []

    def _submit_save(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        """Save at once, where CrewAI saves in the background: a save takes milliseconds, and what has returned is durable."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class _Records:
    """CrewAI's storage of records, but for its search by vectors, in the client's space."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __deepcopy__(self, memo: dict[int, Any]) -> _Records:
        return self  # a crew copies its memory; the connection is shared

    def add(self, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Save records; return them as they are stored. A text that its scope has is the record that has it."""
        ids: list[str] = []
        for start in range(0, len(records), MAX_BATCH):
            items = [_new(record) for record in records[start : start + MAX_BATCH]]
            response = self._client.call(self._client.memory.Add, _requests.add(self._client.space, items))
            ids += [outcome.id for outcome in response.result.outcomes]
        known: dict[str, memory_pb2.Memory] = {}
        for start in range(0, len(ids), MAX_BATCH):
            known |= {memory.id: memory for memory in self._get(ids[start : start + MAX_BATCH])}
        return [_record(known[id]) for id in ids]

    def save(self, records: list[MemoryRecord]) -> None:
        self.add(records)

    def update(self, record: MemoryRecord) -> None:
        item = _new(record)
        self._client.update(
            record.id,
            content=item.content,
            category=item.category,
            salience=item.salience,
            tags=item.tags,
            structured_data=_data(record),
        )

    def get_record(self, record_id: str) -> MemoryRecord | None:
        found = [memory for memory in self._get([record_id]) if current(memory)]
        return _record(found[0]) if found else None

    def find(
        self, query: str, scope: str, categories: list[str] | None, limit: int
    ) -> Iterator[tuple[MemoryRecord, float]]:
        """Yield what bears on a query, best first, in a scope and its parts, of any of the categories."""
        for hit in self._client.search(query, MAX_HITS, filter=_filter(scope)) if query.strip() and limit > 0 else ():
            record = _record(hit.memory)
            if _chosen(record, scope, categories, None):
                yield record, hit.score

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Retire records; undo brings them back."""
        if record_ids and not (categories or metadata_filter):
            ids = [memory.id for memory in self._get(record_ids) if current(memory)]
        else:
            ids = [
                record.id
                for record in self._all(scope_prefix)
                if _chosen(record, scope_prefix or "/", categories, metadata_filter)
                and (older_than is None or record.created_at < older_than)
            ]
        retire_ids(self._client, ids)
        return len(ids)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        return list(self._all(scope_prefix))[offset : offset + limit] if limit > 0 and offset >= 0 else []

    def get_scope_info(self, scope: str) -> ScopeInfo:
        records = list(self._all(scope))
        times = [record.created_at for record in records]
        return ScopeInfo(
            path=scope.rstrip("/") or "/",
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=_children(scope, records),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        return _children(parent, self._all(parent))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        counts: dict[str, int] = {}
        for record in self._all(scope_prefix):
            for category in record.categories:
                counts[category] = counts.get(category, 0) + 1
        return counts

    def count(self, scope_prefix: str | None = None) -> int:
        return sum(1 for _ in self._all(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        self.delete(scope_prefix)

    def close(self) -> None:
        self._client.close()

    def _get(self, ids: list[str]) -> list[memory_pb2.Memory]:
        return [memory for memory in self._client.get_many(dict.fromkeys(ids)) if memory.source == SOURCE]

    def _all(self, scope: str | None) -> Iterator[MemoryRecord]:
        """Yield the records of a scope and its parts, newest first."""
        for memory in self._client.list(_filter(scope or "/")):
            record = _record(memory)
            if _chosen(record, scope or "/", None, None):
                yield record


def _filter(scope: str) -> Filter:
    return Filter(sources=[SOURCE], tags=_paths(scope)[-1:])


def _paths(scope: str) -> list[str]:
    """Name a scope and those above it as tags, without the root, shortest first."""
    parts = [part for part in scope.split("/") if part][:MAX_DEPTH]
    return [tag("/" + "/".join(parts[: depth + 1])) for depth in range(len(parts))]


def _new(record: MemoryRecord) -> memory_service_pb2.NewMemory:
    categories = [category for category in record.categories if 0 < len(category) <= MAX_TAG]
    return _requests.new(
        record.content,
        id=record.id,
        category=slug("scope", record.scope) if record.scope != "/" else "",  # a text is saved once in a category
        salience=record.importance,
        tags=[*_paths(record.scope), *dict.fromkeys(categories[:MAX_CATEGORIES])],
        source=SOURCE,
        created_at=record.created_at.replace(tzinfo=timezone.utc),
        structured_data=_data(record),
    )


def _data(record: MemoryRecord) -> dict[str, Any]:
    data = {"scope": record.scope, "categories": record.categories, "private": record.private}
    return data | packed(record.metadata) | ({"source": record.source} if record.source is not None else {})


def _record(memory: memory_pb2.Memory) -> MemoryRecord:
    data = data_of(memory)
    accessed = memory.last_accessed if memory.HasField("last_accessed") else memory.updated_at
    return MemoryRecord(
        id=memory.id,
        content=memory.content,
        scope=data["scope"],
        categories=data["categories"],
        metadata=unpacked(data),
        importance=memory.salience,
        created_at=memory.created_at.ToDatetime(),
        last_accessed=accessed.ToDatetime(),
        source=data.get("source"),
        private=data["private"],
    )


def _chosen(
    record: MemoryRecord, scope: str, categories: list[str] | None, metadata: dict[str, Any] | None
) -> bool:
    path = normalize_scope_path(scope)
    if path != "/" and record.scope != path and not record.scope.startswith(path + "/"):
        return False
    if categories and not any(category in record.categories for category in categories):
        return False
    return all(record.metadata.get(name) == value for name, value in (metadata or {}).items())


def _children(parent: str, records: Iterator[MemoryRecord] | list[MemoryRecord]) -> list[str]:
    path = normalize_scope_path(parent).rstrip("/") + "/"
    below = {record.scope[len(path) :] for record in records if record.scope.startswith(path)}
    return sorted({path + rest.split("/")[0] for rest in below if rest})
