from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import memory_pb2 as _memory_pb2
from memsidecar.v1 import operation_pb2 as _operation_pb2
from memsidecar.v1 import search_service_pb2 as _search_service_pb2
from memsidecar.v1 import session_pb2 as _session_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ContextForm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTEXT_FORM_UNSPECIFIED: _ClassVar[ContextForm]
    CONTEXT_FORM_GROUPED: _ClassVar[ContextForm]
    CONTEXT_FORM_INDEX: _ClassVar[ContextForm]
CONTEXT_FORM_UNSPECIFIED: ContextForm
CONTEXT_FORM_GROUPED: ContextForm
CONTEXT_FORM_INDEX: ContextForm

class SessionServiceStartRequest(_message.Message):
    __slots__ = ("space", "session_id", "host", "cwd", "idempotency_key", "host_pid", "host_started_at", "project_space", "context", "first_message")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    HOST_PID_FIELD_NUMBER: _ClassVar[int]
    HOST_STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_SPACE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    FIRST_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    host: str
    cwd: str
    idempotency_key: str
    host_pid: int
    host_started_at: _timestamp_pb2.Timestamp
    project_space: bool
    context: ContextOptions
    first_message: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., host: _Optional[str] = ..., cwd: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., host_pid: _Optional[int] = ..., host_started_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., project_space: bool = ..., context: _Optional[_Union[ContextOptions, _Mapping]] = ..., first_message: _Optional[str] = ...) -> None: ...

class ContextOptions(_message.Message):
    __slots__ = ("form", "token_budget", "language", "instructions", "bootstrap", "tools")
    FORM_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAP_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    form: ContextForm
    token_budget: int
    language: _search_service_pb2.Language
    instructions: bool
    bootstrap: bool
    tools: str
    def __init__(self, form: _Optional[_Union[ContextForm, str]] = ..., token_budget: _Optional[int] = ..., language: _Optional[_Union[_search_service_pb2.Language, str]] = ..., instructions: bool = ..., bootstrap: bool = ..., tools: _Optional[str] = ...) -> None: ...

class SessionServiceStartResponse(_message.Message):
    __slots__ = ("result", "session", "space", "context", "context_repeated", "recall", "working_block")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_REPEATED_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    WORKING_BLOCK_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    session: _session_pb2.Session
    space: str
    context: str
    context_repeated: bool
    recall: _search_service_pb2.SearchServiceRecallResponse
    working_block: str
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., space: _Optional[str] = ..., context: _Optional[str] = ..., context_repeated: bool = ..., recall: _Optional[_Union[_search_service_pb2.SearchServiceRecallResponse, _Mapping]] = ..., working_block: _Optional[str] = ...) -> None: ...

class SessionServiceAppendRequest(_message.Message):
    __slots__ = ("space", "session_id", "messages", "context_summary", "idempotency_key")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    messages: _containers.RepeatedCompositeFieldContainer[_session_pb2.SessionMessage]
    context_summary: str
    idempotency_key: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_session_pb2.SessionMessage, _Mapping]]] = ..., context_summary: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class SessionServiceAppendResponse(_message.Message):
    __slots__ = ("result", "next_seq", "redacted")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    NEXT_SEQ_FIELD_NUMBER: _ClassVar[int]
    REDACTED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    next_seq: int
    redacted: int
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., next_seq: _Optional[int] = ..., redacted: _Optional[int] = ...) -> None: ...

class SessionServiceGetWorkingMemoryRequest(_message.Message):
    __slots__ = ("space", "session_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class SessionServiceGetWorkingMemoryResponse(_message.Message):
    __slots__ = ("working", "block")
    WORKING_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    working: _session_pb2.WorkingMemory
    block: str
    def __init__(self, working: _Optional[_Union[_session_pb2.WorkingMemory, _Mapping]] = ..., block: _Optional[str] = ...) -> None: ...

class SessionServiceUpdateWorkingMemoryRequest(_message.Message):
    __slots__ = ("space", "session_id", "run_directory", "summary", "compacted", "files_read", "tools_used", "idempotency_key")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_FIELD_NUMBER: _ClassVar[int]
    FILES_READ_FIELD_NUMBER: _ClassVar[int]
    TOOLS_USED_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    run_directory: str
    summary: str
    compacted: bool
    files_read: _containers.RepeatedScalarFieldContainer[str]
    tools_used: _containers.RepeatedScalarFieldContainer[str]
    idempotency_key: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., run_directory: _Optional[str] = ..., summary: _Optional[str] = ..., compacted: bool = ..., files_read: _Optional[_Iterable[str]] = ..., tools_used: _Optional[_Iterable[str]] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class SessionServiceUpdateWorkingMemoryResponse(_message.Message):
    __slots__ = ("result", "working")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    WORKING_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    working: _session_pb2.WorkingMemory
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., working: _Optional[_Union[_session_pb2.WorkingMemory, _Mapping]] = ...) -> None: ...

class SessionServiceResolvePathRequest(_message.Message):
    __slots__ = ("space", "session_id", "path", "allow_outside")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ALLOW_OUTSIDE_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    path: str
    allow_outside: bool
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., path: _Optional[str] = ..., allow_outside: bool = ...) -> None: ...

