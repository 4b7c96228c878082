from memsidecar.v1 import search_service_pb2 as _search_service_pb2
from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ProcedureServiceHintRequest(_message.Message):
    __slots__ = ("tool", "arguments", "session_id", "spaces")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments: str
    session_id: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tool: _Optional[str] = ..., arguments: _Optional[str] = ..., session_id: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ...) -> None: ...

class ProcedureServiceHintResponse(_message.Message):
    __slots__ = ("rules", "block", "tokens", "reason")
    RULES_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[_search_service_pb2.RecalledMemory]
    block: str
    tokens: int
    reason: str
    def __init__(self, rules: _Optional[_Iterable[_Union[_search_service_pb2.RecalledMemory, _Mapping]]] = ..., block: _Optional[str] = ..., tokens: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class SkillStep(_message.Message):
    __slots__ = ("tool", "arguments", "note")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments: str
    note: str
    def __init__(self, tool: _Optional[str] = ..., arguments: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class ProcedureServiceRecordSkillRequest(_message.Message):
    __slots__ = ("space", "name", "when", "steps", "session_id", "idempotency_key")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    WHEN_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    space: str
    name: str
    when: str
    steps: _containers.RepeatedCompositeFieldContainer[SkillStep]
    session_id: str
    idempotency_key: str
    def __init__(self, space: _Optional[str] = ..., name: _Optional[str] = ..., when: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[SkillStep, _Mapping]]] = ..., session_id: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class ProcedureServiceRecordSkillResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...
