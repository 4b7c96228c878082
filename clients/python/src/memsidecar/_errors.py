"""The errors of calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Violation:
    """An invalid field of a request."""

    field: str
    description: str


class ProgramNotFoundError(Exception):
    """The memsidecar program could not be run. The client needs it to find and start the daemon."""


class MemsidecarError(Exception):
    """The error of a call.

    ``code`` is the name of the gRPC code. ``reason`` is UPPER_SNAKE and stable; it is empty if no daemon answered.
    ``metadata`` has details of the reason. ``violations`` are all invalid fields of the request.
    """

    def __init__(
        self,
        code: str,
        message: str,
        reason: str = "",
        metadata: dict[str, str] | None = None,
        violations: tuple[Violation, ...] = (),
    ) -> None:
        super().__init__(f"{message} ({reason})" if reason else message)
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = metadata or {}
        self.violations = violations


def _details_of(err: grpc.RpcError) -> list[any_pb2.Any]:
    """The details of an error. grpcio-status reads them too, but allows one major version of protobuf only."""
    metadata = cast("Iterable[tuple[str, bytes]]", err.trailing_metadata() or ())
    for key, value in metadata:
        if key == "grpc-status-details-bin":
            return list(status_pb2.Status.FromString(value).details)
    return []


def error_of(err: grpc.RpcError) -> MemsidecarError:
    """Convert the error of a generated stub."""
    reason = ""
    metadata: dict[str, str] = {}
    violations: list[Violation] = []
    for detail in _details_of(err):
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad):
            violations += [Violation(v.field, v.description) for v in bad.field_violations]
    return MemsidecarError(err.code().name, err.details() or "", reason, metadata, tuple(violations))
