from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import log_pb2 as _log_pb2
from memsidecar.v1 import memory_pb2 as _memory_pb2
from memsidecar.v1 import session_pb2 as _session_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

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

class HitStrength(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HIT_STRENGTH_UNSPECIFIED: _ClassVar[HitStrength]
    HIT_STRENGTH_WEAK: _ClassVar[HitStrength]
    HIT_STRENGTH_FAIR: _ClassVar[HitStrength]
    HIT_STRENGTH_STRONG: _ClassVar[HitStrength]

class Language(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LANGUAGE_UNSPECIFIED: _ClassVar[Language]
    LANGUAGE_EN: _ClassVar[Language]
    LANGUAGE_ZH: _ClassVar[Language]
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
HIT_STRENGTH_UNSPECIFIED: HitStrength
HIT_STRENGTH_WEAK: HitStrength
HIT_STRENGTH_FAIR: HitStrength
HIT_STRENGTH_STRONG: HitStrength
LANGUAGE_UNSPECIFIED: Language
LANGUAGE_EN: Language
LANGUAGE_ZH: Language

class SearchServiceSearchRequest(_message.Message):
    __slots__ = ("spaces", "query", "limit", "profile", "filter", "as_of", "explain", "ignore_access_age", "min_score", "no_touch", "arm", "include_logs", "wait_indexed", "session_id")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    IGNORE_ACCESS_AGE_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    NO_TOUCH_FIELD_NUMBER: _ClassVar[int]
    ARM_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_LOGS_FIELD_NUMBER: _ClassVar[int]
    WAIT_INDEXED_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    query: str
    limit: int
    profile: RankingProfile
    filter: _memory_pb2.MemoryFilter
    as_of: _timestamp_pb2.Timestamp
    explain: bool
    ignore_access_age: bool
    min_score: float
    no_touch: bool
    arm: SearchArm
    include_logs: bool
    wait_indexed: bool
    session_id: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., query: _Optional[str] = ..., limit: _Optional[int] = ..., profile: _Optional[_Union[RankingProfile, str]] = ..., filter: _Optional[_Union[_memory_pb2.MemoryFilter, _Mapping]] = ..., as_of: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., explain: bool = ..., ignore_access_age: bool = ..., min_score: _Optional[float] = ..., no_touch: bool = ..., arm: _Optional[_Union[SearchArm, str]] = ..., include_logs: bool = ..., wait_indexed: bool = ..., session_id: _Optional[str] = ...) -> None: ...

class SearchHit(_message.Message):
    __slots__ = ("memory", "space", "score", "components", "log", "strength")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    COMPONENTS_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    STRENGTH_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    space: str
    score: float
    components: _containers.RepeatedCompositeFieldContainer[ScoreComponent]
    log: LogMatch
    strength: HitStrength
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., space: _Optional[str] = ..., score: _Optional[float] = ..., components: _Optional[_Iterable[_Union[ScoreComponent, _Mapping]]] = ..., log: _Optional[_Union[LogMatch, _Mapping]] = ..., strength: _Optional[_Union[HitStrength, str]] = ...) -> None: ...

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
    def __init__(self, date: _Optional[str] = ..., entry: _Optional[_Union[_log_pb2.LogEntry, _Mapping]] = ..., summary: _Optional[str] = ..., deleted: bool = ...) -> None: ...

class ScoreComponent(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class SearchServiceSearchResponse(_message.Message):
    __slots__ = ("hits", "candidates", "abstained", "reason", "vectors_used", "logs_start_date", "omitted_hits")
    HITS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    ABSTAINED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    VECTORS_USED_FIELD_NUMBER: _ClassVar[int]
    LOGS_START_DATE_FIELD_NUMBER: _ClassVar[int]
    OMITTED_HITS_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SearchHit]
    candidates: int
    abstained: bool
    reason: str
    vectors_used: bool
    logs_start_date: str
    omitted_hits: int
    def __init__(self, hits: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ..., candidates: _Optional[int] = ..., abstained: bool = ..., reason: _Optional[str] = ..., vectors_used: bool = ..., logs_start_date: _Optional[str] = ..., omitted_hits: _Optional[int] = ...) -> None: ...

class SearchServiceSimilarRequest(_message.Message):
    __slots__ = ("space", "id", "content", "limit", "min_similarity", "filter")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MIN_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    content: str
    limit: int
    min_similarity: float
    filter: _memory_pb2.MemoryFilter
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., content: _Optional[str] = ..., limit: _Optional[int] = ..., min_similarity: _Optional[float] = ..., filter: _Optional[_Union[_memory_pb2.MemoryFilter, _Mapping]] = ...) -> None: ...

