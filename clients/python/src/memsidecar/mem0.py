"""mem0's ``Memory`` on memsidecar: a program that uses mem0 changes one import.

    from memsidecar.mem0 import Memory

It needs neither mem0 nor a language model nor an embedding service.
"""

from __future__ import annotations

import builtins
import datetime
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import MemsidecarError
from ._keyed import data_of, retire, tag
from ._requests import Filter
from ._spaces import slug
from .client import Client
from .v1 import memory_pb2, operation_pb2

UTC = datetime.timezone.utc
SOURCE = "mem0"
ENTITIES = ("user_id", "agent_id", "run_id")
PROMOTED = (*ENTITIES, "actor_id", "role", "expiration_date")
MAX_HITS = 200
UNSET: Any = object()


class Memory:
    """mem0's interface. Its memories are in the space ``mem0``, unless the client given has another.

    No model reads what is added: ``infer=True`` saves what the user said, ``infer=False`` each message; each text once for the
    same user, agent and run. ``rerank``, ``explain``, ``prompt`` and ``threshold`` change nothing: the daemon ranks, and leaves
    out what does not bear on the query.
    """

    def __init__(self, config: Any = None, *, client: Client | None = None) -> None:
        self.config = config
        self._client = client or Client(space=SOURCE)

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Memory:
        """Accept a configuration of mem0; models and stores named there are not used."""
        return cls(config_dict)

    def add(
        self,
        messages: str | dict[str, Any] | Sequence[dict[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        if timestamp is not None:
            raise ValueError("add() takes no timestamp: a memory is dated when it is added")
        if memory_type not in (None, "procedural_memory"):
            raise ValueError(f"the memory_type {memory_type!r} is not 'procedural_memory'")
        scope = _scope({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        if not scope:
            raise ValueError("one of user_id, agent_id and run_id must be given")
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        elif isinstance(messages, Mapping):
            messages = [dict(messages)]
        until = _date(expiration_date)
        roles = ("user",) if infer and any(m.get("role") == "user" for m in messages) else ("user", "assistant", "tool")
        results: builtins.list[dict[str, Any]] = []
        for message in messages:
            role, content = message.get("role"), _text(message.get("content"))
            if role not in roles or not content.strip():
                continue
            data = {key: value for key, value in (metadata or {}).items() if key not in (*ENTITIES, "actor_id")}
            data |= scope | {"role": role}
            if message.get("name"):
                data["actor_id"] = message["name"]
            if until:
                data["expiration_date"] = until.isoformat()
            saved = self._client.remember(
                content,
                category=_category(scope),
                tags=[_tag(name, value) for name, value in scope.items()],
                source=SOURCE,
                structured_data=data,
                expires_at=_end(until),
            )
            if saved.operation:
                result = {"id": saved.id, "memory": self._client.get(saved.id).content, "event": "ADD"}
                results.append(result if infer else result | {"actor_id": data.get("actor_id"), "role": role})
        return {"results": results}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: dict[str, Any] | None = None,
        threshold: float = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        if reference_date is not None:
            raise ValueError("search() takes no reference_date")
        scope = _check(filters, top_k, kwargs, "search")
        if not query.strip():
            raise ValueError("the query is empty")
        rest = {name: value for name, value in (filters or {}).items() if name not in scope}
        found = self._client.search(
            query, MAX_HITS if rest or len(scope) > 1 else max(1, min(top_k, MAX_HITS)), filter=_filter(scope, show_expired)
        )
        hits = [(h.memory, h.score) for h in found if _selected(_payload(h.memory), filters or {})]
        return {"results": [_item(memory) | {"score": score} for memory, score in hits[:top_k]]}

    def get_all(
        self, *, filters: dict[str, Any] | None = None, top_k: int = 20, show_expired: bool = False, **kwargs: Any
    ) -> dict[str, Any]:
        scope = _check(filters, top_k, kwargs, "get_all")
        results: builtins.list[dict[str, Any]] = []
        for memory in self._client.list(_filter(scope, show_expired)):
            if len(results) >= top_k:
                break
            if _selected(_payload(memory), filters or {}):
                results.append(_item(memory))
        return {"results": results}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        memory = self._find(memory_id)
        return _item(memory) | {"score": None} if memory else None

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: dict[str, Any] | None = None,
        expiration_date: Any = UNSET,
        data: str | None = None,
    ) -> dict[str, Any]:
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is UNSET:
            raise ValueError("update() needs text, metadata or expiration_date")
        while True:
            memory = self._known(memory_id)
            payload = data_of(memory)
            payload |= {k: v for k, v in (metadata or {}).items() if k not in (*ENTITIES, "actor_id")}
            until = None if expiration_date is UNSET else _date(expiration_date)
            clear = ["expires_at"] if expiration_date is None else []
            if expiration_date is not UNSET:
                payload["expiration_date"] = until.isoformat() if until else None
            try:
                self._client.update(
                    memory_id,
                    content=text,
                    structured_data={k: v for k, v in payload.items() if v is not None},
                    expires_at=_end(until),
                    clear=clear,
                    expected_revision=memory.revision,
                )
            except MemsidecarError as err:
                if err.reason == "STALE_REVISION":
                    continue  # another writer was first; its metadata is kept
                raise
            return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, Any]:
        """Retire a memory, which is not learned again; undo brings it back."""
        self._known(memory_id)
        self._client.forget(memory_id)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, Any]:
        scope = _scope({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        if not scope:
            raise ValueError("delete_all() needs user_id, agent_id or run_id; reset() deletes everything")
        for memory in builtins.list(self._client.list(_filter(scope, True))):
            if _selected(_payload(memory), scope):
                self._client.forget(memory.id)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> builtins.list[dict[str, Any]]:
        """Return the changes of a memory, oldest first."""
        rows = [_change(operation) for operation in self._client.history(memory_id)]
        return [row | {"memory_id": memory_id} for row in reversed(rows)]

    def reset(self) -> None:
        """Retire all memories of this interface; undo brings them back."""
        retire(self._client, Filter(sources=[SOURCE], statuses=["active"]))

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _find(self, memory_id: str) -> memory_pb2.Memory | None:
        for memory in self._client.get_many([memory_id]):
            if memory.status == memory_pb2.MEMORY_STATUS_ACTIVE:
                return memory
        return None

    def _known(self, memory_id: str) -> memory_pb2.Memory:
        memory = self._find(memory_id)
        if memory is None:
            raise ValueError(f"Memory with id {memory_id} not found")
        return memory


def _scope(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the entity ids that are given. An empty one, and one with blanks inside, is a ValueError, as in mem0."""
    scope: dict[str, str] = {}
    for name in ENTITIES:
        value = given.get(name)
        if value is None:
            continue
        trimmed = str(value).strip()
        if not trimmed or any(c.isspace() for c in trimmed):
            raise ValueError(f"{name} must not be empty or hold blanks")
        scope[name] = trimmed
    return scope


def _check(filters: dict[str, Any] | None, top_k: int, kwargs: dict[str, Any], method: str) -> dict[str, str]:
    wrong = [name for name in kwargs if name in ENTITIES]
    if wrong:
        raise ValueError(f"{method}() takes {', '.join(wrong)} in filters, such as filters={{'user_id': 'ada'}}")
    if kwargs:
        raise TypeError(f"{method}() has no argument {next(iter(kwargs))!r}")
    if top_k < 0:
        raise ValueError("top_k must not be negative")
    scope = _scope({name: value for name, value in (filters or {}).items() if isinstance(value, str)})
    if not scope:
        raise ValueError("filters must hold user_id, agent_id or run_id")
    return scope


def _filter(scope: dict[str, str], show_expired: bool) -> Filter:
    name, value = next(iter(scope.items()))
    return Filter(sources=[SOURCE], tags=[_tag(name, value)], statuses=["active"] if show_expired else [])


def _tag(name: str, value: str) -> str:
    return tag(f"{name.removesuffix('_id')}:{value}")


def _category(scope: dict[str, str]) -> str:
    """Name a category for a scope: a text is saved once in a category."""
    return slug(*(part for name, value in scope.items() for part in (name.removesuffix("_id"), value)))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _date(value: Any) -> datetime.date | None:
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        return value.date()
    return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(str(value))


def _end(until: datetime.date | None) -> datetime.datetime | None:
    """A memory is shown on the day it expires."""
    if until is None:
        return None
    return datetime.datetime.combine(until, datetime.time(), UTC) + datetime.timedelta(days=1)


def _payload(memory: memory_pb2.Memory) -> dict[str, Any]:
    return data_of(memory) | {"data": memory.content}


def _item(memory: memory_pb2.Memory) -> dict[str, Any]:
    data = data_of(memory)
    metadata = {name: value for name, value in data.items() if name not in PROMOTED}
    item: dict[str, Any] = {
        "id": memory.id,
        "memory": memory.content,
        "hash": hashlib.md5(memory.content.encode(), usedforsecurity=False).hexdigest(),
        "metadata": metadata or None,
        "created_at": memory.created_at.ToDatetime(UTC).isoformat(),
        "updated_at": memory.updated_at.ToDatetime(UTC).isoformat(),
    }
    return item | {name: data[name] for name in PROMOTED if name in data}


def _change(operation: operation_pb2.Operation) -> dict[str, Any]:
    change = operation.changes[0].memory
    before = change.before if change.HasField("before") else None
    after = change.after if change.HasField("after") else None
    gone = after is None or after.status != memory_pb2.MEMORY_STATUS_ACTIVE
    back = before is None or before.status != memory_pb2.MEMORY_STATUS_ACTIVE
    latest = after if after is not None else before
    data = data_of(latest) if latest is not None else {}
    return {
        "id": operation.id,
        "old_memory": None if back or before is None else before.content,
        "new_memory": None if gone or after is None else after.content,
        "event": "DELETE" if gone else "ADD" if back else "UPDATE",
        "created_at": latest.created_at.ToDatetime(UTC).isoformat() if latest is not None else None,
        "updated_at": operation.at.ToDatetime(UTC).isoformat(),
        "is_deleted": gone,
        "actor_id": data.get("actor_id"),
        "role": data.get("role"),
    }


def _selected(payload: dict[str, Any], filters: Mapping[str, Any]) -> bool:
    for name, wanted in filters.items():
        if name == "AND":
            fits = all(_selected(payload, part) for part in wanted)
        elif name == "OR":
            fits = any(_selected(payload, part) for part in wanted)
        elif name == "NOT":
            fits = not any(_selected(payload, part) for part in wanted)
        elif isinstance(wanted, Mapping):
            fits = all(_compare(payload.get(name), operator, operand) for operator, operand in wanted.items())
        elif wanted == "*":
            fits = name in payload
        else:
            fits = payload.get(name) == (wanted.strip() if name in ENTITIES and isinstance(wanted, str) else wanted)
        if not fits:
            return False
    return True


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("gt", "gte", "lt", "lte"):
        if value is None or isinstance(value, str) != isinstance(operand, str):
            return False
        return bool({"gt": value > operand, "gte": value >= operand, "lt": value < operand, "lte": value <= operand}[operator])
    if operator in ("contains", "icontains"):
        fold = str.lower if operator == "icontains" else str
        if isinstance(value, list):
            return any(fold(str(part)) == fold(str(operand)) for part in value)
        return value is not None and fold(str(operand)) in fold(str(value))
    if operator in ("eq", "ne"):
        return bool(value == operand) == (operator == "eq")
    if operator in ("in", "nin"):
        return bool(value in operand) == (operator == "in")
    raise ValueError(f"the filter's operator {operator!r} is not one that mem0 has")
