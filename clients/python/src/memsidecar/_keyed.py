"""JSON values under keys, for adapters whose framework names what it stores.

Each value is one memory: its id is made from the key, so that writers of one key in several processes meet in one memory, its
text is what searches find and people read, and its structured data is the value.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format

from . import _requests
from ._errors import MemsidecarError
from ._requests import MAX_BATCH, Filter
from .client import Client
from .v1 import memory_pb2, memory_service_pb2, write_pb2

MAX_TEXT, MAX_TITLE, MAX_TAG = 8000, 200, 64  # characters

log = logging.getLogger("memsidecar")


@dataclass(frozen=True)
class Entry:
    """A value to store. ``text`` and ``title`` are cut where they are too long for a memory; ``data`` is not."""

    key: str
    text: str
    data: dict[str, Any]
    title: str = ""
    tags: Sequence[str] = ()
    expires_at: datetime.datetime | None = None

    def distinct(self) -> Entry:
        """Return the entry with a text that no other key has: a space holds no text twice."""
        mark = f"\n(key {hashlib.sha256(self.key.encode()).hexdigest()[:12]})"
        return dataclasses.replace(self, text=self.text[: MAX_TEXT - len(mark)] + mark)


class Keyed:
    """The values of one source in the client's space. Several threads and processes may use it; the last write counts."""

    def __init__(self, client: Client, source: str, category: str, allow_sensitive: bool = False) -> None:
        self.client = client
        self.source = source
        self.category = category
        self.allow_sensitive = allow_sensitive

    def id(self, key: str) -> str:
        """Return the id of the memory of a key."""
        return f"{self.source}-{hashlib.sha256(key.encode()).hexdigest()[:32]}"

    def get(self, keys: Iterable[str]) -> dict[str, memory_pb2.Memory]:
        """Return the current memories of those keys that have one."""
        ids = {self.id(key): key for key in keys}
        wanted, found = list(ids), dict[str, memory_pb2.Memory]()
        for start in range(0, len(wanted), MAX_BATCH):
            for memory in self.client.get_many(wanted[start : start + MAX_BATCH]):
                if current(memory):
                    found[ids[memory.id]] = memory
        return found

    def list(self, tags: Sequence[str] = (), limit: int | None = None) -> Iterator[memory_pb2.Memory]:
        """Yield the memories that have any of the tags, oldest first, at most limit."""
        return self.client.list(Filter(sources=[self.source], tags=tags), ascending=True, limit=limit)

    def put(self, entries: Sequence[Entry]) -> None:
        """Store values, durably. A key that has a value gets the new one."""
        for start in range(0, len(entries), MAX_BATCH):
            self._add(entries[start : start + MAX_BATCH])

    def create(self, entry: Entry) -> bool:
        """Store a value unless its key has one; return whether it was stored."""
        request = _requests.add(self.client.space, [self._new(entry)], self.allow_sensitive)
        outcome = self.client.call(self.client.memory.Add, request).result.outcomes[0]
        self._tell(entry, outcome)
        if outcome.status == write_pb2.OUTCOME_STATUS_APPLIED:
            return outcome.reason != "REVIVED" or self._set(entry)
        if outcome.id != self.id(entry.key):
            return self.create(entry.distinct())
        return entry.key not in self.get([entry.key]) and self._set(entry)

    def delete(self, keys: Iterable[str]) -> None:
        """Retire the values of keys, durably; undo brings them back. Keys without a value are skipped."""
        ids = [self.id(key) for key in keys]
        for start in range(0, len(ids), MAX_BATCH):
            request = _requests.delete(self.client.space, ids[start : start + MAX_BATCH], learnable=True)
            try:
                self.client.call(self.client.memory.Delete, request)
            except MemsidecarError as err:
                if err.reason != "NOT_FOUND":
                    raise

    def replace(self, memory: memory_pb2.Memory, entry: Entry) -> bool:
        """Give a memory a new value unless it was changed meanwhile; return whether it has it."""
        try:
            return self._update(entry, memory.revision)
        except MemsidecarError as err:
            if err.reason == "STALE_REVISION":
                return False
            if not _is_duplicate(err):
                raise
            return self.replace(memory, entry.distinct())

    def _add(self, entries: Sequence[Entry]) -> None:
        items = [self._new(entry) for entry in entries]
        request = _requests.add(self.client.space, items, self.allow_sensitive)
        result = self.client.call(self.client.memory.Add, request).result
        again: list[Entry] = []
        for entry, outcome in zip(entries, result.outcomes):
            self._tell(entry, outcome)
            if outcome.status == write_pb2.OUTCOME_STATUS_APPLIED and outcome.reason != "REVIVED":
                continue
            if outcome.id != self.id(entry.key):
                again.append(entry.distinct())
            elif not self._set(entry):
                again.append(entry)
        if again:
            self._add(again)

    def _set(self, entry: Entry) -> bool:
        """Change the memory of a key, also a retired one; return False if there is none any more."""
        try:
            self._update(entry, 0)
        except MemsidecarError as err:
            if err.reason == "NOT_FOUND":
                return False
            if not _is_duplicate(err):
                raise
            return self._set(entry.distinct())  # another key has this text
        return True

    def _update(self, entry: Entry, revision: int) -> bool:
        request = _requests.update(
            self.client.space,
            self.id(entry.key),
            content=entry.text[:MAX_TEXT],
            title=entry.title[:MAX_TITLE],
            tags=entry.tags,
            structured_data=entry.data,
            pinned=entry.expires_at is None,
            expires_at=entry.expires_at,
            clear=["expires_at"] if entry.expires_at is None else [],
            expected_revision=revision,
            allow_sensitive=self.allow_sensitive,
        )
        response = self.client.call(self.client.memory.Update, request)
        self._tell(entry, response.result.outcomes[0])
        if response.memory.status != memory_pb2.MEMORY_STATUS_ACTIVE:
            self.client.restore(response.memory.id)
        return True

    def _new(self, entry: Entry) -> memory_service_pb2.NewMemory:
        return _requests.new(
            entry.text[:MAX_TEXT],
            id=self.id(entry.key),
            category=self.category,
            title=entry.title[:MAX_TITLE],
            tags=entry.tags,
            source=self.source,
            pinned=entry.expires_at is None,  # a pinned memory is never merged with others
            expires_at=entry.expires_at,
            structured_data=entry.data,
        )

    def _tell(self, entry: Entry, outcome: write_pb2.Outcome) -> None:
        if outcome.redactions:
            places = ", ".join(f"{one.kind} at {one.start}-{one.end} of {one.field}" for one in _requests.redactions(outcome))
            log.warning("%s was stored without what looks like a secret: %s", outcome.id, places)


