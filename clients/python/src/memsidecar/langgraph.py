"""A LangGraph store in memsidecar: ``pip install 'memsidecar[langgraph]'``.

    store = MemsidecarStore()
    graph = builder.compile(store=store)
"""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    validate_op_namespace,
)

from ._keyed import Entry, Keyed, current, data_of, packed, tag, text_of, unpacked
from ._requests import Filter
from .client import Client
from .v1 import memory_pb2

UTC = datetime.timezone.utc
MAX_HITS = 200


class MemsidecarStore(BaseStore):
    """Keeps items durably, for any number of processes. ``search`` ranks by words and meaning, without an embedding service.

    An item is a memory in one space, ``langgraph`` unless the client given has another: its title is the key, its tags are the
    namespace and all its prefixes, its structured data is the value. ``ttl`` is LangGraph's; ``allow_sensitive`` also stores
    what looks like a secret, which is taken out by default.
    """

    supports_ttl = True

    def __init__(
        self, client: Client | None = None, *, ttl: TTLConfig | None = None, allow_sensitive: bool = False
    ) -> None:
        self._client = client or Client(space="langgraph")
        self._items = Keyed(self._client, "langgraph", "general", allow_sensitive)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the reads, then the writes. Of several writes to one key the last counts."""
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        gets = {_key(op.namespace, op.key) for op in ops if isinstance(op, GetOp)}
        found = self._items.get(gets) if gets else {}
        results: list[Result] = []
        puts: dict[str, PutOp] = {}
        for op in ops:
            if isinstance(op, GetOp):
                memory = found.get(_key(op.namespace, op.key))
                results.append(self._item(memory, op.refresh_ttl) if memory else None)
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._namespaces(op))
            else:
                puts[_key(op.namespace, op.key)] = op
                results.append(None)
        self._items.put([self._entry(key, op) for key, op in puts.items() if op.value is not None])
        gone = [key for key, op in puts.items() if op.value is None]
        if gone:
            self._items.delete(gone)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _entry(self, key: str, op: PutOp) -> Entry:
        value = dict(op.value or {})
        data = packed(value) | {"namespace": list(op.namespace), "key": op.key}
        if op.ttl is not None:
            data["ttl"] = op.ttl
        text = text_of(value)
        if op.index is False:
            data["index"] = False
        elif op.index:
            parts = [part for path in op.index for part in get_text_at_path(value, path)]
            text = "\n".join(parts) or text
        return Entry(key, text, data, title=op.key, tags=_tags(op.namespace), expires_at=_expiry(op.ttl))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        tags = _tags(op.namespace_prefix)[-1:]
        end = op.offset + op.limit
        if not op.query:
            chosen: list[tuple[memory_pb2.Memory, float | None]] = []
            for memory in self._items.list(tags, None if op.filter else end):
                if len(chosen) >= end:
                    break
                if _selected(data_of(memory), op):
                    chosen.append((memory, None))
        else:
            wanted = MAX_HITS if op.filter else max(1, min(end, MAX_HITS))
            hits = self._client.search(op.query, wanted, filter=Filter(sources=[self._items.source], tags=tags))
            chosen = [(h.memory, h.score) for h in hits if _selected(data_of(h.memory), op, queried=True)]
        return [self._search_item(memory, score, op.refresh_ttl) for memory, score in chosen[op.offset : end]]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        found = {_namespace(data_of(memory)) for memory in self._items.list()}
        found = {ns for ns in found if all(_matches(condition, ns) for condition in conditions)}
        if op.max_depth is not None:
            found = {ns[: op.max_depth] for ns in found}
        return sorted(found)[op.offset : op.offset + op.limit]

    def _item(self, memory: memory_pb2.Memory, refresh: bool) -> Item:
        data = data_of(memory)
        self._refresh(memory, data, refresh)
        return Item(key=data["key"], namespace=_namespace(data), value=unpacked(data), **_times(memory))

    def _search_item(self, memory: memory_pb2.Memory, score: float | None, refresh: bool) -> SearchItem:
        data = data_of(memory)
        self._refresh(memory, data, refresh)
        return SearchItem(_namespace(data), data["key"], unpacked(data), **_times(memory), score=score)

    def _refresh(self, memory: memory_pb2.Memory, data: dict[str, Any], refresh: bool) -> None:
        if refresh and "ttl" in data and current(memory):
            self._client.update(memory.id, expires_at=_expiry(data["ttl"]))


def _key(namespace: Sequence[str], key: str) -> str:
    return json.dumps([*namespace, key])


def _namespace(data: dict[str, Any]) -> tuple[str, ...]:
    return tuple(data["namespace"])


def _tags(namespace: Sequence[str]) -> list[str]:
    """Name a namespace and its prefixes, shortest first. Labels hold no period."""
    return [tag(".".join(namespace[: depth + 1])) for depth in range(len(namespace))]


def _expiry(minutes: float | None) -> datetime.datetime | None:
    return None if minutes is None else datetime.datetime.now(UTC) + datetime.timedelta(minutes=minutes)


def _times(memory: memory_pb2.Memory) -> dict[str, datetime.datetime]:
    return {"created_at": memory.created_at.ToDatetime(UTC), "updated_at": memory.updated_at.ToDatetime(UTC)}


def _selected(data: dict[str, Any], op: SearchOp, queried: bool = False) -> bool:
    if "namespace" not in data or _namespace(data)[: len(op.namespace_prefix)] != tuple(op.namespace_prefix):
        return False
    if queried and data.get("index") is False:
        return False
    value = unpacked(data)
    return all(_equal(value.get(name), wanted) for name, wanted in (op.filter or {}).items())


def _equal(value: Any, wanted: Any) -> bool:
    """Compare a part of a value with a filter: operators, objects that hold at least these parts, lists, or equality."""
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(_operator(value, name, operand) for name, operand in wanted.items())
        return isinstance(value, dict) and all(_equal(value.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, (list, tuple)):
        same = isinstance(value, list) and len(value) == len(wanted)
        return same and all(_equal(part, other) for part, other in zip(value, wanted))
    return bool(value == wanted)


def _operator(value: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return bool(value == operand)
    if name == "$ne":
        return bool(value != operand)
    if name not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"the filter's operator {name!r} is not one of $eq, $ne, $gt, $gte, $lt, $lte")
    left, right = float(value), float(operand)
    return {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[name]


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part))
