import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import log_pb2 as _log_pb2
from memsidecar.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RankingProfile(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RANKING_PROFILE_UNSPECIFIED: _ClassVar[RankingProfile]
    RANKING_PROFILE_BALANCED: _ClassVar[RankingProfile]
    RANKING_PROFILE_PRODUCT: _ClassVar[RankingProfile]
    RANKING_PROFILE_WEIGHTED: _ClassVar[RankingProfile]
    RANKING_PROFILE_OVERLAP: _ClassVar[RankingProfile]
    RANKING_PROFILE_RECENT: _ClassVar[RankingProfile]

class SearchArm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_ARM_UNSPECIFIED: _ClassVar[SearchArm]
    SEARCH_ARM_KEYWORD: _ClassVar[SearchArm]
    SEARCH_ARM_FUSION: _ClassVar[SearchArm]
    SEARCH_ARM_VECTOR: _ClassVar[SearchArm]
RANKING_PROFILE_UNSPECIFIED: RankingProfile
RANKING_PROFILE_BALANCED: RankingProfile
RANKING_PROFILE_PRODUCT: RankingProfile
RANKING_PROFILE_WEIGHTED: RankingProfile
RANKING_PROFILE_OVERLAP: RankingProfile
RANKING_PROFILE_RECENT: RankingProfile
SEARCH_ARM_UNSPECIFIED: SearchArm
SEARCH_ARM_KEYWORD: SearchArm
SEARCH_ARM_FUSION: SearchArm
SEARCH_ARM_VECTOR: SearchArm

class SearchFilter(_message.Message):
    __slots__ = ("categories", "tags", "sources", "statuses", "min_salience", "pinned", "created_from", "created_before", "sessions", "updated_from", "updated_before")
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    MIN_SALIENCE_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    CREATED_FROM_FIELD_NUMBER: _ClassVar[int]
    CREATED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FROM_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    categories: _containers.RepeatedScalarFieldContainer[str]
    tags: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedScalarFieldContainer[str]
    statuses: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryStatus]
    min_salience: float
    pinned: bool
    created_from: _timestamp_pb2.Timestamp
    created_before: _timestamp_pb2.Timestamp
    sessions: _containers.RepeatedScalarFieldContainer[str]
    updated_from: _timestamp_pb2.Timestamp
    updated_before: _timestamp_pb2.Timestamp
    def __init__(self, categories: _Optional[_Iterable[str]] = ..., tags: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[str]] = ..., statuses: _Optional[_Iterable[_Union[_memory_pb2.MemoryStatus, str]]] = ..., min_salience: _Optional[float] = ..., pinned: _Optional[bool] = ..., created_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sessions: _Optional[_Iterable[str]] = ..., updated_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SearchServiceSearchRequest(_message.Message):
    __slots__ = ("spaces", "query", "k", "profile", "filter", "as_of", "explain", "use_decay", "min_score", "touch", "arm", "include_logs")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    USE_DECAY_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    TOUCH_FIELD_NUMBER: _ClassVar[int]
    ARM_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_LOGS_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    query: str
    k: int
    profile: RankingProfile
    filter: SearchFilter
    as_of: _timestamp_pb2.Timestamp
    explain: bool
    use_decay: bool
    min_score: float
    touch: bool
    arm: SearchArm
    include_logs: bool
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., query: _Optional[str] = ..., k: _Optional[int] = ..., profile: _Optional[_Union[RankingProfile, str]] = ..., filter: _Optional[_Union[SearchFilter, _Mapping]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., explain: _Optional[bool] = ..., use_decay: _Optional[bool] = ..., min_score: _Optional[float] = ..., touch: _Optional[bool] = ..., arm: _Optional[_Union[SearchArm, str]] = ..., include_logs: _Optional[bool] = ...) -> None: ...

class SearchHit(_message.Message):
    __slots__ = ("memory", "space", "score", "components", "log")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    COMPONENTS_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    space: str
    score: float
    components: _containers.RepeatedCompositeFieldContainer[ScoreComponent]
    log: LogMatch
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., space: _Optional[str] = ..., score: _Optional[float] = ..., components: _Optional[_Iterable[_Union[ScoreComponent, _Mapping]]] = ..., log: _Optional[_Union[LogMatch, _Mapping]] = ...) -> None: ...

class LogMatch(_message.Message):
    __slots__ = ("date", "entry", "summary", "deleted")
    DATE_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    date: str
    entry: _log_pb2.LogEntry
    summary: str
    deleted: bool
    def __init__(self, date: _Optional[str] = ..., entry: _Optional[_Union[_log_pb2.LogEntry, _Mapping]] = ..., summary: _Optional[str] = ..., deleted: _Optional[bool] = ...) -> None: ...

