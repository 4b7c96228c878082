from memsidecar.v1 import operation_pb2 as _operation_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OperationServiceListRequest(_message.Message):
    __slots__ = ("spaces", "first_id", "last_id", "page_size", "page_token", "include_bookkeeping", "include_changes")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    FIRST_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_BOOKKEEPING_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CHANGES_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    first_id: str
    last_id: str
    page_size: int
    page_token: str
    include_bookkeeping: bool
    include_changes: bool
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., first_id: _Optional[str] = ..., last_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., include_bookkeeping: bool = ..., include_changes: bool = ...) -> None: ...

class OperationServiceListResponse(_message.Message):
    __slots__ = ("operations", "next_page_token")
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    operations: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Operation]
    next_page_token: str
    def __init__(self, operations: _Optional[_Iterable[_Union[_operation_pb2.Operation, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class OperationServiceGetRequest(_message.Message):
    __slots__ = ("id", "page_size", "page_token")
    ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    id: str
    page_size: int
    page_token: str
    def __init__(self, id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class OperationServiceGetResponse(_message.Message):
    __slots__ = ("operation", "next_page_token")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    next_page_token: str
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class OperationServiceUndoRequest(_message.Message):
    __slots__ = ("id", "idempotency_key", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    idempotency_key: str
    reason: str
    def __init__(self, id: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class OperationServiceUndoResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class OperationServiceWatchRequest(_message.Message):
    __slots__ = ("cursor", "spaces", "include_bookkeeping")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_BOOKKEEPING_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    include_bookkeeping: bool
    def __init__(self, cursor: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., include_bookkeeping: bool = ...) -> None: ...

class OperationServiceWatchResponse(_message.Message):
    __slots__ = ("operation", "cursor")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    cursor: str
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ..., cursor: _Optional[str] = ...) -> None: ...