class SearchServiceSimilarResponse(_message.Message):
    __slots__ = ("hits", "omitted_hits")
    HITS_FIELD_NUMBER: _ClassVar[int]
    OMITTED_HITS_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SearchHit]
    omitted_hits: int
    def __init__(self, hits: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ..., omitted_hits: _Optional[int] = ...) -> None: ...

class SearchServiceRecallRequest(_message.Message):
    __slots__ = ("spaces", "text", "session_id", "token_budget", "limit", "explicit", "working_tools", "files_read", "project_directory", "failed_tool")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    EXPLICIT_FIELD_NUMBER: _ClassVar[int]
    WORKING_TOOLS_FIELD_NUMBER: _ClassVar[int]
    FILES_READ_FIELD_NUMBER: _ClassVar[int]
    PROJECT_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    FAILED_TOOL_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    text: str
    session_id: str
    token_budget: int
    limit: int
    explicit: bool
    working_tools: _containers.RepeatedScalarFieldContainer[str]
    files_read: _containers.RepeatedScalarFieldContainer[str]
    project_directory: str
    failed_tool: _session_pb2.ToolCall
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., text: _Optional[str] = ..., session_id: _Optional[str] = ..., token_budget: _Optional[int] = ..., limit: _Optional[int] = ..., explicit: bool = ..., working_tools: _Optional[_Iterable[str]] = ..., files_read: _Optional[_Iterable[str]] = ..., project_directory: _Optional[str] = ..., failed_tool: _Optional[_Union[_session_pb2.ToolCall, _Mapping]] = ...) -> None: ...

class RecalledMemory(_message.Message):
    __slots__ = ("memory", "space", "score", "tool", "text", "truncated", "age", "caveat", "selected_by_model", "strength")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    CAVEAT_FIELD_NUMBER: _ClassVar[int]
    SELECTED_BY_MODEL_FIELD_NUMBER: _ClassVar[int]
    STRENGTH_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    space: str
    score: float
    tool: str
    text: str
    truncated: bool
    age: str
    caveat: str
    selected_by_model: bool
    strength: HitStrength
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., space: _Optional[str] = ..., score: _Optional[float] = ..., tool: _Optional[str] = ..., text: _Optional[str] = ..., truncated: bool = ..., age: _Optional[str] = ..., caveat: _Optional[str] = ..., selected_by_model: bool = ..., strength: _Optional[_Union[HitStrength, str]] = ...) -> None: ...

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
    language: Language
    reason: str
    def __init__(self, items: _Optional[_Iterable[_Union[RecalledMemory, _Mapping]]] = ..., block: _Optional[str] = ..., tokens: _Optional[int] = ..., language: _Optional[_Union[Language, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class SearchServiceListRecallsRequest(_message.Message):
    __slots__ = ("session_id", "memory_id", "page_size", "page_token")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    memory_id: str
    page_size: int
    page_token: str
    def __init__(self, session_id: _Optional[str] = ..., memory_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

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
    def __init__(self, at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., session_id: _Optional[str] = ..., query: _Optional[str] = ..., explicit: bool = ..., memories: _Optional[_Iterable[_Union[TracedMemory, _Mapping]]] = ...) -> None: ...

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
    __slots__ = ("recalls", "next_page_token")
    RECALLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    recalls: _containers.RepeatedCompositeFieldContainer[RecallTrace]
    next_page_token: str
    def __init__(self, recalls: _Optional[_Iterable[_Union[RecallTrace, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SearchServiceHintRequest(_message.Message):
    __slots__ = ("tool", "arguments", "session_id", "spaces")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments: str
    session_id: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tool: _Optional[str] = ..., arguments: _Optional[str] = ..., session_id: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ...) -> None: ...

class SearchServiceHintResponse(_message.Message):
    __slots__ = ("rules", "block", "tokens", "reason")
    RULES_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[RecalledMemory]
    block: str
    tokens: int
    reason: str
    def __init__(self, rules: _Optional[_Iterable[_Union[RecalledMemory, _Mapping]]] = ..., block: _Optional[str] = ..., tokens: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class SearchServiceHotRequest(_message.Message):
    __slots__ = ("space", "page_size", "page_token")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    space: str
    page_size: int
    page_token: str
    def __init__(self, space: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class SearchServiceHotResponse(_message.Message):
    __slots__ = ("memories", "next_page_token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    next_page_token: str
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
