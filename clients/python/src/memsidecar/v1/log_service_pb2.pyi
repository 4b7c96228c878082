from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import log_pb2 as _log_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NewLogEntry(_message.Message):
    __slots__ = ("at", "type", "content", "category", "tool", "error")
    AT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    at: _timestamp_pb2.Timestamp
    type: str
    content: str
    category: str
    tool: str
    error: str
    def __init__(self, at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., type: _Optional[str] = ..., content: _Optional[str] = ..., category: _Optional[str] = ..., tool: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class LogServiceAppendRequest(_message.Message):
    __slots__ = ("space", "entries", "idempotency_key", "session_id", "reason", "allow_sensitive")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ALLOW_SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    space: str
    entries: _containers.RepeatedCompositeFieldContainer[NewLogEntry]
    idempotency_key: str
    session_id: str
    reason: str
    allow_sensitive: bool
    def __init__(self, space: _Optional[str] = ..., entries: _Optional[_Iterable[_Union[NewLogEntry, _Mapping]]] = ..., idempotency_key: _Optional[str] = ..., session_id: _Optional[str] = ..., reason: _Optional[str] = ..., allow_sensitive: bool = ...) -> None: ...

class LogServiceAppendResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class LogServiceGetRequest(_message.Message):
    __slots__ = ("space", "date", "page_size", "page_token")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    space: str
    date: str
    page_size: int
    page_token: str
    def __init__(self, space: _Optional[str] = ..., date: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class LogServiceGetResponse(_message.Message):
    __slots__ = ("day", "entries", "archived", "next_page_token")
    DAY_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    day: _log_pb2.LogDay
    entries: _containers.RepeatedCompositeFieldContainer[_log_pb2.LogEntry]
    archived: _containers.RepeatedCompositeFieldContainer[_log_pb2.ArchivedLog]
    next_page_token: str
    def __init__(self, day: _Optional[_Union[_log_pb2.LogDay, _Mapping]] = ..., entries: _Optional[_Iterable[_Union[_log_pb2.LogEntry, _Mapping]]] = ..., archived: _Optional[_Iterable[_Union[_log_pb2.ArchivedLog, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class LogServiceListRequest(_message.Message):
    __slots__ = ("space", "start_date", "end_date", "page_size", "page_token", "include_deleted")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    START_DATE_FIELD_NUMBER: _ClassVar[int]
    END_DATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_DELETED_FIELD_NUMBER: _ClassVar[int]
    space: str
    start_date: str
    end_date: str
    page_size: int
    page_token: str
    include_deleted: bool
    def __init__(self, space: _Optional[str] = ..., start_date: _Optional[str] = ..., end_date: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., include_deleted: bool = ...) -> None: ...

class LogServiceListResponse(_message.Message):
    __slots__ = ("days", "next_page_token")
    DAYS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    days: _containers.RepeatedCompositeFieldContainer[_log_pb2.LogDay]
    next_page_token: str
    def __init__(self, days: _Optional[_Iterable[_Union[_log_pb2.LogDay, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
