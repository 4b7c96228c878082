"""What calls fail with."""

from __future__ import annotations

from dataclasses import dataclass

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status


@dataclass(frozen=True)
class Violation:
    """A field of a request that is not valid."""

    field: str
    description: str


class ProgramNotFoundError(Exception):
    """The memsidecar program, which knows where the daemon listens and starts it, could not be run."""


class MemsidecarError(Exception):
    """What a call failed with.

    ``code`` is the name of the gRPC code, ``reason`` is UPPER_SNAKE and stable (empty when no daemon answered), ``metadata`` belongs
    to the reason, and ``violations`` are all fields of the request that are not valid.
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


def error_of(err: grpc.RpcError) -> MemsidecarError:
    """Translate what a generated stub raised."""
    status = rpc_status.from_call(err)
    reason, metadata, violations = "", {}, []
    for detail in status.details if status else ():
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad):
            violations += [Violation(v.field, v.description) for v in bad.field_violations]
    return MemsidecarError(err.code().name, err.details() or "", reason, metadata, tuple(violations))
