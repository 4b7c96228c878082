from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_STATE_UNSPECIFIED: _ClassVar[SessionState]
    SESSION_STATE_OPEN: _ClassVar[SessionState]
    SESSION_STATE_ENDED: _ClassVar[SessionState]
    SESSION_STATE_REFLECTED: _ClassVar[SessionState]

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_ASSISTANT: _ClassVar[Role]
    ROLE_SYSTEM: _ClassVar[Role]
    ROLE_TOOL: _ClassVar[Role]
    ROLE_SUMMARY: _ClassVar[Role]
    ROLE_CONTEXT: _ClassVar[Role]
    ROLE_WORKING: _ClassVar[Role]
SESSION_STATE_UNSPECIFIED: SessionState
SESSION_STATE_OPEN: SessionState
SESSION_STATE_ENDED: SessionState
SESSION_STATE_REFLECTED: SessionState
ROLE_UNSPECIFIED: Role
ROLE_USER: Role
ROLE_ASSISTANT: Role
ROLE_SYSTEM: Role
ROLE_TOOL: Role
ROLE_SUMMARY: Role
ROLE_CONTEXT: Role
ROLE_WORKING: Role

class Session(_message.Message):
    __slots__ = ("id", "state", "host", "cwd", "started_at", "last_at", "ended_at", "end_reason", "message_count", "next_seq", "reflected_seq", "reflected_operation_id", "summary")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    END_REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    NEXT_SEQ_FIELD_NUMBER: _ClassVar[int]
    REFLECTED_SEQ_FIELD_NUMBER: _ClassVar[int]
    REFLECTED_OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: SessionState
    host: str
    cwd: str
    started_at: _timestamp_pb2.Timestamp
    last_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    end_reason: str
    message_count: int
    next_seq: int
    reflected_seq: int
    reflected_operation_id: str
    summary: str
    def __init__(self, id: _Optional[str] = ..., state: _Optional[_Union[SessionState, str]] = ..., host: _Optional[str] = ..., cwd: _Optional[str] = ..., started_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end_reason: _Optional[str] = ..., message_count: _Optional[int] = ..., next_seq: _Optional[int] = ..., reflected_seq: _Optional[int] = ..., reflected_operation_id: _Optional[str] = ..., summary: _Optional[str] = ...) -> None: ...

class SessionMessage(_message.Message):
    __slots__ = ("seq", "at", "role", "content", "tool")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    seq: int
    at: _timestamp_pb2.Timestamp
    role: Role
    content: str
    tool: ToolCall
    def __init__(self, seq: _Optional[int] = ..., at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., role: _Optional[_Union[Role, str]] = ..., content: _Optional[str] = ..., tool: _Optional[_Union[ToolCall, _Mapping]] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("name", "arguments", "result", "error", "failed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    name: str
    arguments: str
    result: str
    error: str
    failed: bool
    def __init__(self, name: _Optional[str] = ..., arguments: _Optional[str] = ..., result: _Optional[str] = ..., error: _Optional[str] = ..., failed: bool = ...) -> None: ...

class ToolUse(_message.Message):
    __slots__ = ("name", "count", "failures")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    name: str
    count: int
    failures: int
    def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ..., failures: _Optional[int] = ...) -> None: ...

class WorkingMemory(_message.Message):
    __slots__ = ("run_directory", "tools", "recent_tools", "files_read", "summary", "summary_at", "compactions")
    RUN_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    RECENT_TOOLS_FIELD_NUMBER: _ClassVar[int]
    FILES_READ_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_AT_FIELD_NUMBER: _ClassVar[int]
    COMPACTIONS_FIELD_NUMBER: _ClassVar[int]
    run_directory: str
    tools: _containers.RepeatedCompositeFieldContainer[ToolUse]
    recent_tools: _containers.RepeatedScalarFieldContainer[str]
    files_read: _containers.RepeatedScalarFieldContainer[str]
    summary: str
    summary_at: _timestamp_pb2.Timestamp
    compactions: int
    def __init__(self, run_directory: _Optional[str] = ..., tools: _Optional[_Iterable[_Union[ToolUse, _Mapping]]] = ..., recent_tools: _Optional[_Iterable[str]] = ..., files_read: _Optional[_Iterable[str]] = ..., summary: _Optional[str] = ..., summary_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., compactions: _Optional[int] = ...) -> None: ...
