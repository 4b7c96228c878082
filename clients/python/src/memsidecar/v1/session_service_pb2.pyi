import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import memory_pb2 as _memory_pb2
from memsidecar.v1 import memory_service_pb2 as _memory_service_pb2
from memsidecar.v1 import operation_pb2 as _operation_pb2
from memsidecar.v1 import search_service_pb2 as _search_service_pb2
from memsidecar.v1 import session_pb2 as _session_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

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
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., host: _Optional[str] = ..., cwd: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., host_pid: _Optional[int] = ..., host_started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., project_space: _Optional[bool] = ..., context: _Optional[_Union[ContextOptions, _Mapping]] = ..., first_message: _Optional[str] = ...) -> None: ...

class ContextOptions(_message.Message):
    __slots__ = ("form", "max_tokens", "language", "instructions", "bootstrap")
    FORM_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAP_FIELD_NUMBER: _ClassVar[int]
    form: ContextForm
    max_tokens: int
    language: str
    instructions: bool
    bootstrap: bool
    def __init__(self, form: _Optional[_Union[ContextForm, str]] = ..., max_tokens: _Optional[int] = ..., language: _Optional[str] = ..., instructions: _Optional[bool] = ..., bootstrap: _Optional[bool] = ...) -> None: ...

class SessionServiceStartResponse(_message.Message):
    __slots__ = ("session", "space", "context", "context_repeated", "recall", "working")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_REPEATED_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    WORKING_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    space: str
    context: str
    context_repeated: bool
    recall: _search_service_pb2.SearchServiceRecallResponse
    working: str
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., space: _Optional[str] = ..., context: _Optional[str] = ..., context_repeated: _Optional[bool] = ..., recall: _Optional[_Union[_search_service_pb2.SearchServiceRecallResponse, _Mapping]] = ..., working: _Optional[str] = ...) -> None: ...

class SessionServiceAppendRequest(_message.Message):
    __slots__ = ("space", "session_id", "messages", "context_summary")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    messages: _containers.RepeatedCompositeFieldContainer[_session_pb2.SessionMessage]
    context_summary: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_session_pb2.SessionMessage, _Mapping]]] = ..., context_summary: _Optional[str] = ...) -> None: ...

class SessionServiceAppendResponse(_message.Message):
    __slots__ = ("result", "next_seq", "redacted")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    NEXT_SEQ_FIELD_NUMBER: _ClassVar[int]
    REDACTED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    next_seq: int
    redacted: int
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., next_seq: _Optional[int] = ..., redacted: _Optional[int] = ...) -> None: ...

class SessionServiceReflectRequest(_message.Message):
    __slots__ = ("space", "session_id", "messages", "wait", "dry_run", "idempotency_key", "host", "cwd")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    messages: _containers.RepeatedCompositeFieldContainer[_session_pb2.SessionMessage]
    wait: bool
    dry_run: bool
    idempotency_key: str
    host: str
    cwd: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_session_pb2.SessionMessage, _Mapping]]] = ..., wait: _Optional[bool] = ..., dry_run: _Optional[bool] = ..., idempotency_key: _Optional[str] = ..., host: _Optional[str] = ..., cwd: _Optional[str] = ...) -> None: ...

class ReflectedItem(_message.Message):
    __slots__ = ("decision", "memory", "target_id", "outcome", "rule")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    decision: _memory_service_pb2.Decision
    memory: _memory_pb2.Memory
    target_id: str
    outcome: _write_pb2.Outcome
    rule: str
    def __init__(self, decision: _Optional[_Union[_memory_service_pb2.Decision, str]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., target_id: _Optional[str] = ..., outcome: _Optional[_Union[_write_pb2.Outcome, _Mapping]] = ..., rule: _Optional[str] = ...) -> None: ...

class SessionServiceReflectResponse(_message.Message):
    __slots__ = ("result", "items", "summary", "pending", "session", "decided_by", "note", "changes")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    items: _containers.RepeatedCompositeFieldContainer[ReflectedItem]
    summary: str
    pending: bool
    session: _session_pb2.Session
    decided_by: str
    note: str
    changes: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Change]
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., items: _Optional[_Iterable[_Union[ReflectedItem, _Mapping]]] = ..., summary: _Optional[str] = ..., pending: _Optional[bool] = ..., session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., decided_by: _Optional[str] = ..., note: _Optional[str] = ..., changes: _Optional[_Iterable[_Union[_operation_pb2.Change, _Mapping]]] = ...) -> None: ...

class SessionServiceEndRequest(_message.Message):
    __slots__ = ("space", "session_id", "reason")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    reason: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SessionServiceEndResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ...) -> None: ...

class SessionServiceGetRequest(_message.Message):
    __slots__ = ("space", "session_id", "include_messages", "from_seq", "max_messages")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    include_messages: bool
    from_seq: int
    max_messages: int
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., include_messages: _Optional[bool] = ..., from_seq: _Optional[int] = ..., max_messages: _Optional[int] = ...) -> None: ...

class SessionServiceGetResponse(_message.Message):
    __slots__ = ("session", "messages", "context_summary")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    messages: _containers.RepeatedCompositeFieldContainer[_session_pb2.SessionMessage]
    context_summary: str
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., messages: _Optional[_Iterable[_Union[_session_pb2.SessionMessage, _Mapping]]] = ..., context_summary: _Optional[str] = ...) -> None: ...

class SessionServiceListRequest(_message.Message):
    __slots__ = ("space", "states", "page_size", "page_token")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    space: str
    states: _containers.RepeatedScalarFieldContainer[_session_pb2.SessionState]
    page_size: int
    page_token: str
    def __init__(self, space: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_session_pb2.SessionState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class SessionServiceListResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[_session_pb2.Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[_session_pb2.Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
