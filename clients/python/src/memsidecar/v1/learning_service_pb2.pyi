from memsidecar.v1 import memory_service_pb2 as _memory_service_pb2
from memsidecar.v1 import operation_pb2 as _operation_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemoryUpdate(_message.Message):
    __slots__ = ("id", "content", "category", "salience", "title")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    id: str
    content: str
    category: str
    salience: float
    title: str
    def __init__(self, id: _Optional[str] = ..., content: _Optional[str] = ..., category: _Optional[str] = ..., salience: _Optional[float] = ..., title: _Optional[str] = ...) -> None: ...

class LearningServiceSaveMemoryRequest(_message.Message):
    __slots__ = ("space", "session", "history_entry", "memories", "memory_text", "dry_run", "idempotency_key")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    HISTORY_ENTRY_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TEXT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    space: str
    session: str
    history_entry: str
    memories: _containers.RepeatedCompositeFieldContainer[MemoryUpdate]
    memory_text: str
    dry_run: bool
    idempotency_key: str
    def __init__(self, space: _Optional[str] = ..., session: _Optional[str] = ..., history_entry: _Optional[str] = ..., memories: _Optional[_Iterable[_Union[MemoryUpdate, _Mapping]]] = ..., memory_text: _Optional[str] = ..., dry_run: _Optional[bool] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class SavedMemory(_message.Message):
    __slots__ = ("decision", "content", "outcome", "rule")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    decision: _memory_service_pb2.Decision
    content: str
    outcome: _write_pb2.Outcome
    rule: str
    def __init__(self, decision: _Optional[_Union[_memory_service_pb2.Decision, str]] = ..., content: _Optional[str] = ..., outcome: _Optional[_Union[_write_pb2.Outcome, _Mapping]] = ..., rule: _Optional[str] = ...) -> None: ...

class LearningServiceSaveMemoryResponse(_message.Message):
    __slots__ = ("result", "memories", "changes", "history")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    memories: _containers.RepeatedCompositeFieldContainer[SavedMemory]
    changes: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Change]
    history: _write_pb2.Outcome
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[SavedMemory, _Mapping]]] = ..., changes: _Optional[_Iterable[_Union[_operation_pb2.Change, _Mapping]]] = ..., history: _Optional[_Union[_write_pb2.Outcome, _Mapping]] = ...) -> None: ...

class LearningServiceConsolidatePendingRequest(_message.Message):
    __slots__ = ("space", "limit", "dry_run")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    space: str
    limit: int
    dry_run: bool
    def __init__(self, space: _Optional[str] = ..., limit: _Optional[int] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ConsolidatedEntry(_message.Message):
    __slots__ = ("date", "entry", "content", "decision", "id", "reason", "operation", "decided_by")
    DATE_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    date: str
    entry: str
    content: str
    decision: _memory_service_pb2.Decision
    id: str
    reason: str
    operation: int
    decided_by: str
    def __init__(self, date: _Optional[str] = ..., entry: _Optional[str] = ..., content: _Optional[str] = ..., decision: _Optional[_Union[_memory_service_pb2.Decision, str]] = ..., id: _Optional[str] = ..., reason: _Optional[str] = ..., operation: _Optional[int] = ..., decided_by: _Optional[str] = ...) -> None: ...

class LearningServiceConsolidatePendingResponse(_message.Message):
    __slots__ = ("entries", "left")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[ConsolidatedEntry]
    left: int
    def __init__(self, entries: _Optional[_Iterable[_Union[ConsolidatedEntry, _Mapping]]] = ..., left: _Optional[int] = ...) -> None: ...

class LearningServiceRebuildSummaryRequest(_message.Message):
    __slots__ = ("space", "replace", "dry_run")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    REPLACE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    space: str
    replace: bool
    dry_run: bool
    def __init__(self, space: _Optional[str] = ..., replace: _Optional[bool] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class LearningServiceRebuildSummaryResponse(_message.Message):
    __slots__ = ("result", "summary")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    summary: str
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., summary: _Optional[str] = ...) -> None: ...
