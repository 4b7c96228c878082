from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import log_pb2 as _log_pb2
from memsidecar.v1 import memory_pb2 as _memory_pb2
from memsidecar.v1 import session_pb2 as _session_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Actor(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTOR_UNSPECIFIED: _ClassVar[Actor]
    ACTOR_CLIENT: _ClassVar[Actor]
    ACTOR_REFLECT: _ClassVar[Actor]
    ACTOR_CONSOLIDATE: _ClassVar[Actor]
    ACTOR_ARCHIVE: _ClassVar[Actor]
    ACTOR_UNDO: _ClassVar[Actor]
    ACTOR_ADOPT: _ClassVar[Actor]
    ACTOR_SESSION: _ClassVar[Actor]
    ACTOR_DAEMON: _ClassVar[Actor]
    ACTOR_IMPORT: _ClassVar[Actor]
    ACTOR_EDIT: _ClassVar[Actor]
    ACTOR_VIEW: _ClassVar[Actor]
    ACTOR_REPAIR: _ClassVar[Actor]
ACTOR_UNSPECIFIED: Actor
ACTOR_CLIENT: Actor
ACTOR_REFLECT: Actor
ACTOR_CONSOLIDATE: Actor
ACTOR_ARCHIVE: Actor
ACTOR_UNDO: Actor
ACTOR_ADOPT: Actor
ACTOR_SESSION: Actor
ACTOR_DAEMON: Actor
ACTOR_IMPORT: Actor
ACTOR_EDIT: Actor
ACTOR_VIEW: Actor
ACTOR_REPAIR: Actor

class Operation(_message.Message):
    __slots__ = ("id", "at", "space", "actor", "reason", "session_id", "undoes_operation_id", "epoch", "changes", "change_count")
    ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    UNDOES_OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    CHANGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    id: str
    at: _timestamp_pb2.Timestamp
    space: str
    actor: Actor
    reason: str
    session_id: str
    undoes_operation_id: str
    epoch: str
    changes: _containers.RepeatedCompositeFieldContainer[Change]
    change_count: int
    def __init__(self, id: _Optional[str] = ..., at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., space: _Optional[str] = ..., actor: _Optional[_Union[Actor, str]] = ..., reason: _Optional[str] = ..., session_id: _Optional[str] = ..., undoes_operation_id: _Optional[str] = ..., epoch: _Optional[str] = ..., changes: _Optional[_Iterable[_Union[Change, _Mapping]]] = ..., change_count: _Optional[int] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("memory", "entry", "day", "summary", "forgotten", "session", "message", "access", "archive")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    DAY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_FIELD_NUMBER: _ClassVar[int]
    memory: MemoryChange
    entry: EntryChange
    day: DayChange
    summary: SummaryChange
    forgotten: ForgottenChange
    session: SessionChange
    message: MessageChange
    access: AccessChange
    archive: ArchiveChange
    def __init__(self, memory: _Optional[_Union[MemoryChange, _Mapping]] = ..., entry: _Optional[_Union[EntryChange, _Mapping]] = ..., day: _Optional[_Union[DayChange, _Mapping]] = ..., summary: _Optional[_Union[SummaryChange, _Mapping]] = ..., forgotten: _Optional[_Union[ForgottenChange, _Mapping]] = ..., session: _Optional[_Union[SessionChange, _Mapping]] = ..., message: _Optional[_Union[MessageChange, _Mapping]] = ..., access: _Optional[_Union[AccessChange, _Mapping]] = ..., archive: _Optional[_Union[ArchiveChange, _Mapping]] = ...) -> None: ...

class MemoryChange(_message.Message):
    __slots__ = ("id", "before", "after")
    ID_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    id: str
    before: _memory_pb2.Memory
    after: _memory_pb2.Memory
    def __init__(self, id: _Optional[str] = ..., before: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., after: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ...) -> None: ...

class EntryChange(_message.Message):
    __slots__ = ("date", "id", "before", "after")
    DATE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    date: str
    id: str
    before: _log_pb2.LogEntry
    after: _log_pb2.LogEntry
    def __init__(self, date: _Optional[str] = ..., id: _Optional[str] = ..., before: _Optional[_Union[_log_pb2.LogEntry, _Mapping]] = ..., after: _Optional[_Union[_log_pb2.LogEntry, _Mapping]] = ...) -> None: ...

class DayChange(_message.Message):
    __slots__ = ("date", "before", "after")
    DATE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    date: str
    before: _log_pb2.LogDay
    after: _log_pb2.LogDay
    def __init__(self, date: _Optional[str] = ..., before: _Optional[_Union[_log_pb2.LogDay, _Mapping]] = ..., after: _Optional[_Union[_log_pb2.LogDay, _Mapping]] = ...) -> None: ...

class SummaryChange(_message.Message):
    __slots__ = ("before", "after")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    before: str
    after: str
    def __init__(self, before: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class ForgottenChange(_message.Message):
    __slots__ = ("hash", "before", "after")
    HASH_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    hash: str
    before: _timestamp_pb2.Timestamp
    after: _timestamp_pb2.Timestamp
    def __init__(self, hash: _Optional[str] = ..., before: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., after: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SessionChange(_message.Message):
    __slots__ = ("id", "before", "after")
    ID_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    id: str
    before: _session_pb2.Session
    after: _session_pb2.Session
    def __init__(self, id: _Optional[str] = ..., before: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., after: _Optional[_Union[_session_pb2.Session, _Mapping]] = ...) -> None: ...

class MessageChange(_message.Message):
    __slots__ = ("session_id", "message")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    message: _session_pb2.SessionMessage
    def __init__(self, session_id: _Optional[str] = ..., message: _Optional[_Union[_session_pb2.SessionMessage, _Mapping]] = ...) -> None: ...

class AccessChange(_message.Message):
    __slots__ = ("id", "count", "at")
    ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    count: int
    at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., count: _Optional[int] = ..., at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ArchiveChange(_message.Message):
    __slots__ = ("id", "before", "after")
    ID_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    id: str
    before: _log_pb2.ArchivedLog
    after: _log_pb2.ArchivedLog
    def __init__(self, id: _Optional[str] = ..., before: _Optional[_Union[_log_pb2.ArchivedLog, _Mapping]] = ..., after: _Optional[_Union[_log_pb2.ArchivedLog, _Mapping]] = ...) -> None: ...
