import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import operation_pb2 as _operation_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ArchiveAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARCHIVE_ACTION_UNSPECIFIED: _ClassVar[ArchiveAction]
    ARCHIVE_ACTION_ARCHIVE: _ClassVar[ArchiveAction]
    ARCHIVE_ACTION_DELETE: _ClassVar[ArchiveAction]
    ARCHIVE_ACTION_KEEP: _ClassVar[ArchiveAction]
    ARCHIVE_ACTION_POSTPONED: _ClassVar[ArchiveAction]

class FindingLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINDING_LEVEL_UNSPECIFIED: _ClassVar[FindingLevel]
    FINDING_LEVEL_OK: _ClassVar[FindingLevel]
    FINDING_LEVEL_WARN: _ClassVar[FindingLevel]
    FINDING_LEVEL_FAIL: _ClassVar[FindingLevel]

class EditKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EDIT_KIND_UNSPECIFIED: _ClassVar[EditKind]
    EDIT_KIND_REFUSED: _ClassVar[EditKind]
    EDIT_KIND_AMBIGUOUS: _ClassVar[EditKind]
    EDIT_KIND_CONFLICT: _ClassVar[EditKind]

class ExportFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPORT_FORMAT_UNSPECIFIED: _ClassVar[ExportFormat]
    EXPORT_FORMAT_JSONL: _ClassVar[ExportFormat]
    EXPORT_FORMAT_MEMORY_JSON: _ClassVar[ExportFormat]
ARCHIVE_ACTION_UNSPECIFIED: ArchiveAction
ARCHIVE_ACTION_ARCHIVE: ArchiveAction
ARCHIVE_ACTION_DELETE: ArchiveAction
ARCHIVE_ACTION_KEEP: ArchiveAction
ARCHIVE_ACTION_POSTPONED: ArchiveAction
FINDING_LEVEL_UNSPECIFIED: FindingLevel
FINDING_LEVEL_OK: FindingLevel
FINDING_LEVEL_WARN: FindingLevel
FINDING_LEVEL_FAIL: FindingLevel
EDIT_KIND_UNSPECIFIED: EditKind
EDIT_KIND_REFUSED: EditKind
EDIT_KIND_AMBIGUOUS: EditKind
EDIT_KIND_CONFLICT: EditKind
EXPORT_FORMAT_UNSPECIFIED: ExportFormat
EXPORT_FORMAT_JSONL: ExportFormat
EXPORT_FORMAT_MEMORY_JSON: ExportFormat

class AdminServiceArchiveRequest(_message.Message):
    __slots__ = ("space", "archive_days", "delete_days", "dry_run", "max_days")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_DAYS_FIELD_NUMBER: _ClassVar[int]
    DELETE_DAYS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    MAX_DAYS_FIELD_NUMBER: _ClassVar[int]
    space: str
    archive_days: int
    delete_days: int
    dry_run: bool
    max_days: int
    def __init__(self, space: _Optional[str] = ..., archive_days: _Optional[int] = ..., delete_days: _Optional[int] = ..., dry_run: _Optional[bool] = ..., max_days: _Optional[int] = ...) -> None: ...

class ArchivedDay(_message.Message):
    __slots__ = ("space", "date", "action", "entry_count", "promoted", "summary", "reason", "operation", "age_days", "skipped", "note")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DATE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    PROMOTED_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    AGE_DAYS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    space: str
    date: str
    action: ArchiveAction
    entry_count: int
    promoted: _containers.RepeatedCompositeFieldContainer[PromotedEntry]
    summary: str
    reason: str
    operation: int
    age_days: int
    skipped: _containers.RepeatedCompositeFieldContainer[SkippedEntry]
    note: str
    def __init__(self, space: _Optional[str] = ..., date: _Optional[str] = ..., action: _Optional[_Union[ArchiveAction, str]] = ..., entry_count: _Optional[int] = ..., promoted: _Optional[_Iterable[_Union[PromotedEntry, _Mapping]]] = ..., summary: _Optional[str] = ..., reason: _Optional[str] = ..., operation: _Optional[int] = ..., age_days: _Optional[int] = ..., skipped: _Optional[_Iterable[_Union[SkippedEntry, _Mapping]]] = ..., note: _Optional[str] = ...) -> None: ...

