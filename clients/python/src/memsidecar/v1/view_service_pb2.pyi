from google.protobuf import field_mask_pb2 as _field_mask_pb2
from memsidecar.v1 import memory_service_pb2 as _memory_service_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ViewUpdate(_message.Message):
    __slots__ = ("id", "expected_revision", "patch", "update_mask")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    id: str
    expected_revision: int
    patch: _memory_service_pb2.MemoryPatch
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, id: _Optional[str] = ..., expected_revision: _Optional[int] = ..., patch: _Optional[_Union[_memory_service_pb2.MemoryPatch, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class ViewRemoval(_message.Message):
    __slots__ = ("id", "expected_revision")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    id: str
    expected_revision: int
    def __init__(self, id: _Optional[str] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class ViewChange(_message.Message):
    __slots__ = ("add", "update", "removal")
    ADD_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    REMOVAL_FIELD_NUMBER: _ClassVar[int]
    add: _memory_service_pb2.NewMemory
    update: ViewUpdate
    removal: ViewRemoval
    def __init__(self, add: _Optional[_Union[_memory_service_pb2.NewMemory, _Mapping]] = ..., update: _Optional[_Union[ViewUpdate, _Mapping]] = ..., removal: _Optional[_Union[ViewRemoval, _Mapping]] = ...) -> None: ...

class ViewServiceApplyRequest(_message.Message):
    __slots__ = ("space", "changes", "reason")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    space: str
    changes: _containers.RepeatedCompositeFieldContainer[ViewChange]
    reason: str
    def __init__(self, space: _Optional[str] = ..., changes: _Optional[_Iterable[_Union[ViewChange, _Mapping]]] = ..., reason: _Optional[str] = ...) -> None: ...

class ViewServiceApplyResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...
