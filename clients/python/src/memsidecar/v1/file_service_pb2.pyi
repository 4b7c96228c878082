from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import memory_pb2 as _memory_pb2
from memsidecar.v1 import operation_pb2 as _operation_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Resolution(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESOLUTION_UNSPECIFIED: _ClassVar[Resolution]
    RESOLUTION_ACCEPT: _ClassVar[Resolution]
    RESOLUTION_REJECT: _ClassVar[Resolution]

class EditKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EDIT_KIND_UNSPECIFIED: _ClassVar[EditKind]
    EDIT_KIND_REFUSED: _ClassVar[EditKind]
    EDIT_KIND_AMBIGUOUS: _ClassVar[EditKind]
    EDIT_KIND_CONFLICT: _ClassVar[EditKind]

class ProposalState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROPOSAL_STATE_UNSPECIFIED: _ClassVar[ProposalState]
    PROPOSAL_STATE_PENDING: _ClassVar[ProposalState]
    PROPOSAL_STATE_ACCEPTED: _ClassVar[ProposalState]
    PROPOSAL_STATE_REJECTED: _ClassVar[ProposalState]
RESOLUTION_UNSPECIFIED: Resolution
RESOLUTION_ACCEPT: Resolution
RESOLUTION_REJECT: Resolution
EDIT_KIND_UNSPECIFIED: EditKind
EDIT_KIND_REFUSED: EditKind
EDIT_KIND_AMBIGUOUS: EditKind
EDIT_KIND_CONFLICT: EditKind
PROPOSAL_STATE_UNSPECIFIED: ProposalState
PROPOSAL_STATE_PENDING: ProposalState
PROPOSAL_STATE_ACCEPTED: ProposalState
PROPOSAL_STATE_REJECTED: ProposalState

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
    def __init__(self, line: _Optional[int] = ..., column: _Optional[int] = ..., path: _Optional[str] = ..., message: _Optional[str] = ..., refused: bool = ...) -> None: ...

class FileServicePublishRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FileServicePublishResponse(_message.Message):
    __slots__ = ("position",)
    POSITION_FIELD_NUMBER: _ClassVar[int]
    position: str
    def __init__(self, position: _Optional[str] = ...) -> None: ...

class Edit(_message.Message):
    __slots__ = ("id", "space", "file", "kind", "details", "quarantine_path", "detected_at", "base_operation_id", "in_place")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    QUARANTINE_PATH_FIELD_NUMBER: _ClassVar[int]
    DETECTED_AT_FIELD_NUMBER: _ClassVar[int]
    BASE_OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    IN_PLACE_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    file: str
    kind: EditKind
    details: _containers.RepeatedScalarFieldContainer[str]
    quarantine_path: str
    detected_at: _timestamp_pb2.Timestamp
    base_operation_id: str
    in_place: bool
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., file: _Optional[str] = ..., kind: _Optional[_Union[EditKind, str]] = ..., details: _Optional[_Iterable[str]] = ..., quarantine_path: _Optional[str] = ..., detected_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., base_operation_id: _Optional[str] = ..., in_place: bool = ...) -> None: ...

class FileServiceListEditsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class FileServiceListEditsResponse(_message.Message):
    __slots__ = ("edits", "next_page_token")
    EDITS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    edits: _containers.RepeatedCompositeFieldContainer[Edit]
    next_page_token: str
    def __init__(self, edits: _Optional[_Iterable[_Union[Edit, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class FileServiceGetEditRequest(_message.Message):
    __slots__ = ("id", "page_size", "page_token")
    ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    id: str
    page_size: int
    page_token: str
    def __init__(self, id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class FileServiceGetEditResponse(_message.Message):
    __slots__ = ("edit", "changes", "next_page_token")
    EDIT_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    edit: Edit
    changes: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Change]
    next_page_token: str
    def __init__(self, edit: _Optional[_Union[Edit, _Mapping]] = ..., changes: _Optional[_Iterable[_Union[_operation_pb2.Change, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class FileServiceResolveEditRequest(_message.Message):
    __slots__ = ("id", "resolution", "idempotency_key")
    ID_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    id: str
    resolution: Resolution
    idempotency_key: str
    def __init__(self, id: _Optional[str] = ..., resolution: _Optional[_Union[Resolution, str]] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class FileServiceResolveEditResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class Proposal(_message.Message):
    __slots__ = ("id", "space", "log_date", "proposed_at", "reason", "decision", "proposed_by", "session_id", "target_id", "target_revision", "before", "proposed", "state", "resolved_at", "stale", "replaced_by")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LOG_DATE_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_BY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_REVISION_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_AT_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    REPLACED_BY_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    log_date: str
    proposed_at: _timestamp_pb2.Timestamp
    reason: str
    decision: _memory_pb2.Decision
    proposed_by: _memory_pb2.Decider
    session_id: str
    target_id: str
    target_revision: int
    before: str
    proposed: _memory_pb2.Memory
    state: ProposalState
    resolved_at: _timestamp_pb2.Timestamp
    stale: bool
    replaced_by: str
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., log_date: _Optional[str] = ..., proposed_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., decision: _Optional[_Union[_memory_pb2.Decision, str]] = ..., proposed_by: _Optional[_Union[_memory_pb2.Decider, str]] = ..., session_id: _Optional[str] = ..., target_id: _Optional[str] = ..., target_revision: _Optional[int] = ..., before: _Optional[str] = ..., proposed: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., state: _Optional[_Union[ProposalState, str]] = ..., resolved_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., stale: bool = ..., replaced_by: _Optional[str] = ...) -> None: ...

class FileServiceListProposalsRequest(_message.Message):
    __slots__ = ("space", "include_resolved", "all_spaces", "page_size", "page_token")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_RESOLVED_FIELD_NUMBER: _ClassVar[int]
    ALL_SPACES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    space: str
    include_resolved: bool
    all_spaces: bool
    page_size: int
    page_token: str
    def __init__(self, space: _Optional[str] = ..., include_resolved: bool = ..., all_spaces: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class FileServiceListProposalsResponse(_message.Message):
    __slots__ = ("proposals", "next_page_token", "pending")
    PROPOSALS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    proposals: _containers.RepeatedCompositeFieldContainer[Proposal]
    next_page_token: str
    pending: int
    def __init__(self, proposals: _Optional[_Iterable[_Union[Proposal, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., pending: _Optional[int] = ...) -> None: ...

class FileServiceGetProposalRequest(_message.Message):
    __slots__ = ("space", "id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class FileServiceGetProposalResponse(_message.Message):
    __slots__ = ("proposal", "current")
    PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    proposal: Proposal
    current: _memory_pb2.Memory
    def __init__(self, proposal: _Optional[_Union[Proposal, _Mapping]] = ..., current: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ...) -> None: ...

class FileServiceResolveProposalRequest(_message.Message):
    __slots__ = ("space", "id", "resolution", "idempotency_key", "reason")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    space: str
    id: str
    resolution: Resolution
    idempotency_key: str
    reason: str
    def __init__(self, space: _Optional[str] = ..., id: _Optional[str] = ..., resolution: _Optional[_Union[Resolution, str]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class FileServiceResolveProposalResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...
