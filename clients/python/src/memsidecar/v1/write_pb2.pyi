from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OutcomeStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_STATUS_UNSPECIFIED: _ClassVar[OutcomeStatus]
    OUTCOME_STATUS_APPLIED: _ClassVar[OutcomeStatus]
    OUTCOME_STATUS_DUPLICATE: _ClassVar[OutcomeStatus]
    OUTCOME_STATUS_REJECTED: _ClassVar[OutcomeStatus]
OUTCOME_STATUS_UNSPECIFIED: OutcomeStatus
OUTCOME_STATUS_APPLIED: OutcomeStatus
OUTCOME_STATUS_DUPLICATE: OutcomeStatus
OUTCOME_STATUS_REJECTED: OutcomeStatus

class Outcome(_message.Message):
    __slots__ = ("id", "status", "reason", "redactions")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REDACTIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: OutcomeStatus
    reason: str
    redactions: _containers.RepeatedCompositeFieldContainer[Redaction]
    def __init__(self, id: _Optional[str] = ..., status: _Optional[_Union[OutcomeStatus, str]] = ..., reason: _Optional[str] = ..., redactions: _Optional[_Iterable[_Union[Redaction, _Mapping]]] = ...) -> None: ...

class Redaction(_message.Message):
    __slots__ = ("field", "kind", "start", "end")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    field: str
    kind: str
    start: int
    end: int
    def __init__(self, field: _Optional[str] = ..., kind: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class WriteResult(_message.Message):
    __slots__ = ("operation_id", "replayed", "outcomes")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    replayed: bool
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    def __init__(self, operation_id: _Optional[str] = ..., replayed: bool = ..., outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping]]] = ...) -> None: ...
