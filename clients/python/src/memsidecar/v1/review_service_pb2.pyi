import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import memory_pb2 as _memory_pb2
from memsidecar.v1 import memory_service_pb2 as _memory_service_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReviewState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVIEW_STATE_UNSPECIFIED: _ClassVar[ReviewState]
    REVIEW_STATE_PENDING: _ClassVar[ReviewState]
    REVIEW_STATE_ACCEPTED: _ClassVar[ReviewState]
    REVIEW_STATE_REJECTED: _ClassVar[ReviewState]
REVIEW_STATE_UNSPECIFIED: ReviewState
REVIEW_STATE_PENDING: ReviewState
REVIEW_STATE_ACCEPTED: ReviewState
REVIEW_STATE_REJECTED: ReviewState

class ReviewItem(_message.Message):
    __slots__ = ("id", "space", "date", "proposed_at", "reason", "action", "proposed_by", "session", "target_id", "target_revision", "before", "proposed", "state", "resolved_at", "stale")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DATE_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_BY_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_REVISION_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_AT_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    date: str
    proposed_at: _timestamp_pb2.Timestamp
    reason: str
    action: _memory_service_pb2.Decision
    proposed_by: str
    session: str
    target_id: str
    target_revision: int
    before: str
    proposed: _memory_pb2.Memory
    state: ReviewState
    resolved_at: _timestamp_pb2.Timestamp
    stale: bool
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., date: _Optional[str] = ..., proposed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., action: _Optional[_Union[_memory_service_pb2.Decision, str]] = ..., proposed_by: _Optional[str] = ..., session: _Optional[str] = ..., target_id: _Optional[str] = ..., target_revision: _Optional[int] = ..., before: _Optional[str] = ..., proposed: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., state: _Optional[_Union[ReviewState, str]] = ..., resolved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stale: _Optional[bool] = ...) -> None: ...

class ReviewServiceListRequest(_message.Message):
    __slots__ = ("space", "include_resolved", "all_spaces")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_RESOLVED_FIELD_NUMBER: _ClassVar[int]
    ALL_SPACES_FIELD_NUMBER: _ClassVar[int]
    space: str
    include_resolved: bool
    all_spaces: bool
    def __init__(self, space: _Optional[str] = ..., include_resolved: _Optional[bool] = ..., all_spaces: _Optional[bool] = ...) -> None: ...

class ReviewServiceListResponse(_message.Message):
    __slots__ = ("items", "pending")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[ReviewItem]
    pending: int
    def __init__(self, items: _Optional[_Iterable[_Union[ReviewItem, _Mapping]]] = ..., pending: _Optional[int] = ...) -> None: ...

class ReviewServiceGetRequest(_message.Message):
    __slots__ = ("space", "id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class ReviewServiceGetResponse(_message.Message):
    __slots__ = ("item", "current")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    item: ReviewItem
    current: _memory_pb2.Memory
    def __init__(self, item: _Optional[_Union[ReviewItem, _Mapping]] = ..., current: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ...) -> None: ...

class ReviewServiceResolveRequest(_message.Message):
    __slots__ = ("space", "id", "accept", "reason", "idempotency_key")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    accept: bool
    reason: str
    idempotency_key: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., accept: _Optional[bool] = ..., reason: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class ReviewServiceResolveResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...
