from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemoryStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_STATUS_UNSPECIFIED: _ClassVar[MemoryStatus]
    MEMORY_STATUS_ACTIVE: _ClassVar[MemoryStatus]
    MEMORY_STATUS_SUPERSEDED: _ClassVar[MemoryStatus]
    MEMORY_STATUS_RETIRED: _ClassVar[MemoryStatus]

class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_UNSPECIFIED: _ClassVar[Decision]
    DECISION_ADD: _ClassVar[Decision]
    DECISION_UPDATE: _ClassVar[Decision]
    DECISION_DELETE: _ClassVar[Decision]
    DECISION_NOOP: _ClassVar[Decision]

class Decider(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECIDER_UNSPECIFIED: _ClassVar[Decider]
    DECIDER_RULES: _ClassVar[Decider]
    DECIDER_MODEL: _ClassVar[Decider]
MEMORY_STATUS_UNSPECIFIED: MemoryStatus
MEMORY_STATUS_ACTIVE: MemoryStatus
MEMORY_STATUS_SUPERSEDED: MemoryStatus
MEMORY_STATUS_RETIRED: MemoryStatus
DECISION_UNSPECIFIED: Decision
DECISION_ADD: Decision
DECISION_UPDATE: Decision
DECISION_DELETE: Decision
DECISION_NOOP: Decision
DECIDER_UNSPECIFIED: Decider
DECIDER_RULES: Decider
DECIDER_MODEL: Decider

class Memory(_message.Message):
    __slots__ = ("id", "category", "content", "salience", "created_at", "last_accessed", "access_count", "source", "context", "updated_at", "revision", "tags", "title", "pinned", "confidence", "expires_at", "status", "supersedes", "superseded_by", "relations", "evidence", "structured_data", "description", "content_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_ACCESSED_FIELD_NUMBER: _ClassVar[int]
    ACCESS_COUNT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_DATA_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    category: str
    content: str
    salience: float
    created_at: _timestamp_pb2.Timestamp
    last_accessed: _timestamp_pb2.Timestamp
    access_count: int
    source: str
    context: MemoryContext
    updated_at: _timestamp_pb2.Timestamp
    revision: int
    tags: _containers.RepeatedScalarFieldContainer[str]
    title: str
    pinned: bool
    confidence: float
    expires_at: _timestamp_pb2.Timestamp
    status: MemoryStatus
    supersedes: _containers.RepeatedScalarFieldContainer[str]
    superseded_by: str
    relations: _containers.RepeatedCompositeFieldContainer[Relation]
    evidence: _containers.RepeatedCompositeFieldContainer[Evidence]
    structured_data: _struct_pb2.Struct
    description: str
    content_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., category: _Optional[str] = ..., content: _Optional[str] = ..., salience: _Optional[float] = ..., created_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_accessed: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., access_count: _Optional[int] = ..., source: _Optional[str] = ..., context: _Optional[_Union[MemoryContext, _Mapping]] = ..., updated_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., revision: _Optional[int] = ..., tags: _Optional[_Iterable[str]] = ..., title: _Optional[str] = ..., pinned: bool = ..., confidence: _Optional[float] = ..., expires_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., status: _Optional[_Union[MemoryStatus, str]] = ..., supersedes: _Optional[_Iterable[str]] = ..., superseded_by: _Optional[str] = ..., relations: _Optional[_Iterable[_Union[Relation, _Mapping]]] = ..., evidence: _Optional[_Iterable[_Union[Evidence, _Mapping]]] = ..., structured_data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., description: _Optional[str] = ..., content_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MemoryContext(_message.Message):
    __slots__ = ("tool", "error_type", "learned_from", "signature", "occurrences")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ERROR_TYPE_FIELD_NUMBER: _ClassVar[int]
    LEARNED_FROM_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    OCCURRENCES_FIELD_NUMBER: _ClassVar[int]
    tool: str
    error_type: str
    learned_from: str
    signature: str
    occurrences: int
    def __init__(self, tool: _Optional[str] = ..., error_type: _Optional[str] = ..., learned_from: _Optional[str] = ..., signature: _Optional[str] = ..., occurrences: _Optional[int] = ...) -> None: ...

class Relation(_message.Message):
    __slots__ = ("type", "target_id", "strength")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    STRENGTH_FIELD_NUMBER: _ClassVar[int]
    type: str
    target_id: str
    strength: float
    def __init__(self, type: _Optional[str] = ..., target_id: _Optional[str] = ..., strength: _Optional[float] = ...) -> None: ...

class Evidence(_message.Message):
    __slots__ = ("log_date", "entry_id", "session_id")
    LOG_DATE_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    log_date: str
    entry_id: str
    session_id: str
    def __init__(self, log_date: _Optional[str] = ..., entry_id: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class MemoryFilter(_message.Message):
    __slots__ = ("categories", "tags", "sources", "statuses", "min_salience", "pinned", "created_from", "created_before", "updated_from", "updated_before", "session_ids")
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    MIN_SALIENCE_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    CREATED_FROM_FIELD_NUMBER: _ClassVar[int]
    CREATED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FROM_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    SESSION_IDS_FIELD_NUMBER: _ClassVar[int]
    categories: _containers.RepeatedScalarFieldContainer[str]
    tags: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedScalarFieldContainer[str]
    statuses: _containers.RepeatedScalarFieldContainer[MemoryStatus]
    min_salience: float
    pinned: bool
    created_from: _timestamp_pb2.Timestamp
    created_before: _timestamp_pb2.Timestamp
    updated_from: _timestamp_pb2.Timestamp
    updated_before: _timestamp_pb2.Timestamp
    session_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, categories: _Optional[_Iterable[str]] = ..., tags: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[str]] = ..., statuses: _Optional[_Iterable[_Union[MemoryStatus, str]]] = ..., min_salience: _Optional[float] = ..., pinned: bool = ..., created_from: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., created_before: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., updated_from: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., updated_before: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., session_ids: _Optional[_Iterable[str]] = ...) -> None: ...
