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
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemoryOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_ORDER_UNSPECIFIED: _ClassVar[MemoryOrder]
    MEMORY_ORDER_CREATED: _ClassVar[MemoryOrder]
    MEMORY_ORDER_UPDATED: _ClassVar[MemoryOrder]
    MEMORY_ORDER_SALIENCE: _ClassVar[MemoryOrder]
    MEMORY_ORDER_ACCESS: _ClassVar[MemoryOrder]

class PurgedPlaceKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PURGED_PLACE_KIND_UNSPECIFIED: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_MEMORY: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_VERSION: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_LOG_ENTRY: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_MESSAGE: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_SUMMARY: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_ARCHIVED: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_SESSION: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_RECEIPT: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_JOURNAL: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_SNAPSHOT: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_PUBLISHED: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_QUARANTINE: _ClassVar[PurgedPlaceKind]
    PURGED_PLACE_KIND_INDEX: _ClassVar[PurgedPlaceKind]

class WriteTo(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WRITE_TO_UNSPECIFIED: _ClassVar[WriteTo]
    WRITE_TO_MEMORY: _ClassVar[WriteTo]
    WRITE_TO_DAILY: _ClassVar[WriteTo]
MEMORY_ORDER_UNSPECIFIED: MemoryOrder
MEMORY_ORDER_CREATED: MemoryOrder
MEMORY_ORDER_UPDATED: MemoryOrder
MEMORY_ORDER_SALIENCE: MemoryOrder
MEMORY_ORDER_ACCESS: MemoryOrder
PURGED_PLACE_KIND_UNSPECIFIED: PurgedPlaceKind
PURGED_PLACE_KIND_MEMORY: PurgedPlaceKind
PURGED_PLACE_KIND_VERSION: PurgedPlaceKind
PURGED_PLACE_KIND_LOG_ENTRY: PurgedPlaceKind
PURGED_PLACE_KIND_MESSAGE: PurgedPlaceKind
PURGED_PLACE_KIND_SUMMARY: PurgedPlaceKind
PURGED_PLACE_KIND_ARCHIVED: PurgedPlaceKind
PURGED_PLACE_KIND_SESSION: PurgedPlaceKind
PURGED_PLACE_KIND_RECEIPT: PurgedPlaceKind
PURGED_PLACE_KIND_JOURNAL: PurgedPlaceKind
PURGED_PLACE_KIND_SNAPSHOT: PurgedPlaceKind
PURGED_PLACE_KIND_PUBLISHED: PurgedPlaceKind
PURGED_PLACE_KIND_QUARANTINE: PurgedPlaceKind
PURGED_PLACE_KIND_INDEX: PurgedPlaceKind
WRITE_TO_UNSPECIFIED: WriteTo
WRITE_TO_MEMORY: WriteTo
WRITE_TO_DAILY: WriteTo

class NewMemory(_message.Message):
    __slots__ = ("id", "category", "content", "salience", "title", "tags", "source", "context", "created_at", "last_accessed", "access_count", "pinned", "confidence", "expires_at", "structured_data", "relations", "evidence", "description")
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
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
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
    description: str
    def __init__(self, id: _Optional[str] = ..., category: _Optional[str] = ..., content: _Optional[str] = ..., salience: _Optional[float] = ..., title: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., source: _Optional[str] = ..., context: _Optional[_Union[_memory_pb2.MemoryContext, _Mapping]] = ..., created_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_accessed: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., access_count: _Optional[int] = ..., pinned: bool = ..., confidence: _Optional[float] = ..., expires_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., structured_data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., relations: _Optional[_Iterable[_Union[_memory_pb2.Relation, _Mapping]]] = ..., evidence: _Optional[_Iterable[_Union[_memory_pb2.Evidence, _Mapping]]] = ..., description: _Optional[str] = ...) -> None: ...

class MemoryServiceAddRequest(_message.Message):
    __slots__ = ("space", "items", "idempotency_key", "reason", "session_id", "allow_sensitive")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOW_SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    space: str
    items: _containers.RepeatedCompositeFieldContainer[NewMemory]
    idempotency_key: str
    reason: str
    session_id: str
    allow_sensitive: bool
    def __init__(self, space: _Optional[str] = ..., items: _Optional[_Iterable[_Union[NewMemory, _Mapping]]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session_id: _Optional[str] = ..., allow_sensitive: bool = ...) -> None: ...

class MemoryServiceAddResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class MemoryServiceGetRequest(_message.Message):
    __slots__ = ("space", "ids", "page_size", "page_token")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    space: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    def __init__(self, space: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class MemoryServiceGetResponse(_message.Message):
    __slots__ = ("memories", "missing_ids", "next_page_token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MISSING_IDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    missing_ids: _containers.RepeatedScalarFieldContainer[str]
    next_page_token: str
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., missing_ids: _Optional[_Iterable[str]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class MemoryServiceListRequest(_message.Message):
    __slots__ = ("space", "filter", "order", "ascending", "page_size", "page_token", "short_ids")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    ASCENDING_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SHORT_IDS_FIELD_NUMBER: _ClassVar[int]
    space: str
    filter: _memory_pb2.MemoryFilter
    order: MemoryOrder
    ascending: bool
    page_size: int
    page_token: str
    short_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, space: _Optional[str] = ..., filter: _Optional[_Union[_memory_pb2.MemoryFilter, _Mapping]] = ..., order: _Optional[_Union[MemoryOrder, str]] = ..., ascending: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., short_ids: _Optional[_Iterable[str]] = ...) -> None: ...

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
    __slots__ = ("content", "category", "salience", "title", "tags", "source", "context", "pinned", "confidence", "expires_at", "structured_data", "relations", "evidence", "description")
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
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
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
    description: str
    def __init__(self, content: _Optional[str] = ..., category: _Optional[str] = ..., salience: _Optional[float] = ..., title: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., source: _Optional[str] = ..., context: _Optional[_Union[_memory_pb2.MemoryContext, _Mapping]] = ..., pinned: bool = ..., confidence: _Optional[float] = ..., expires_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., structured_data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., relations: _Optional[_Iterable[_Union[_memory_pb2.Relation, _Mapping]]] = ..., evidence: _Optional[_Iterable[_Union[_memory_pb2.Evidence, _Mapping]]] = ..., description: _Optional[str] = ...) -> None: ...

class MemoryServiceUpdateRequest(_message.Message):
    __slots__ = ("space", "id", "patch", "update_mask", "expected_revision", "idempotency_key", "reason", "session_id", "allow_sensitive")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOW_SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    patch: MemoryPatch
    update_mask: _field_mask_pb2.FieldMask
    expected_revision: int
    idempotency_key: str
    reason: str
    session_id: str
    allow_sensitive: bool
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., patch: _Optional[_Union[MemoryPatch, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., expected_revision: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session_id: _Optional[str] = ..., allow_sensitive: bool = ...) -> None: ...

class MemoryServiceUpdateResponse(_message.Message):
    __slots__ = ("result", "memory")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    memory: _memory_pb2.Memory
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ...) -> None: ...

class MemoryServiceDeleteRequest(_message.Message):
    __slots__ = ("space", "ids", "expected_revision", "keep_learnable", "idempotency_key", "reason", "session_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    KEEP_LEARNABLE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    expected_revision: int
    keep_learnable: bool
    idempotency_key: str
    reason: str
    session_id: str
    def __init__(self, space: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., expected_revision: _Optional[int] = ..., keep_learnable: bool = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class MemoryServiceDeleteResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class MemoryServicePurgeRequest(_message.Message):
    __slots__ = ("space", "ids", "texts", "transcripts", "dry_run", "reason", "idempotency_key", "session_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPTS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    texts: _containers.RepeatedScalarFieldContainer[str]
    transcripts: bool
    dry_run: bool
    reason: str
    idempotency_key: str
    session_id: str
    def __init__(self, space: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., texts: _Optional[_Iterable[str]] = ..., transcripts: bool = ..., dry_run: bool = ..., reason: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class PurgedPlace(_message.Message):
    __slots__ = ("kind", "count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: PurgedPlaceKind
    count: int
    def __init__(self, kind: _Optional[_Union[PurgedPlaceKind, str]] = ..., count: _Optional[int] = ...) -> None: ...

class MemoryServicePurgeResponse(_message.Message):
    __slots__ = ("result", "places", "foreign_files", "writers_waited")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    FOREIGN_FILES_FIELD_NUMBER: _ClassVar[int]
    WRITERS_WAITED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    places: _containers.RepeatedCompositeFieldContainer[PurgedPlace]
    foreign_files: _containers.RepeatedScalarFieldContainer[str]
    writers_waited: _duration_pb2.Duration
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., places: _Optional[_Iterable[_Union[PurgedPlace, _Mapping]]] = ..., foreign_files: _Optional[_Iterable[str]] = ..., writers_waited: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class MemoryServiceRestoreRequest(_message.Message):
    __slots__ = ("space", "ids", "idempotency_key", "reason", "session_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    idempotency_key: str
    reason: str
    session_id: str
    def __init__(self, space: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class MemoryServiceRestoreResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class MemoryServiceLinkRequest(_message.Message):
    __slots__ = ("space", "id", "relation", "expected_revision", "idempotency_key", "reason", "session_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    relation: _memory_pb2.Relation
    expected_revision: int
    idempotency_key: str
    reason: str
    session_id: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., relation: _Optional[_Union[_memory_pb2.Relation, _Mapping]] = ..., expected_revision: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class MemoryServiceLinkResponse(_message.Message):
    __slots__ = ("result", "memory")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    memory: _memory_pb2.Memory
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ...) -> None: ...

class MemoryServiceUnlinkRequest(_message.Message):
    __slots__ = ("space", "id", "relation", "expected_revision", "idempotency_key", "reason", "session_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    relation: _memory_pb2.Relation
    expected_revision: int
    idempotency_key: str
    reason: str
    session_id: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., relation: _Optional[_Union[_memory_pb2.Relation, _Mapping]] = ..., expected_revision: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class MemoryServiceUnlinkResponse(_message.Message):
    __slots__ = ("result", "memory")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    memory: _memory_pb2.Memory
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ...) -> None: ...

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

class MemoryServiceSaveRequest(_message.Message):
    __slots__ = ("space", "session_id", "history_entry", "memories", "memory_text", "dry_run", "idempotency_key", "reason")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    HISTORY_ENTRY_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TEXT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    history_entry: str
    memories: _containers.RepeatedCompositeFieldContainer[MemoryUpdate]
    memory_text: str
    dry_run: bool
    idempotency_key: str
    reason: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., history_entry: _Optional[str] = ..., memories: _Optional[_Iterable[_Union[MemoryUpdate, _Mapping]]] = ..., memory_text: _Optional[str] = ..., dry_run: bool = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SavedMemory(_message.Message):
    __slots__ = ("decision", "content", "outcome", "rule")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    decision: _memory_pb2.Decision
    content: str
    outcome: _write_pb2.Outcome
    rule: str
    def __init__(self, decision: _Optional[_Union[_memory_pb2.Decision, str]] = ..., content: _Optional[str] = ..., outcome: _Optional[_Union[_write_pb2.Outcome, _Mapping]] = ..., rule: _Optional[str] = ...) -> None: ...

class MemoryServiceSaveResponse(_message.Message):
    __slots__ = ("result", "memories", "changes", "omitted_changes", "history", "redacted")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    OMITTED_CHANGES_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    REDACTED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    memories: _containers.RepeatedCompositeFieldContainer[SavedMemory]
    changes: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Change]
    omitted_changes: int
    history: _write_pb2.Outcome
    redacted: int
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[SavedMemory, _Mapping]]] = ..., changes: _Optional[_Iterable[_Union[_operation_pb2.Change, _Mapping]]] = ..., omitted_changes: _Optional[int] = ..., history: _Optional[_Union[_write_pb2.Outcome, _Mapping]] = ..., redacted: _Optional[int] = ...) -> None: ...

class ConsolidateText(_message.Message):
    __slots__ = ("content", "category", "salience", "title", "tags", "confidence", "write_to", "allow_sensitive")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    WRITE_TO_FIELD_NUMBER: _ClassVar[int]
    ASYNC_FIELD_NUMBER: _ClassVar[int]
    ALLOW_SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    content: str
    category: str
    salience: float
    title: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    confidence: float
    write_to: WriteTo
    allow_sensitive: bool
    def __init__(self, content: _Optional[str] = ..., category: _Optional[str] = ..., salience: _Optional[float] = ..., title: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., confidence: _Optional[float] = ..., write_to: _Optional[_Union[WriteTo, str]] = ..., allow_sensitive: bool = ..., **kwargs) -> None: ...

class ConsolidateLogEntries(_message.Message):
    __slots__ = ("limit",)
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    def __init__(self, limit: _Optional[int] = ...) -> None: ...

class MemoryServiceConsolidateRequest(_message.Message):
    __slots__ = ("space", "text", "log_entries", "dry_run", "idempotency_key", "session_id", "reason")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LOG_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    space: str
    text: ConsolidateText
    log_entries: ConsolidateLogEntries
    dry_run: bool
    idempotency_key: str
    session_id: str
    reason: str
    def __init__(self, space: _Optional[str] = ..., text: _Optional[_Union[ConsolidateText, _Mapping]] = ..., log_entries: _Optional[_Union[ConsolidateLogEntries, _Mapping]] = ..., dry_run: bool = ..., idempotency_key: _Optional[str] = ..., session_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ConsolidatedItem(_message.Message):
    __slots__ = ("decision", "id", "reason", "decided_by", "fallback_reason", "pending", "content", "log_date", "entry_id", "operation_id")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_REASON_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    LOG_DATE_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    decision: _memory_pb2.Decision
    id: str
    reason: str
    decided_by: _memory_pb2.Decider
    fallback_reason: str
    pending: bool
    content: str
    log_date: str
    entry_id: str
    operation_id: str
    def __init__(self, decision: _Optional[_Union[_memory_pb2.Decision, str]] = ..., id: _Optional[str] = ..., reason: _Optional[str] = ..., decided_by: _Optional[_Union[_memory_pb2.Decider, str]] = ..., fallback_reason: _Optional[str] = ..., pending: bool = ..., content: _Optional[str] = ..., log_date: _Optional[str] = ..., entry_id: _Optional[str] = ..., operation_id: _Optional[str] = ...) -> None: ...

class MemoryServiceConsolidateResponse(_message.Message):
    __slots__ = ("result", "items", "changes", "omitted_items", "remaining_entries", "redacted")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    OMITTED_ITEMS_FIELD_NUMBER: _ClassVar[int]
    REMAINING_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    REDACTED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    items: _containers.RepeatedCompositeFieldContainer[ConsolidatedItem]
    changes: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Change]
    omitted_items: int
    remaining_entries: int
    redacted: int
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., items: _Optional[_Iterable[_Union[ConsolidatedItem, _Mapping]]] = ..., changes: _Optional[_Iterable[_Union[_operation_pb2.Change, _Mapping]]] = ..., omitted_items: _Optional[int] = ..., remaining_entries: _Optional[int] = ..., redacted: _Optional[int] = ...) -> None: ...

class MemoryServiceHistoryRequest(_message.Message):
    __slots__ = ("space", "id", "page_size", "page_token")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    page_size: int
    page_token: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class MemoryServiceHistoryResponse(_message.Message):
    __slots__ = ("operations", "next_page_token")
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    operations: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Operation]
    next_page_token: str
    def __init__(self, operations: _Optional[_Iterable[_Union[_operation_pb2.Operation, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class MemoryServiceGetSummaryRequest(_message.Message):
    __slots__ = ("space",)
    SPACE_FIELD_NUMBER: _ClassVar[int]
    space: str
    def __init__(self, space: _Optional[str] = ...) -> None: ...

class MemoryServiceGetSummaryResponse(_message.Message):
    __slots__ = ("summary", "revision")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    summary: str
    revision: int
    def __init__(self, summary: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class MemoryServiceSetSummaryRequest(_message.Message):
    __slots__ = ("space", "summary", "idempotency_key", "reason", "session_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    summary: str
    idempotency_key: str
    reason: str
    session_id: str
    def __init__(self, space: _Optional[str] = ..., summary: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class MemoryServiceSetSummaryResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class MemoryServiceRebuildSummaryRequest(_message.Message):
    __slots__ = ("space", "replace", "dry_run", "idempotency_key", "reason")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    REPLACE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    space: str
    replace: bool
    dry_run: bool
    idempotency_key: str
    reason: str
    def __init__(self, space: _Optional[str] = ..., replace: bool = ..., dry_run: bool = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class MemoryServiceRebuildSummaryResponse(_message.Message):
    __slots__ = ("result", "summary")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    summary: str
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., summary: _Optional[str] = ...) -> None: ...

class MemoryServiceStatsRequest(_message.Message):
    __slots__ = ("spaces", "page_size", "page_token")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class MemoryServiceStatsResponse(_message.Message):
    __slots__ = ("total", "active", "superseded", "retired", "by_category", "by_source", "average_salience", "accesses", "sessions", "days", "log_entries", "position", "latencies", "spaces", "journal_syncs", "journal_bytes", "next_page_token")
    class ByCategoryEntry(_message.Message):
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
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    RETIRED_FIELD_NUMBER: _ClassVar[int]
    BY_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    BY_SOURCE_FIELD_NUMBER: _ClassVar[int]
    AVERAGE_SALIENCE_FIELD_NUMBER: _ClassVar[int]
    ACCESSES_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    LOG_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    LATENCIES_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_SYNCS_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    total: int
    active: int
    superseded: int
    retired: int
    by_category: _containers.ScalarMap[str, int]
    by_source: _containers.ScalarMap[str, int]
    average_salience: float
    accesses: int
    sessions: int
    days: int
    log_entries: int
    position: str
    latencies: _containers.RepeatedCompositeFieldContainer[MethodLatency]
    spaces: _containers.RepeatedCompositeFieldContainer[SpaceStats]
    journal_syncs: int
    journal_bytes: int
    next_page_token: str
    def __init__(self, total: _Optional[int] = ..., active: _Optional[int] = ..., superseded: _Optional[int] = ..., retired: _Optional[int] = ..., by_category: _Optional[_Mapping[str, int]] = ..., by_source: _Optional[_Mapping[str, int]] = ..., average_salience: _Optional[float] = ..., accesses: _Optional[int] = ..., sessions: _Optional[int] = ..., days: _Optional[int] = ..., log_entries: _Optional[int] = ..., position: _Optional[str] = ..., latencies: _Optional[_Iterable[_Union[MethodLatency, _Mapping]]] = ..., spaces: _Optional[_Iterable[_Union[SpaceStats, _Mapping]]] = ..., journal_syncs: _Optional[int] = ..., journal_bytes: _Optional[int] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SpaceStats(_message.Message):
    __slots__ = ("name", "active", "total", "revision", "embedded", "embedding_pending", "embedding_refused")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    EMBEDDED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_PENDING_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_REFUSED_FIELD_NUMBER: _ClassVar[int]
    name: str
    active: int
    total: int
    revision: int
    embedded: int
    embedding_pending: int
    embedding_refused: int
    def __init__(self, name: _Optional[str] = ..., active: _Optional[int] = ..., total: _Optional[int] = ..., revision: _Optional[int] = ..., embedded: _Optional[int] = ..., embedding_pending: _Optional[int] = ..., embedding_refused: _Optional[int] = ...) -> None: ...

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
    def __init__(self, method: _Optional[str] = ..., count: _Optional[int] = ..., p50: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., p99: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...