def _is_duplicate(err: MemsidecarError) -> bool:
    """Report whether another memory has the text."""
    return err.code == "ALREADY_EXISTS" or err.reason == "EXACT_DUPLICATE"


def retire(client: Client, chosen: Filter) -> None:
    """Retire the memories that a filter selects, so that undo can bring them back."""
    retire_ids(client, [memory.id for memory in client.list(chosen)])


def retire_ids(client: Client, ids: Sequence[str]) -> None:
    """Retire memories, which may be learned again."""
    for start in range(0, len(ids), MAX_BATCH):
        request = _requests.delete(client.space, ids[start : start + MAX_BATCH], learnable=True)
        client.call(client.memory.Delete, request)


def current(memory: memory_pb2.Memory) -> bool:
    """Report whether a memory is active and has not expired."""
    if memory.status != memory_pb2.MEMORY_STATUS_ACTIVE:
        return False
    return not memory.HasField("expires_at") or memory.expires_at.ToMicroseconds() / 1e6 > time.time()


def tag(text: str) -> str:
    """Return a text as a tag; one that is too long is replaced by its hash."""
    return text if len(text) <= MAX_TAG else "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:40]


def text_of(value: Any) -> str:
    """Return a value as text: a line for each of its parts, without a name if there is only one."""
    lines = list(_lines(value, ""))
    if len(lines) == 1:
        return lines[0][1] or "(empty)"
    return "\n".join(f"{name}: {text}" for name, text in lines) or "(empty)"


def _lines(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, part in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _lines(part, f"{name}.{key}" if name else str(key))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, (list, tuple)):
        for part in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _lines(part, name)
    elif value is not None:
        yield name, str(value)


def packed(value: Any) -> dict[str, Any]:
    """Return data that :func:`unpacked` makes the same value of. A value that JSON cannot hold is a TypeError."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    struct = {"value": json.loads(text)}
    if json.dumps(_numbers(json.loads(json.dumps(struct), parse_int=float))["value"], ensure_ascii=False) == text:
        return struct
    return {"json": text}  # numbers that a memory's structured data would change: 1.0, and integers above 2^53


def unpacked(data: dict[str, Any]) -> Any:
    """Return the value of :func:`packed`."""
    return json.loads(data["json"]) if "json" in data else data["value"]


def data_of(memory: memory_pb2.Memory) -> dict[str, Any]:
    """Return the structured data of a memory; whole numbers are integers."""
    data: dict[str, Any] = json_format.MessageToDict(memory.structured_data)
    return {name: _numbers(value) for name, value in data.items()}


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(part) for key, part in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_numbers(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return int(value) if isinstance(value, float) and value.is_integer() else value
