from memsidecar.v1 import memory_pb2 as _memory_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TitleServiceSaveRequest(_message.Message):
    __slots__ = ("space", "title", "content", "category", "salience", "tags", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    title: str
    content: str
    category: str
    salience: float
    tags: _containers.RepeatedScalarFieldContainer[str]
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., title: _Optional[str] = ..., content: _Optional[str] = ..., category: _Optional[str] = ..., salience: _Optional[float] = ..., tags: _Optional[_Iterable[str]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class TitleServiceSaveResponse(_message.Message):
    __slots__ = ("result", "memory", "replaced")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    memory: _memory_pb2.Memory
    replaced: bool
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., replaced: _Optional[bool] = ...) -> None: ...

class TitleServiceFindRequest(_message.Message):
    __slots__ = ("space", "title")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    space: str
    title: str
    def __init__(self, space: _Optional[str] = ..., title: _Optional[str] = ...) -> None: ...

class TitleServiceFindResponse(_message.Message):
    __slots__ = ("memories",)
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ...) -> None: ...

class TitleServiceForgetRequest(_message.Message):
    __slots__ = ("space", "title", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    title: str
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., title: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class TitleServiceForgetResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...
