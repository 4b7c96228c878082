"""Which calls may be made twice."""

from __future__ import annotations

import uuid

from google.protobuf.message import Message

from .v1 import session_service_pb2

FIRST_PAUSE = 0.02
MAX_PAUSE = 0.5

_READS = frozenset(
    "Get List Search Similar Recall History GetRollingSummary Stats Hot Info Doctor Check ListRecalls ListEdits GetEdit".split()
)

# Without these, a channel waits a second and more after a daemon was restarted.
CHANNEL_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.max_send_message_length", 16 << 20),
    ("grpc.max_receive_message_length", 64 << 20),
)


def repeatable(method: str, request: Message) -> tuple[Message, bool]:
    """Return the request to send, and whether it may be sent twice.

    A reading call may; a write that can carry an idempotency key is given one; messages may that carry sequence numbers.
    """
    if isinstance(request, session_service_pb2.SessionServiceAppendRequest):
        return request, all(m.seq for m in request.messages)
    if "idempotency_key" not in request.DESCRIPTOR.fields_by_name:
        return request, method.rpartition("/")[2] in _READS
    if not request.idempotency_key:
        keyed = type(request)()
        keyed.CopyFrom(request)
        keyed.idempotency_key = str(uuid.uuid4())
        request = keyed
    return request, True
