from memsidecar.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GraphEntity(_message.Message):
    __slots__ = ("name", "entity_type", "observations")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ENTITY_TYPE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    entity_type: str
    observations: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., entity_type: _Optional[str] = ..., observations: _Optional[_Iterable[str]] = ...) -> None: ...

class GraphRelation(_message.Message):
    __slots__ = ("to", "relation_type")
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    RELATION_TYPE_FIELD_NUMBER: _ClassVar[int]
    to: str
    relation_type: str
    def __init__(self, to: _Optional[str] = ..., relation_type: _Optional[str] = ..., **kwargs) -> None: ...

class GraphObservations(_message.Message):
    __slots__ = ("entity_name", "contents")
    ENTITY_NAME_FIELD_NUMBER: _ClassVar[int]
    CONTENTS_FIELD_NUMBER: _ClassVar[int]
    entity_name: str
    contents: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, entity_name: _Optional[str] = ..., contents: _Optional[_Iterable[str]] = ...) -> None: ...

class GraphServiceCreateEntitiesRequest(_message.Message):
    __slots__ = ("space", "entities", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    entities: _containers.RepeatedCompositeFieldContainer[GraphEntity]
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., entities: _Optional[_Iterable[_Union[GraphEntity, _Mapping]]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class GraphServiceCreateEntitiesResponse(_message.Message):
    __slots__ = ("result", "created")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    created: _containers.RepeatedCompositeFieldContainer[GraphEntity]
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., created: _Optional[_Iterable[_Union[GraphEntity, _Mapping]]] = ...) -> None: ...

class GraphServiceCreateRelationsRequest(_message.Message):
    __slots__ = ("space", "relations", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    relations: _containers.RepeatedCompositeFieldContainer[GraphRelation]
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., relations: _Optional[_Iterable[_Union[GraphRelation, _Mapping]]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class GraphServiceCreateRelationsResponse(_message.Message):
    __slots__ = ("result", "created")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    created: _containers.RepeatedCompositeFieldContainer[GraphRelation]
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., created: _Optional[_Iterable[_Union[GraphRelation, _Mapping]]] = ...) -> None: ...

class GraphServiceAddObservationsRequest(_message.Message):
    __slots__ = ("space", "observations", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    observations: _containers.RepeatedCompositeFieldContainer[GraphObservations]
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., observations: _Optional[_Iterable[_Union[GraphObservations, _Mapping]]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class GraphServiceAddObservationsResponse(_message.Message):
    __slots__ = ("result", "added")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    added: _containers.RepeatedCompositeFieldContainer[GraphObservations]
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., added: _Optional[_Iterable[_Union[GraphObservations, _Mapping]]] = ...) -> None: ...

class GraphServiceDeleteEntitiesRequest(_message.Message):
    __slots__ = ("space", "names", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    names: _containers.RepeatedScalarFieldContainer[str]
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class GraphServiceDeleteEntitiesResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class GraphServiceDeleteObservationsRequest(_message.Message):
    __slots__ = ("space", "observations", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    observations: _containers.RepeatedCompositeFieldContainer[GraphObservations]
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., observations: _Optional[_Iterable[_Union[GraphObservations, _Mapping]]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class GraphServiceDeleteObservationsResponse(_message.Message):
    __slots__ = ("result", "missing_entities")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MISSING_ENTITIES_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    missing_entities: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., missing_entities: _Optional[_Iterable[str]] = ...) -> None: ...

class GraphServiceDeleteRelationsRequest(_message.Message):
    __slots__ = ("space", "relations", "idempotency_key", "reason", "session")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    space: str
    relations: _containers.RepeatedCompositeFieldContainer[GraphRelation]
    idempotency_key: str
    reason: str
    session: str
    def __init__(self, space: _Optional[str] = ..., relations: _Optional[_Iterable[_Union[GraphRelation, _Mapping]]] = ..., idempotency_key: _Optional[str] = ..., reason: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class GraphServiceDeleteRelationsResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class GraphServiceReadRequest(_message.Message):
    __slots__ = ("space", "names", "contains")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    space: str
    names: _containers.RepeatedScalarFieldContainer[str]
    contains: str
    def __init__(self, space: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ..., contains: _Optional[str] = ...) -> None: ...

class GraphServiceReadResponse(_message.Message):
    __slots__ = ("entities", "relations")
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    entities: _containers.RepeatedCompositeFieldContainer[GraphEntity]
    relations: _containers.RepeatedCompositeFieldContainer[GraphRelation]
    def __init__(self, entities: _Optional[_Iterable[_Union[GraphEntity, _Mapping]]] = ..., relations: _Optional[_Iterable[_Union[GraphRelation, _Mapping]]] = ...) -> None: ...
