"""Which calls may be made twice."""

from __future__ import annotations

import os

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
    # A fixed window: measuring the connection costs a ping and its answer, and a Unix socket has no distance to fill.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 1 << 20),
)


# Which methods take an idempotency key, as far as they were called. A look at the descriptor takes 5 µs.
_takes_key: dict[str, bool] = {}


def retryable(method: str, request: Message) -> tuple[Message, bool]:
    """Return the request to send, and whether it may be sent twice.

    Calls that only read may; a write without an idempotency key gets one. Messages with sequence numbers need no key: a
    session records each number once.
    """
    if isinstance(request, session_service_pb2.SessionServiceAppendRequest) and all(m.seq for m in request.messages):
        return request, True
    if method not in _takes_key:
        _takes_key[method] = "idempotency_key" in request.DESCRIPTOR.fields_by_name
    if not _takes_key[method]:
        return request, method.rpartition("/")[2] in _READ_ONLY
    if not getattr(request, "idempotency_key"):
        keyed = _copy(request)
        setattr(keyed, "idempotency_key", new_key())
        return keyed, True
    return request, True


def new_key() -> str:
    """Return an idempotency key that no other request has."""
    return os.urandom(16).hex()


def _copy(request: Message) -> Message:
    """Return a copy, in a tenth of the time of copy.deepcopy."""
    copied = type(request)()
    copied.CopyFrom(request)
    return copied