class PromotedEntry(_message.Message):
    __slots__ = ("memory_id", "entry_id", "category", "content")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    entry_id: str
    category: str
    content: str
    def __init__(self, memory_id: _Optional[str] = ..., entry_id: _Optional[str] = ..., category: _Optional[str] = ..., content: _Optional[str] = ...) -> None: ...

class SkippedEntry(_message.Message):
    __slots__ = ("entry_id", "category", "content", "reason")
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    entry_id: str
    category: str
    content: str
    reason: str
    def __init__(self, entry_id: _Optional[str] = ..., category: _Optional[str] = ..., content: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class AdminServiceArchiveResponse(_message.Message):
    __slots__ = ("days", "today", "expired", "waiting")
    DAYS_FIELD_NUMBER: _ClassVar[int]
    TODAY_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    days: _containers.RepeatedCompositeFieldContainer[ArchivedDay]
    today: str
    expired: _containers.RepeatedCompositeFieldContainer[ExpiredMemory]
    waiting: str
    def __init__(self, days: _Optional[_Iterable[_Union[ArchivedDay, _Mapping]]] = ..., today: _Optional[str] = ..., expired: _Optional[_Iterable[_Union[ExpiredMemory, _Mapping]]] = ..., waiting: _Optional[str] = ...) -> None: ...

class AdminServiceCheckpointRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceCheckpointResponse(_message.Message):
    __slots__ = ("lsn",)
    LSN_FIELD_NUMBER: _ClassVar[int]
    lsn: int
    def __init__(self, lsn: _Optional[int] = ...) -> None: ...

class AdminServiceCheckRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceCheckResponse(_message.Message):
    __slots__ = ("problems", "lsn")
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    LSN_FIELD_NUMBER: _ClassVar[int]
    problems: _containers.RepeatedScalarFieldContainer[str]
    lsn: int
    def __init__(self, problems: _Optional[_Iterable[str]] = ..., lsn: _Optional[int] = ...) -> None: ...

class AdminServiceDoctorRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Finding(_message.Message):
    __slots__ = ("name", "level", "detail", "remedy")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    name: str
    level: FindingLevel
    detail: str
    remedy: str
    def __init__(self, name: _Optional[str] = ..., level: _Optional[_Union[FindingLevel, str]] = ..., detail: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class AdminServiceDoctorResponse(_message.Message):
    __slots__ = ("findings",)
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    def __init__(self, findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ...) -> None: ...

class AdminServiceInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceInfoResponse(_message.Message):
    __slots__ = ("version", "api_version", "pid", "data_dir", "socket", "started_at", "lsn", "read_only_reason", "paused", "store", "epoch", "jobs", "clock_doubt")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    DATA_DIR_FIELD_NUMBER: _ClassVar[int]
    SOCKET_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    LSN_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_REASON_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    STORE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_DOUBT_FIELD_NUMBER: _ClassVar[int]
    version: str
    api_version: str
    pid: int
    data_dir: str
    socket: str
    started_at: _timestamp_pb2.Timestamp
    lsn: int
    read_only_reason: str
    paused: bool
    store: str
    epoch: str
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    clock_doubt: str
    def __init__(self, version: _Optional[str] = ..., api_version: _Optional[str] = ..., pid: _Optional[int] = ..., data_dir: _Optional[str] = ..., socket: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lsn: _Optional[int] = ..., read_only_reason: _Optional[str] = ..., paused: _Optional[bool] = ..., store: _Optional[str] = ..., epoch: _Optional[str] = ..., jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., clock_doubt: _Optional[str] = ...) -> None: ...

class AdminServicePauseRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServicePauseResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceResumeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceResumeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceStopRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceStopResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Edit(_message.Message):
    __slots__ = ("id", "space", "file", "kind", "details", "copy", "noticed_at", "base", "in_place")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    COPY_FIELD_NUMBER: _ClassVar[int]
    NOTICED_AT_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    IN_PLACE_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    file: str
    kind: EditKind
    details: _containers.RepeatedScalarFieldContainer[str]
    copy: str
    noticed_at: _timestamp_pb2.Timestamp
    base: int
    in_place: bool
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., file: _Optional[str] = ..., kind: _Optional[_Union[EditKind, str]] = ..., details: _Optional[_Iterable[str]] = ..., copy: _Optional[str] = ..., noticed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., base: _Optional[int] = ..., in_place: _Optional[bool] = ...) -> None: ...

class AdminServiceListEditsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceListEditsResponse(_message.Message):
    __slots__ = ("edits",)
    EDITS_FIELD_NUMBER: _ClassVar[int]
    edits: _containers.RepeatedCompositeFieldContainer[Edit]
    def __init__(self, edits: _Optional[_Iterable[_Union[Edit, _Mapping]]] = ...) -> None: ...

class AdminServiceGetEditRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class AdminServiceGetEditResponse(_message.Message):
    __slots__ = ("edit", "changes")
    EDIT_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    edit: Edit
    changes: _containers.RepeatedCompositeFieldContainer[_operation_pb2.Change]
    def __init__(self, edit: _Optional[_Union[Edit, _Mapping]] = ..., changes: _Optional[_Iterable[_Union[_operation_pb2.Change, _Mapping]]] = ...) -> None: ...

class AdminServiceResolveEditRequest(_message.Message):
    __slots__ = ("id", "accept")
    ID_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_FIELD_NUMBER: _ClassVar[int]
    id: str
    accept: bool
    def __init__(self, id: _Optional[str] = ..., accept: _Optional[bool] = ...) -> None: ...

class AdminServiceResolveEditResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class AdminServiceBackupRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceBackupResponse(_message.Message):
    __slots__ = ("chunk", "lsn")
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    LSN_FIELD_NUMBER: _ClassVar[int]
    chunk: bytes
    lsn: int
    def __init__(self, chunk: _Optional[bytes] = ..., lsn: _Optional[int] = ...) -> None: ...

class AdminServiceExportRequest(_message.Message):
    __slots__ = ("spaces", "format")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    format: ExportFormat
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., format: _Optional[_Union[ExportFormat, str]] = ...) -> None: ...

