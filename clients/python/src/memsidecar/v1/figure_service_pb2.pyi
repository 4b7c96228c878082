from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FigureServiceDaysRequest(_message.Message):
    __slots__ = ("spaces", "to")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    to: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., to: _Optional[str] = ..., **kwargs) -> None: ...

class FigureServiceDaysResponse(_message.Message):
    __slots__ = ("days", "history_from", "truncated", "active")
    class ActiveEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    DAYS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FROM_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    days: _containers.RepeatedCompositeFieldContainer[FigureDay]
    history_from: str
    truncated: bool
    active: _containers.ScalarMap[str, int]
    def __init__(self, days: _Optional[_Iterable[_Union[FigureDay, _Mapping]]] = ..., history_from: _Optional[str] = ..., truncated: _Optional[bool] = ..., active: _Optional[_Mapping[str, int]] = ...) -> None: ...

class FigureDay(_message.Message):
    __slots__ = ("date", "added", "ended", "log_entries", "operations", "accesses", "messages")
    class AddedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class EndedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class OperationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    DATE_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    LOG_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    ACCESSES_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    date: str
    added: _containers.ScalarMap[str, int]
    ended: _containers.ScalarMap[str, int]
    log_entries: int
    operations: _containers.ScalarMap[str, int]
    accesses: int
    messages: int
    def __init__(self, date: _Optional[str] = ..., added: _Optional[_Mapping[str, int]] = ..., ended: _Optional[_Mapping[str, int]] = ..., log_entries: _Optional[int] = ..., operations: _Optional[_Mapping[str, int]] = ..., accesses: _Optional[int] = ..., messages: _Optional[int] = ...) -> None: ...
