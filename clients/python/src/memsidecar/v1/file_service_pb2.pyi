from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FileServiceCheckRequest(_message.Message):
    __slots__ = ("space", "date", "content")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DATE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    space: str
    date: str
    content: bytes
    def __init__(self, space: _Optional[str] = ..., date: _Optional[str] = ..., content: _Optional[bytes] = ...) -> None: ...

class FileServiceCheckResponse(_message.Message):
    __slots__ = ("problems",)
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    problems: _containers.RepeatedCompositeFieldContainer[FileProblem]
    def __init__(self, problems: _Optional[_Iterable[_Union[FileProblem, _Mapping]]] = ...) -> None: ...

class FileProblem(_message.Message):
    __slots__ = ("line", "column", "path", "message", "refused")
    LINE_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    line: int
    column: int
    path: str
    message: str
    refused: bool
    def __init__(self, line: _Optional[int] = ..., column: _Optional[int] = ..., path: _Optional[str] = ..., message: _Optional[str] = ..., refused: _Optional[bool] = ...) -> None: ...
