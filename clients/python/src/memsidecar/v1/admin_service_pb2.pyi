from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ArchiveAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARCHIVE_ACTION_UNSPECIFIED: _ClassVar[ArchiveAction]
    ARCHIVE_ACTION_ARCHIVE: _ClassVar[ArchiveAction]
    ARCHIVE_ACTION_DELETE: _ClassVar[ArchiveAction]
    ARCHIVE_ACTION_KEEP: _ClassVar[ArchiveAction]
    ARCHIVE_ACTION_POSTPONED: _ClassVar[ArchiveAction]

class ExportFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPORT_FORMAT_UNSPECIFIED: _ClassVar[ExportFormat]
    EXPORT_FORMAT_JSONL: _ClassVar[ExportFormat]
    EXPORT_FORMAT_MEMORY_JSON: _ClassVar[ExportFormat]

class ImportKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IMPORT_KIND_UNSPECIFIED: _ClassVar[ImportKind]
    IMPORT_KIND_MEMORY: _ClassVar[ImportKind]
    IMPORT_KIND_ENTRY: _ClassVar[ImportKind]
    IMPORT_KIND_DAY: _ClassVar[ImportKind]
    IMPORT_KIND_ARCHIVED: _ClassVar[ImportKind]
    IMPORT_KIND_SUMMARY: _ClassVar[ImportKind]
    IMPORT_KIND_FORGOTTEN: _ClassVar[ImportKind]
    IMPORT_KIND_SESSION: _ClassVar[ImportKind]

class FindingLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINDING_LEVEL_UNSPECIFIED: _ClassVar[FindingLevel]
    FINDING_LEVEL_OK: _ClassVar[FindingLevel]
    FINDING_LEVEL_WARN: _ClassVar[FindingLevel]
    FINDING_LEVEL_FAIL: _ClassVar[FindingLevel]
ARCHIVE_ACTION_UNSPECIFIED: ArchiveAction
ARCHIVE_ACTION_ARCHIVE: ArchiveAction
ARCHIVE_ACTION_DELETE: ArchiveAction
ARCHIVE_ACTION_KEEP: ArchiveAction
ARCHIVE_ACTION_POSTPONED: ArchiveAction
EXPORT_FORMAT_UNSPECIFIED: ExportFormat
EXPORT_FORMAT_JSONL: ExportFormat
EXPORT_FORMAT_MEMORY_JSON: ExportFormat
IMPORT_KIND_UNSPECIFIED: ImportKind
IMPORT_KIND_MEMORY: ImportKind
IMPORT_KIND_ENTRY: ImportKind
IMPORT_KIND_DAY: ImportKind
IMPORT_KIND_ARCHIVED: ImportKind
IMPORT_KIND_SUMMARY: ImportKind
IMPORT_KIND_FORGOTTEN: ImportKind
IMPORT_KIND_SESSION: ImportKind
FINDING_LEVEL_UNSPECIFIED: FindingLevel
FINDING_LEVEL_OK: FindingLevel
FINDING_LEVEL_WARN: FindingLevel
FINDING_LEVEL_FAIL: FindingLevel

class AdminServiceInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceInfoResponse(_message.Message):
    __slots__ = ("version", "api_version", "pid", "data_dir", "socket_path", "started_at", "position", "read_only_reason", "paused", "store_id", "epoch", "jobs", "clock_warning")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    DATA_DIR_FIELD_NUMBER: _ClassVar[int]
    SOCKET_PATH_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_REASON_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_WARNING_FIELD_NUMBER: _ClassVar[int]
    version: str
    api_version: str
    pid: int
    data_dir: str
    socket_path: str
    started_at: _timestamp_pb2.Timestamp
    position: str
    read_only_reason: str
    paused: bool
    store_id: str
    epoch: str
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    clock_warning: str
    def __init__(self, version: _Optional[str] = ..., api_version: _Optional[str] = ..., pid: _Optional[int] = ..., data_dir: _Optional[str] = ..., socket_path: _Optional[str] = ..., started_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., position: _Optional[str] = ..., read_only_reason: _Optional[str] = ..., paused: bool = ..., store_id: _Optional[str] = ..., epoch: _Optional[str] = ..., jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., clock_warning: _Optional[str] = ...) -> None: ...

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
    def __init__(self, name: _Optional[str] = ..., last_run: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_result: _Optional[str] = ..., last_error: _Optional[str] = ..., failures: _Optional[int] = ..., next_run: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., running: bool = ...) -> None: ...

