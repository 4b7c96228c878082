import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import memory_pb2 as _memory_pb2
from memsidecar.v1 import operation_pb2 as _operation_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemoryOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_ORDER_UNSPECIFIED: _ClassVar[MemoryOrder]
    MEMORY_ORDER_CREATED: _ClassVar[MemoryOrder]
    MEMORY_ORDER_UPDATED: _ClassVar[MemoryOrder]
    MEMORY_ORDER_SALIENCE: _ClassVar[MemoryOrder]
    MEMORY_ORDER_ACCESS: _ClassVar[MemoryOrder]

class WriteTo(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WRITE_TO_UNSPECIFIED: _ClassVar[WriteTo]
    WRITE_TO_MEMORY: _ClassVar[WriteTo]
    WRITE_TO_DAILY: _ClassVar[WriteTo]

class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_UNSPECIFIED: _ClassVar[Decision]
    DECISION_ADD: _ClassVar[Decision]
    DECISION_UPDATE: _ClassVar[Decision]
    DECISION_DELETE: _ClassVar[Decision]
    DECISION_NOOP: _ClassVar[Decision]
MEMORY_ORDER_UNSPECIFIED: MemoryOrder
MEMORY_ORDER_CREATED: MemoryOrder
MEMORY_ORDER_UPDATED: MemoryOrder
MEMORY_ORDER_SALIENCE: MemoryOrder
MEMORY_ORDER_ACCESS: MemoryOrder
WRITE_TO_UNSPECIFIED: WriteTo
WRITE_TO_MEMORY: WriteTo
WRITE_TO_DAILY: WriteTo
DECISION_UNSPECIFIED: Decision
DECISION_ADD: Decision
DECISION_UPDATE: Decision
DECISION_DELETE: Decision
DECISION_NOOP: Decision

class NewMemory(_message.Message):
    __slots__ = ("id", "category", "content", "salience", "title", "tags", "source", "context", "created_at", "last_accessed", "access_count", "pinned", "confidence", "expires_at", "structured_data", "relations", "evidence")
    ID_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_ACCESSED_FIELD_NUMBER: _ClassVar[int]
    ACCESS_COUNT_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_DATA_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    category: str
    content: str
    salience: float
    title: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    source: str
    context: _memory_pb2.MemoryContext
    created_at: _timestamp_pb2.Timestamp
    last_accessed: _timestamp_pb2.Timestamp
    access_count: int
    pinned: bool
    confidence: float
    expires_at: _timestamp_pb2.Timestamp
    structured_data: _struct_pb2.Struct
    relations: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Relation]
    evidence: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Evidence]
    def __init__(self, id: _Optional[str] = ..., category: _Optional[str] = ..., content: _Optional[str] = ..., salience: _Optional[float] = ..., title: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., source: _Optional[str] = ..., context: _Optional[_Union[_memory_pb2.MemoryContext, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_accessed: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., access_count: _Optional[int] = ..., pinned: _Optional[bool] = ..., confidence: _Optional[float] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., structured_data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., relations: _Optional[_Iterable[_Union[_memory_pb2.Relation, _Mapping]]] = ..., evidence: _Optional[_Iterable[_Union[_memory_pb2.Evidence, _Mapping]]] = ...) -> None: ...

class MemoryServiceAddRequest(_message.Message):
    __slots__ = ("space", "items", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    items: _containers.RepeatedCompositeFieldContainer[NewMemory]
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., items: _Optional[_Iterable[_Union[NewMemory, _Mapping]]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class MemoryServiceAddResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class MemoryServiceGetRequest(_message.Message):
    __slots__ = ("space", "ids")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    space: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, space: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ...) -> None: ...

class MemoryServiceGetResponse(_message.Message):
    __slots__ = ("memories", "missing")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    missing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...

class MemoryServiceListRequest(_message.Message):
    __slots__ = ("space", "filter", "order", "ascending", "page_size", "page_token")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    ASCENDING_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    space: str
    filter: _memory_pb2.MemoryFilter
    order: MemoryOrder
    ascending: bool
    page_size: int
    page_token: str
    def __init__(self, space: _Optional[str] = ..., filter: _Optional[_Union[_memory_pb2.MemoryFilter, _Mapping]] = ..., order: _Optional[_Union[MemoryOrder, str]] = ..., ascending: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class MemoryServiceListResponse(_message.Message):
    __slots__ = ("memories", "next_page_token", "total")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    next_page_token: str
    total: int
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total: _Optional[int] = ...) -> None: ...

class MemoryPatch(_message.Message):
    __slots__ = ("content", "category", "salience", "title", "tags", "source", "context", "pinned", "confidence", "expires_at", "structured_data", "relations", "evidence")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_DATA_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    content: str
    category: str
    salience: float
    title: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    source: str
    context: _memory_pb2.MemoryContext
    pinned: bool
    confidence: float
    expires_at: _timestamp_pb2.Timestamp
    structured_data: _struct_pb2.Struct
    relations: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Relation]
    evidence: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Evidence]
    def __init__(self, content: _Optional[str] = ..., category: _Optional[str] = ..., salience: _Optional[float] = ..., title: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., source: _Optional[str] = ..., context: _Optional[_Union[_memory_pb2.MemoryContext, _Mapping]] = ..., pinned: _Optional[bool] = ..., confidence: _Optional[float] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., structured_data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., relations: _Optional[_Iterable[_Union[_memory_pb2.Relation, _Mapping]]] = ..., evidence: _Optional[_Iterable[_Union[_memory_pb2.Evidence, _Mapping]]] = ...) -> None: ...

class MemoryServiceUpdateRequest(_message.Message):
    __slots__ = ("space", "id", "patch", "update_mask", "expected_revision", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    patch: MemoryPatch
    update_mask: _field_mask_pb2.FieldMask
    expected_revision: int
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., patch: _Optional[_Union[MemoryPatch, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., expected_revision: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class MemoryServiceUpdateResponse(_message.Message):
    __slots__ = ("result", "memory")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    memory: _memory_pb2.Memory
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ...) -> None: ...

class MemoryServiceDeleteRequest(_message.Message):
    __slots__ = ("space", "ids", "expected_revision", "forget", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    expected_revision: int
    forget: bool
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., expected_revision: _Optional[int] = ..., forget: _Optional[bool] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class MemoryServiceDeleteResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class MemoryServiceRestoreRequest(_message.Message):
    __slots__ = ("space", "ids", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class MemoryServiceRestoreResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class MemoryServiceLinkRequest(_message.Message):
    __slots__ = ("space", "id", "relation", "expected_revision", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    relation: _memory_pb2.Relation
    expected_revision: int
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., relation: _Optional[_Union[_memory_pb2.Relation, _Mapping]] = ..., expected_revision: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class MemoryServiceLinkResponse(_message.Message):
    __slots__ = ("result", "memory")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    memory: _memory_pb2.Memory
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ...) -> None: ...

class MemoryServiceUnlinkRequest(_message.Message):
    __slots__ = ("space", "id", "relation", "expected_revision", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    relation: _memory_pb2.Relation
    expected_revision: int
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., relation: _Optional[_Union[_memory_pb2.Relation, _Mapping]] = ..., expected_revision: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class MemoryServiceUnlinkResponse(_message.Message):
    __slots__ = ("result", "memory")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    memory: _memory_pb2.Memory
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ...) -> None: ...

class MemoryServiceConsolidateRequest(_message.Message):
    __slots__ = ("space", "content", "category", "salience", "title", "tags", "write_to", "dry_run", "idempotency_key", "session", "wait", "confidence")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    WRITE_TO_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    space: str
    content: str
    category: str
    salience: float
    title: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    write_to: WriteTo
    dry_run: bool
    idempotency_key: str
    session: str
    wait: bool
    confidence: float
    def __init__(self, space: _Optional[str] = ..., content: _Optional[str] = ..., category: _Optional[str] = ..., salience: _Optional[float] = ..., title: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., write_to: _Optional[_Union[WriteTo, str]] = ..., dry_run: _Optional[bool] = ..., idempotency_key: _Optional[str] = ..., session: _Optional[str] = ..., wait: _Optional[bool] = ..., confidence: _Optional[float] = ...) -> None: ...

class MemoryServiceConsolidateResponse(_message.Message):
    __slots__ = ("result", "decision", "id", "reason", "decided_by", "note", "pending", "changes")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    decision: Decision
    id: str
    reason: str
    decided_by: str
    note: str
    pending: bool
    changes: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Change]
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., decision: _Optional[_Union[Decision, str]] = ..., id: _Optional[str] = ..., reason: _Optional[str] = ..., decided_by: _Optional[str] = ..., note: _Optional[str] = ..., pending: _Optional[bool] = ..., changes: _Optional[_Iterable[_Union[_operation_pb2.Change, _Mapping]]] = ...) -> None: ...

class MemoryServiceHistoryRequest(_message.Message):
    __slots__ = ("space", "id", "limit")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    limit: int
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class MemoryServiceHistoryResponse(_message.Message):
    __slots__ = ("operations",)
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    operations: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Operation]
    def __init__(self, operations: _Optional[_Iterable[_Union[_operation_pb2.Operation, _Mapping]]] = ...) -> None: ...

class MemoryServiceGetRollingSummaryRequest(_message.Message):
    __slots__ = ("space",)
    SPACE_FIELD_NUMBER: _ClassVar[int]
    space: str
    def __init__(self, space: _Optional[str] = ...) -> None: ...

class MemoryServiceGetRollingSummaryResponse(_message.Message):
    __slots__ = ("summary", "revision")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    summary: str
    revision: int
    def __init__(self, summary: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class MemoryServiceSetRollingSummaryRequest(_message.Message):
    __slots__ = ("space", "summary", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    summary: str
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., summary: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class MemoryServiceSetRollingSummaryResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class MemoryServiceStatsRequest(_message.Message):
    __slots__ = ("spaces",)
    SPACES_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, spaces: _Optional[_Iterable[str]] = ...) -> None: ...

class MemoryServiceStatsResponse(_message.Message):
    __slots__ = ("total", "by_category", "by_status", "by_source", "average_salience", "accesses", "sessions", "days", "log_entries", "lsn", "latencies", "spaces", "journal_syncs", "journal_bytes")
    class ByCategoryEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ByStatusEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class BySourceEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    BY_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    BY_STATUS_FIELD_NUMBER: _ClassVar[int]
    BY_SOURCE_FIELD_NUMBER: _ClassVar[int]
    AVERAGE_SALIENCE_FIELD_NUMBER: _ClassVar[int]
    ACCESSES_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    LOG_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LSN_FIELD_NUMBER: _ClassVar[int]
    LATENCIES_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_SYNCS_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    total: int
    by_category: _containers.ScalarMap[str, int]
    by_status: _containers.ScalarMap[str, int]
    by_source: _containers.ScalarMap[str, int]
    average_salience: float
    accesses: int
    sessions: int
    days: int
    log_entries: int
    lsn: int
    latencies: _containers.RepeatedCompositeFieldContainer[MethodLatency]
    spaces: _containers.RepeatedCompositeFieldContainer[SpaceStats]
    journal_syncs: int
    journal_bytes: int
    def __init__(self, total: _Optional[int] = ..., by_category: _Optional[_Mapping[str, int]] = ..., by_status: _Optional[_Mapping[str, int]] = ..., by_source: _Optional[_Mapping[str, int]] = ..., average_salience: _Optional[float] = ..., accesses: _Optional[int] = ..., sessions: _Optional[int] = ..., days: _Optional[int] = ..., log_entries: _Optional[int] = ..., lsn: _Optional[int] = ..., latencies: _Optional[_Iterable[_Union[MethodLatency, _Mapping]]] = ..., spaces: _Optional[_Iterable[_Union[SpaceStats, _Mapping]]] = ..., journal_syncs: _Optional[int] = ..., journal_bytes: _Optional[int] = ...) -> None: ...

class SpaceStats(_message.Message):
    __slots__ = ("name", "active", "total", "revision", "embedded", "embedding_waiting", "embedding_refused")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    EMBEDDED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_WAITING_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_REFUSED_FIELD_NUMBER: _ClassVar[int]
    name: str
    active: int
    total: int
    revision: int
    embedded: int
    embedding_waiting: int
    embedding_refused: int
    def __init__(self, name: _Optional[str] = ..., active: _Optional[int] = ..., total: _Optional[int] = ..., revision: _Optional[int] = ..., embedded: _Optional[int] = ..., embedding_waiting: _Optional[int] = ..., embedding_refused: _Optional[int] = ...) -> None: ...

class MethodLatency(_message.Message):
    __slots__ = ("method", "count", "p50", "p99")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    P50_FIELD_NUMBER: _ClassVar[int]
    P99_FIELD_NUMBER: _ClassVar[int]
    method: str
    count: int
    p50: _duration_pb2.Duration
    p99: _duration_pb2.Duration
    def __init__(self, method: _Optional[str] = ..., count: _Optional[int] = ..., p50: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., p99: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class MemoryServiceHotRequest(_message.Message):
    __slots__ = ("space", "limit")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    space: str
    limit: int
    def __init__(self, space: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class MemoryServiceHotResponse(_message.Message):
    __slots__ = ("memories",)
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ...) -> None: ...

class MemoryServicePurgeRequest(_message.Message):
    __slots__ = ("space", "ids", "texts", "transcripts", "dry_run", "reason")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPTS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    space: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    texts: _containers.RepeatedScalarFieldContainer[str]
    transcripts: bool
    dry_run: bool
    reason: str
    def __init__(self, space: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., texts: _Optional[_Iterable[str]] = ..., transcripts: _Optional[bool] = ..., dry_run: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class MemoryServicePurgeResponse(_message.Message):
    __slots__ = ("operation", "places", "left", "writers_waited")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    WRITERS_WAITED_FIELD_NUMBER: _ClassVar[int]
    operation: int
    places: _containers.RepeatedCompositeFieldContainer[PurgedPlace]
    left: _containers.RepeatedScalarFieldContainer[str]
    writers_waited: _duration_pb2.Duration
    def __init__(self, operation: _Optional[int] = ..., places: _Optional[_Iterable[_Union[PurgedPlace, _Mapping]]] = ..., left: _Optional[_Iterable[str]] = ..., writers_waited: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class PurgedPlace(_message.Message):
    __slots__ = ("kind", "count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    count: int
    def __init__(self, kind: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...
