from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LogDay(_message.Message):
    __slots__ = ("date", "summary", "archived", "revision", "entry_count", "deleted_at")
    DATE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    DELETED_AT_FIELD_NUMBER: _ClassVar[int]
    date: str
    summary: str
    archived: bool
    revision: int
    entry_count: int
    deleted_at: _timestamp_pb2.Timestamp
    def __init__(self, date: _Optional[str] = ..., summary: _Optional[str] = ..., archived: bool = ..., revision: _Optional[int] = ..., entry_count: _Optional[int] = ..., deleted_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class LogEntry(_message.Message):
    __slots__ = ("id", "time", "at", "type", "content", "category", "tool", "error", "session_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    time: str
    at: _timestamp_pb2.Timestamp
    type: str
    content: str
    category: str
    tool: str
    error: str
    session_id: str
    def __init__(self, id: _Optional[str] = ..., time: _Optional[str] = ..., at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., type: _Optional[str] = ..., content: _Optional[str] = ..., category: _Optional[str] = ..., tool: _Optional[str] = ..., error: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class ArchivedLog(_message.Message):
    __slots__ = ("id", "date", "entry_count", "summary", "promoted_memory_ids", "archived_at", "archive_operation_id", "deleted_at", "delete_operation_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    DATE_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    PROMOTED_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_AT_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    DELETED_AT_FIELD_NUMBER: _ClassVar[int]
    DELETE_OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    date: str
    entry_count: int
    summary: str
    promoted_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    archived_at: _timestamp_pb2.Timestamp
    archive_operation_id: str
    deleted_at: _timestamp_pb2.Timestamp
    delete_operation_id: str
    def __init__(self, id: _Optional[str] = ..., date: _Optional[str] = ..., entry_count: _Optional[int] = ..., summary: _Optional[str] = ..., promoted_memory_ids: _Optional[_Iterable[str]] = ..., archived_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., archive_operation_id: _Optional[str] = ..., deleted_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., delete_operation_id: _Optional[str] = ...) -> None: ...
