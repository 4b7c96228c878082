import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_STATE_UNSPECIFIED: _ClassVar[SessionState]
    SESSION_STATE_OPEN: _ClassVar[SessionState]
    SESSION_STATE_ENDED: _ClassVar[SessionState]
    SESSION_STATE_REFLECTED: _ClassVar[SessionState]
SESSION_STATE_UNSPECIFIED: SessionState
SESSION_STATE_OPEN: SessionState
SESSION_STATE_ENDED: SessionState
SESSION_STATE_REFLECTED: SessionState

class Session(_message.Message):
    __slots__ = ("id", "state", "host", "cwd", "started_at", "last_at", "ended_at", "end_reason", "message_count", "next_seq", "reflected_seq", "reflected_operation", "summary")
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
    REFLECTED_OPERATION_FIELD_NUMBER: _ClassVar[int]
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
    reflected_operation: int
    summary: str
    def __init__(self, id: _Optional[str] = ..., state: _Optional[_Union[SessionState, str]] = ..., host: _Optional[str] = ..., cwd: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_reason: _Optional[str] = ..., message_count: _Optional[int] = ..., next_seq: _Optional[int] = ..., reflected_seq: _Optional[int] = ..., reflected_operation: _Optional[int] = ..., summary: _Optional[str] = ...) -> None: ...

class SessionMessage(_message.Message):
    __slots__ = ("seq", "at", "role", "content", "tool")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    seq: int
    at: _timestamp_pb2.Timestamp
    role: str
    content: str
    tool: ToolCall
    def __init__(self, seq: _Optional[int] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., role: _Optional[str] = ..., content: _Optional[str] = ..., tool: _Optional[_Union[ToolCall, _Mapping]] = ...) -> None: ...

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
    def __init__(self, name: _Optional[str] = ..., arguments: _Optional[str] = ..., result: _Optional[str] = ..., error: _Optional[str] = ..., failed: _Optional[bool] = ...) -> None: ...
