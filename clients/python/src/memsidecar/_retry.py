"""Which calls may be made twice."""

from __future__ import annotations

import copy
import uuid

from google.protobuf.message import Message

from .v1 import session_service_pb2

FIRST_PAUSE = 0.02
MAX_PAUSE = 0.5

_READ_ONLY = frozenset(
    "Get List Search Similar Recall Hint Hot History GetSummary Stats Info Doctor Check ListRecalls ListMessages "
    "GetWorkingMemory ResolvePath ListEdits GetEdit ListProposals GetProposal".split()
)

# Without these, a channel waits a second or more after a restart of the daemon.
CHANNEL_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 500),
)


def retryable(method: str, request: Message) -> tuple[Message, bool]:
    """Return the request to send, and whether it may be sent twice.

    Calls that only read may; a write without an idempotency key gets one. Messages with sequence numbers need no key: a
    session records each number once.
    """
    if isinstance(request, session_service_pb2.SessionServiceAppendRequest) and all(m.seq for m in request.messages):
        return request, True
    if "idempotency_key" not in request.DESCRIPTOR.fields_by_name:
        return request, method.rpartition("/")[2] in _READ_ONLY
    if not getattr(request, "idempotency_key"):
        keyed: Message = copy.deepcopy(request)
        setattr(keyed, "idempotency_key", str(uuid.uuid4()))
        return keyed, True
    return request, True