class AdminServiceArchiveRequest(_message.Message):
    __slots__ = ("space", "archive_days", "delete_days", "dry_run", "limit", "idempotency_key")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_DAYS_FIELD_NUMBER: _ClassVar[int]
    DELETE_DAYS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    space: str
    archive_days: int
    delete_days: int
    dry_run: bool
    limit: int
    idempotency_key: str
    def __init__(self, space: _Optional[str] = ..., archive_days: _Optional[int] = ..., delete_days: _Optional[int] = ..., dry_run: bool = ..., limit: _Optional[int] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class ArchivedDay(_message.Message):
    __slots__ = ("space", "date", "action", "entry_count", "promoted", "summary", "reason", "operation_id", "age_days", "skipped", "fallback_reason")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DATE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    PROMOTED_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGE_DAYS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_REASON_FIELD_NUMBER: _ClassVar[int]
    space: str
    date: str
    action: ArchiveAction
    entry_count: int
    promoted: _containers.RepeatedCompositeFieldContainer[PromotedEntry]
    summary: str
    reason: str
    operation_id: str
    age_days: int
    skipped: _containers.RepeatedCompositeFieldContainer[SkippedEntry]
    fallback_reason: str
    def __init__(self, space: _Optional[str] = ..., date: _Optional[str] = ..., action: _Optional[_Union[ArchiveAction, str]] = ..., entry_count: _Optional[int] = ..., promoted: _Optional[_Iterable[_Union[PromotedEntry, _Mapping]]] = ..., summary: _Optional[str] = ..., reason: _Optional[str] = ..., operation_id: _Optional[str] = ..., age_days: _Optional[int] = ..., skipped: _Optional[_Iterable[_Union[SkippedEntry, _Mapping]]] = ..., fallback_reason: _Optional[str] = ...) -> None: ...

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

class ExpiredMemory(_message.Message):
    __slots__ = ("space", "memory_id", "category", "operation_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    memory_id: str
    category: str
    operation_id: str
    def __init__(self, space: _Optional[str] = ..., memory_id: _Optional[str] = ..., category: _Optional[str] = ..., operation_id: _Optional[str] = ...) -> None: ...

class AdminServiceArchiveResponse(_message.Message):
    __slots__ = ("result", "days", "today", "expired", "waiting_reason", "omitted_days", "omitted_expired")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    TODAY_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    WAITING_REASON_FIELD_NUMBER: _ClassVar[int]
    OMITTED_DAYS_FIELD_NUMBER: _ClassVar[int]
    OMITTED_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    days: _containers.RepeatedCompositeFieldContainer[ArchivedDay]
    today: str
    expired: _containers.RepeatedCompositeFieldContainer[ExpiredMemory]
    waiting_reason: str
    omitted_days: int
    omitted_expired: int
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., days: _Optional[_Iterable[_Union[ArchivedDay, _Mapping]]] = ..., today: _Optional[str] = ..., expired: _Optional[_Iterable[_Union[ExpiredMemory, _Mapping]]] = ..., waiting_reason: _Optional[str] = ..., omitted_days: _Optional[int] = ..., omitted_expired: _Optional[int] = ...) -> None: ...

class AdminServiceCompressRequest(_message.Message):
    __slots__ = ("space", "days", "limit", "dry_run", "idempotency_key")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    space: str
    days: int
    limit: int
    dry_run: bool
    idempotency_key: str
    def __init__(self, space: _Optional[str] = ..., days: _Optional[int] = ..., limit: _Optional[int] = ..., dry_run: bool = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class CompressedGroup(_message.Message):
    __slots__ = ("space", "category", "original_ids", "results", "reason", "operation_id")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_IDS_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    space: str
    category: str
    original_ids: _containers.RepeatedScalarFieldContainer[str]
    results: _containers.RepeatedCompositeFieldContainer[MergedMemory]
    reason: str
    operation_id: str
    def __init__(self, space: _Optional[str] = ..., category: _Optional[str] = ..., original_ids: _Optional[_Iterable[str]] = ..., results: _Optional[_Iterable[_Union[MergedMemory, _Mapping]]] = ..., reason: _Optional[str] = ..., operation_id: _Optional[str] = ...) -> None: ...

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
    __slots__ = ("result", "groups", "postponed_reason", "candidates", "omitted_groups")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    POSTPONED_REASON_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    OMITTED_GROUPS_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    groups: _containers.RepeatedCompositeFieldContainer[CompressedGroup]
    postponed_reason: str
    candidates: int
    omitted_groups: int
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[CompressedGroup, _Mapping]]] = ..., postponed_reason: _Optional[str] = ..., candidates: _Optional[int] = ..., omitted_groups: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("space", "dry_run", "chunk", "idempotency_key", "allow_sensitive")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    ALLOW_SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    space: str
    dry_run: bool
    chunk: bytes
    idempotency_key: str
    allow_sensitive: bool
    def __init__(self, space: _Optional[str] = ..., dry_run: bool = ..., chunk: _Optional[bytes] = ..., idempotency_key: _Optional[str] = ..., allow_sensitive: bool = ...) -> None: ...

