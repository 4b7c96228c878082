from memsidecar.v1 import operation_pb2 as _operation_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OperationServiceListRequest(_message.Message):
    __slots__ = ("spaces", "to", "page_size", "page_token", "include_all", "include_changes")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ALL_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CHANGES_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    to: int
    page_size: int
    page_token: str
    include_all: bool
    include_changes: bool
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., to: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., include_all: _Optional[bool] = ..., include_changes: _Optional[bool] = ..., **kwargs) -> None: ...

class OperationServiceListResponse(_message.Message):
    __slots__ = ("operations", "next_page_token")
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    operations: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Operation]
    next_page_token: str
    def __init__(self, operations: _Optional[_Iterable[_Union[_operation_pb2.Operation, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class OperationServiceGetRequest(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class OperationServiceGetResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class OperationServiceUndoRequest(_message.Message):
    __slots__ = ("number", "idempotency_key", "reason")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    number: int
    idempotency_key: str
    reason: str
    def __init__(self, number: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class OperationServiceUndoResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class OperationServiceWatchRequest(_message.Message):
    __slots__ = ("after", "spaces", "include_all", "epoch")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ALL_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    after: int
    spaces: _containers.RepeatedScalarFieldContainer[str]
    include_all: bool
    epoch: str
    def __init__(self, after: _Optional[int] = ..., spaces: _Optional[_Iterable[str]] = ..., include_all: _Optional[bool] = ..., epoch: _Optional[str] = ...) -> None: ...

class OperationServiceWatchResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...
