import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

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
    def __init__(self, run_directory: _Optional[str] = ..., tools: _Optional[_Iterable[_Union[ToolUse, _Mapping]]] = ..., recent_tools: _Optional[_Iterable[str]] = ..., files_read: _Optional[_Iterable[str]] = ..., summary: _Optional[str] = ..., summary_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., compactions: _Optional[int] = ...) -> None: ...

class WorkingMemoryServiceGetRequest(_message.Message):
    __slots__ = ("space", "session_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class WorkingMemoryServiceGetResponse(_message.Message):
    __slots__ = ("working", "block")
    WORKING_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    working: WorkingMemory
    block: str
    def __init__(self, working: _Optional[_Union[WorkingMemory, _Mapping]] = ..., block: _Optional[str] = ...) -> None: ...

class WorkingMemoryServiceUpdateRequest(_message.Message):
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
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., run_directory: _Optional[str] = ..., summary: _Optional[str] = ..., compacted: _Optional[bool] = ..., files_read: _Optional[_Iterable[str]] = ..., tools_used: _Optional[_Iterable[str]] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class WorkingMemoryServiceUpdateResponse(_message.Message):
    __slots__ = ("result", "working")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    WORKING_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    working: WorkingMemory
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., working: _Optional[_Union[WorkingMemory, _Mapping]] = ...) -> None: ...

class WorkingMemoryServiceResolvePathRequest(_message.Message):
    __slots__ = ("space", "session_id", "path", "allow_outside")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ALLOW_OUTSIDE_FIELD_NUMBER: _ClassVar[int]
    space: str
    session_id: str
    path: str
    allow_outside: bool
    def __init__(self, space: _Optional[str] = ..., session_id: _Optional[str] = ..., path: _Optional[str] = ..., allow_outside: _Optional[bool] = ...) -> None: ...

class WorkingMemoryServiceResolvePathResponse(_message.Message):
    __slots__ = ("path", "relative", "outside")
    PATH_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_FIELD_NUMBER: _ClassVar[int]
    OUTSIDE_FIELD_NUMBER: _ClassVar[int]
    path: str
    relative: str
    outside: bool
    def __init__(self, path: _Optional[str] = ..., relative: _Optional[str] = ..., outside: _Optional[bool] = ...) -> None: ...