class AdminServiceExportResponse(_message.Message):
    __slots__ = ("chunk",)
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    chunk: bytes
    def __init__(self, chunk: _Optional[bytes] = ...) -> None: ...

class AdminServiceImportRequest(_message.Message):
    __slots__ = ("space", "dry_run", "chunk")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    space: str
    dry_run: bool
    chunk: bytes
    def __init__(self, space: _Optional[str] = ..., dry_run: _Optional[bool] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class ImportCount(_message.Message):
    __slots__ = ("kind", "space", "added", "same", "skipped", "merged")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    SAME_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    MERGED_FIELD_NUMBER: _ClassVar[int]
    kind: str
    space: str
    added: int
    same: int
    skipped: int
    merged: int
    def __init__(self, kind: _Optional[str] = ..., space: _Optional[str] = ..., added: _Optional[int] = ..., same: _Optional[int] = ..., skipped: _Optional[int] = ..., merged: _Optional[int] = ...) -> None: ...

class SkippedImport(_message.Message):
    __slots__ = ("line", "kind", "id", "reason", "detail")
    LINE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    line: int
    kind: str
    id: str
    reason: str
    detail: str
    def __init__(self, line: _Optional[int] = ..., kind: _Optional[str] = ..., id: _Optional[str] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class AdminServiceImportResponse(_message.Message):
    __slots__ = ("counts", "skipped", "operations", "merged")
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    MERGED_FIELD_NUMBER: _ClassVar[int]
    counts: _containers.RepeatedCompositeFieldContainer[ImportCount]
    skipped: _containers.RepeatedCompositeFieldContainer[SkippedImport]
    operations: _containers.RepeatedScalarFieldContainer[int]
    merged: _containers.RepeatedCompositeFieldContainer[MergedImport]
    def __init__(self, counts: _Optional[_Iterable[_Union[ImportCount, _Mapping]]] = ..., skipped: _Optional[_Iterable[_Union[SkippedImport, _Mapping]]] = ..., operations: _Optional[_Iterable[int]] = ..., merged: _Optional[_Iterable[_Union[MergedImport, _Mapping]]] = ...) -> None: ...

class AdminServiceCompressRequest(_message.Message):
    __slots__ = ("space", "days", "max_groups", "dry_run")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    MAX_GROUPS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    space: str
    days: int
    max_groups: int
    dry_run: bool
    def __init__(self, space: _Optional[str] = ..., days: _Optional[int] = ..., max_groups: _Optional[int] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class CompressedGroup(_message.Message):
    __slots__ = ("space", "category", "originals", "results", "reason", "operation")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    ORIGINALS_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    space: str
    category: str
    originals: _containers.RepeatedScalarFieldContainer[str]
    results: _containers.RepeatedCompositeFieldContainer[MergedMemory]
    reason: str
    operation: int
    def __init__(self, space: _Optional[str] = ..., category: _Optional[str] = ..., originals: _Optional[_Iterable[str]] = ..., results: _Optional[_Iterable[_Union[MergedMemory, _Mapping]]] = ..., reason: _Optional[str] = ..., operation: _Optional[int] = ...) -> None: ...

class MergedMemory(_message.Message):
    __slots__ = ("memory_id", "content", "supersedes")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    content: str
    supersedes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memory_id: _Optional[str] = ..., content: _Optional[str] = ..., supersedes: _Optional[_Iterable[str]] = ...) -> None: ...

class AdminServiceCompressResponse(_message.Message):
    __slots__ = ("groups", "postponed", "candidates")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    POSTPONED_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[CompressedGroup]
    postponed: str
    candidates: int
    def __init__(self, groups: _Optional[_Iterable[_Union[CompressedGroup, _Mapping]]] = ..., postponed: _Optional[str] = ..., candidates: _Optional[int] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("name", "last_run", "last_result", "last_error", "failures", "next_run", "running")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LAST_RUN_FIELD_NUMBER: _ClassVar[int]
    LAST_RESULT_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    NEXT_RUN_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    name: str
    last_run: _timestamp_pb2.Timestamp
    last_result: str
    last_error: str
    failures: int
    next_run: _timestamp_pb2.Timestamp
    running: bool
    def __init__(self, name: _Optional[str] = ..., last_run: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_result: _Optional[str] = ..., last_error: _Optional[str] = ..., failures: _Optional[int] = ..., next_run: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., running: _Optional[bool] = ...) -> None: ...

class ExpiredMemory(_message.Message):
    __slots__ = ("space", "memory_id", "category", "operation")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    space: str
    memory_id: str
    category: str
    operation: int
    def __init__(self, space: _Optional[str] = ..., memory_id: _Optional[str] = ..., category: _Optional[str] = ..., operation: _Optional[int] = ...) -> None: ...

class MergedImport(_message.Message):
    __slots__ = ("line", "kind", "id", "into", "reason")
    LINE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    INTO_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    line: int
    kind: str
    id: str
    into: str
    reason: str
    def __init__(self, line: _Optional[int] = ..., kind: _Optional[str] = ..., id: _Optional[str] = ..., into: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