class ScoreComponent(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class SearchServiceSearchResponse(_message.Message):
    __slots__ = ("hits", "candidates", "abstained", "reason", "meant", "logs_from")
    HITS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    ABSTAINED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MEANT_FIELD_NUMBER: _ClassVar[int]
    LOGS_FROM_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SearchHit]
    candidates: int
    abstained: bool
    reason: str
    meant: bool
    logs_from: str
    def __init__(self, hits: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ..., candidates: _Optional[int] = ..., abstained: _Optional[bool] = ..., reason: _Optional[str] = ..., meant: _Optional[bool] = ..., logs_from: _Optional[str] = ...) -> None: ...

class SearchServiceSimilarRequest(_message.Message):
    __slots__ = ("space", "id", "content", "k", "min_similarity", "categories")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    MIN_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    content: str
    k: int
    min_similarity: float
    categories: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., content: _Optional[str] = ..., k: _Optional[int] = ..., min_similarity: _Optional[float] = ..., categories: _Optional[_Iterable[str]] = ...) -> None: ...

class SearchServiceSimilarResponse(_message.Message):
    __slots__ = ("hits",)
    HITS_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SearchHit]
    def __init__(self, hits: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ...) -> None: ...

class SearchServiceRecallRequest(_message.Message):
    __slots__ = ("spaces", "text", "session_id", "max_tokens", "max_items", "explicit", "working_tools", "files_read", "project_directory")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    EXPLICIT_FIELD_NUMBER: _ClassVar[int]
    WORKING_TOOLS_FIELD_NUMBER: _ClassVar[int]
    FILES_READ_FIELD_NUMBER: _ClassVar[int]
    PROJECT_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    text: str
    session_id: str
    max_tokens: int
    max_items: int
    explicit: bool
    working_tools: _containers.RepeatedScalarFieldContainer[str]
    files_read: _containers.RepeatedScalarFieldContainer[str]
    project_directory: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., text: _Optional[str] = ..., session_id: _Optional[str] = ..., max_tokens: _Optional[int] = ..., max_items: _Optional[int] = ..., explicit: _Optional[bool] = ..., working_tools: _Optional[_Iterable[str]] = ..., files_read: _Optional[_Iterable[str]] = ..., project_directory: _Optional[str] = ...) -> None: ...

class RecalledMemory(_message.Message):
    __slots__ = ("memory", "space", "score", "tool", "text", "clipped", "age", "caveat", "selected")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CLIPPED_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    CAVEAT_FIELD_NUMBER: _ClassVar[int]
    SELECTED_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    space: str
    score: float
    tool: str
    text: str
    clipped: bool
    age: str
    caveat: str
    selected: bool
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., space: _Optional[str] = ..., score: _Optional[float] = ..., tool: _Optional[str] = ..., text: _Optional[str] = ..., clipped: _Optional[bool] = ..., age: _Optional[str] = ..., caveat: _Optional[str] = ..., selected: _Optional[bool] = ...) -> None: ...

class SearchServiceRecallResponse(_message.Message):
    __slots__ = ("items", "block", "tokens", "language", "reason")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[RecalledMemory]
    block: str
    tokens: int
    language: str
    reason: str
    def __init__(self, items: _Optional[_Iterable[_Union[RecalledMemory, _Mapping]]] = ..., block: _Optional[str] = ..., tokens: _Optional[int] = ..., language: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SearchServiceListRecallsRequest(_message.Message):
    __slots__ = ("session_id", "memory_id", "max_results")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULTS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    memory_id: str
    max_results: int
    def __init__(self, session_id: _Optional[str] = ..., memory_id: _Optional[str] = ..., max_results: _Optional[int] = ...) -> None: ...

class RecallTrace(_message.Message):
    __slots__ = ("at", "session_id", "query", "explicit", "memories")
    AT_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    EXPLICIT_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    at: _timestamp_pb2.Timestamp
    session_id: str
    query: str
    explicit: bool
    memories: _containers.RepeatedCompositeFieldContainer[TracedMemory]
    def __init__(self, at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., session_id: _Optional[str] = ..., query: _Optional[str] = ..., explicit: _Optional[bool] = ..., memories: _Optional[_Iterable[_Union[TracedMemory, _Mapping]]] = ...) -> None: ...

class TracedMemory(_message.Message):
    __slots__ = ("space", "id", "score")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    score: float
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class SearchServiceListRecallsResponse(_message.Message):
    __slots__ = ("recalls",)
    RECALLS_FIELD_NUMBER: _ClassVar[int]
    recalls: _containers.RepeatedCompositeFieldContainer[RecallTrace]
    def __init__(self, recalls: _Optional[_Iterable[_Union[RecallTrace, _Mapping]]] = ...) -> None: ...