class SessionServiceResolvePathResponse(_message.Message):
    __slots__ = ("path", "relative_path", "outside")
    PATH_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_PATH_FIELD_NUMBER: _ClassVar[int]
    OUTSIDE_FIELD_NUMBER: _ClassVar[int]
    path: str
    relative_path: str
    outside: bool
    def __init__(self, path: _Optional[str] = ..., relative_path: _Optional[str] = ..., outside: bool = ...) -> None: ...

class SessionServiceReflectRequest(_message.Message):
    __slots__ = ("space", "session_id", "messages", "dry_run", "idempotency_key", "host", "cwd")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    ASYNC_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    messages: _containers.RepeatedCompositeFieldContainer[_session_pb2.SessionMessage]
    dry_run: bool
    idempotency_key: str
    host: str
    cwd: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_session_pb2.SessionMessage, _Mapping]]] = ..., dry_run: bool = ..., idempotency_key: _Optional[str] = ..., host: _Optional[str] = ..., cwd: _Optional[str] = ..., **kwargs) -> None: ...

class ReflectedItem(_message.Message):
    __slots__ = ("decision", "memory", "target_id", "outcome", "rule")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    decision: _memory_pb2.Decision
    memory: _memory_pb2.Memory
    target_id: str
    outcome: _write_pb2.Outcome
    rule: str
    def __init__(self, decision: _Optional[_Union[_memory_pb2.Decision, str]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., target_id: _Optional[str] = ..., outcome: _Optional[_Union[_write_pb2.Outcome, _Mapping]] = ..., rule: _Optional[str] = ...) -> None: ...

class SessionServiceReflectResponse(_message.Message):
    __slots__ = ("result", "items", "summary", "pending", "session", "decided_by", "fallback_reason", "changes", "omitted_items", "omitted_changes")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_REASON_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    OMITTED_ITEMS_FIELD_NUMBER: _ClassVar[int]
    OMITTED_CHANGES_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    items: _containers.RepeatedCompositeFieldContainer[ReflectedItem]
    summary: str
    pending: bool
    session: _session_pb2.Session
    decided_by: _memory_pb2.Decider
    fallback_reason: str
    changes: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Change]
    omitted_items: int
    omitted_changes: int
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., items: _Optional[_Iterable[_Union[ReflectedItem, _Mapping]]] = ..., summary: _Optional[str] = ..., pending: bool = ..., session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., decided_by: _Optional[_Union[_memory_pb2.Decider, str]] = ..., fallback_reason: _Optional[str] = ..., changes: _Optional[_Iterable[_Union[_operation_pb2.Change, _Mapping]]] = ..., omitted_items: _Optional[int] = ..., omitted_changes: _Optional[int] = ...) -> None: ...

class SessionServiceEndRequest(_message.Message):
    __slots__ = ("space", "session_id", "end_reason", "idempotency_key")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    END_REASON_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    end_reason: str
    idempotency_key: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., end_reason: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class SessionServiceEndResponse(_message.Message):
    __slots__ = ("result", "session")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    session: _session_pb2.Session
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ...) -> None: ...

class SessionServiceGetRequest(_message.Message):
    __slots__ = ("space", "session_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class SessionServiceGetResponse(_message.Message):
    __slots__ = ("session", "context_summary")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    context_summary: str
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., context_summary: _Optional[str] = ...) -> None: ...

class SessionServiceListRequest(_message.Message):
    __slots__ = ("space", "states", "page_size", "page_token", "short_ids")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SHORT_IDS_FIELD_NUMBER: _ClassVar[int]
    space: str
    states: _containers.RepeatedScalarFieldContainer[_session_pb2.SessionState]
    page_size: int
    page_token: str
    short_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, space: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_session_pb2.SessionState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., short_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class SessionServiceListResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[_session_pb2.Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[_session_pb2.Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SessionServiceListMessagesRequest(_message.Message):
    __slots__ = ("space", "session_id", "first_seq", "page_size", "page_token")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQ_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    first_seq: int
    page_size: int
    page_token: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., first_seq: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class SessionServiceListMessagesResponse(_message.Message):
    __slots__ = ("messages", "next_page_token")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_session_pb2.SessionMessage]
    next_page_token: str
    def __init__(self, messages: _Optional[_Iterable[_Union[_session_pb2.SessionMessage, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SkillStep(_message.Message):
    __slots__ = ("tool", "arguments", "note")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments: str
    note: str
    def __init__(self, tool: _Optional[str] = ..., arguments: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class SessionServiceRecordSkillRequest(_message.Message):
    __slots__ = ("space", "name", "when", "steps", "session_id", "idempotency_key", "reason")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    WHEN_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    space: str
    name: str
    when: str
    steps: _containers.RepeatedCompositeFieldContainer[SkillStep]
    session_id: str
    idempotency_key: str
    reason: str
    def __init__(self, space: _Optional[str] = ..., name: _Optional[str] = ..., when: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[SkillStep, _Mapping]]] = ..., session_id: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SessionServiceRecordSkillResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...