class ImportCount(_message.Message):
    __slots__ = ("kind", "space", "added", "unchanged", "skipped", "merged")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    MERGED_FIELD_NUMBER: _ClassVar[int]
    kind: ImportKind
    space: str
    added: int
    unchanged: int
    skipped: int
    merged: int
    def __init__(self, kind: _Optional[_Union[ImportKind, str]] = ..., space: _Optional[str] = ..., added: _Optional[int] = ..., unchanged: _Optional[int] = ..., skipped: _Optional[int] = ..., merged: _Optional[int] = ...) -> None: ...

class SkippedImport(_message.Message):
    __slots__ = ("line", "kind", "id", "reason", "detail")
    LINE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    line: int
    kind: ImportKind
    id: str
    reason: str
    detail: str
    def __init__(self, line: _Optional[int] = ..., kind: _Optional[_Union[ImportKind, str]] = ..., id: _Optional[str] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class MergedImport(_message.Message):
    __slots__ = ("line", "kind", "id", "memory_id", "reason")
    LINE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    line: int
    kind: ImportKind
    id: str
    memory_id: str
    reason: str
    def __init__(self, line: _Optional[int] = ..., kind: _Optional[_Union[ImportKind, str]] = ..., id: _Optional[str] = ..., memory_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RedactedImport(_message.Message):
    __slots__ = ("line", "kind", "id", "redactions")
    LINE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    REDACTIONS_FIELD_NUMBER: _ClassVar[int]
    line: int
    kind: ImportKind
    id: str
    redactions: _containers.RepeatedCompositeFieldContainer[_write_pb2.Redaction]
    def __init__(self, line: _Optional[int] = ..., kind: _Optional[_Union[ImportKind, str]] = ..., id: _Optional[str] = ..., redactions: _Optional[_Iterable[_Union[_write_pb2.Redaction, _Mapping]]] = ...) -> None: ...

class AdminServiceImportResponse(_message.Message):
    __slots__ = ("result", "counts", "skipped", "operation_ids", "merged", "redacted", "redacted_count")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_IDS_FIELD_NUMBER: _ClassVar[int]
    MERGED_FIELD_NUMBER: _ClassVar[int]
    REDACTED_FIELD_NUMBER: _ClassVar[int]
    REDACTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    counts: _containers.RepeatedCompositeFieldContainer[ImportCount]
    skipped: _containers.RepeatedCompositeFieldContainer[SkippedImport]
    operation_ids: _containers.RepeatedScalarFieldContainer[str]
    merged: _containers.RepeatedCompositeFieldContainer[MergedImport]
    redacted: _containers.RepeatedCompositeFieldContainer[RedactedImport]
    redacted_count: int
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., counts: _Optional[_Iterable[_Union[ImportCount, _Mapping]]] = ..., skipped: _Optional[_Iterable[_Union[SkippedImport, _Mapping]]] = ..., operation_ids: _Optional[_Iterable[str]] = ..., merged: _Optional[_Iterable[_Union[MergedImport, _Mapping]]] = ..., redacted: _Optional[_Iterable[_Union[RedactedImport, _Mapping]]] = ..., redacted_count: _Optional[int] = ...) -> None: ...

class AdminServiceBackupRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceBackupResponse(_message.Message):
    __slots__ = ("chunk", "position")
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    chunk: bytes
    position: str
    def __init__(self, chunk: _Optional[bytes] = ..., position: _Optional[str] = ...) -> None: ...

class AdminServiceCheckRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdminServiceCheckResponse(_message.Message):
    __slots__ = ("problems", "position", "problem_count")
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_COUNT_FIELD_NUMBER: _ClassVar[int]
    problems: _containers.RepeatedScalarFieldContainer[str]
    position: str
    problem_count: int
    def __init__(self, problems: _Optional[_Iterable[str]] = ..., position: _Optional[str] = ..., problem_count: _Optional[int] = ...) -> None: ...

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
