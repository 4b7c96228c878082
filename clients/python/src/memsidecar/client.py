"""The blocking client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

import grpc

from . import _requests
from ._errors import error_of
from ._find import Finder
from ._retry import CHANNEL_OPTIONS, FIRST_PAUSE, MAX_PAUSE, retryable
from ._requests import Saved
from .v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    file_service_pb2_grpc,
    log_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
    operation_service_pb2,
    operation_service_pb2_grpc,
    search_service_pb2,
    search_service_pb2_grpc,
    session_pb2,
    session_service_pb2,
    session_service_pb2_grpc,
)

T = TypeVar("T")


class _Retrier(grpc.UnaryUnaryClientInterceptor):
    """Retries calls while no daemon answers, where that is safe."""

    def __init__(self, finder: Finder, patience: float) -> None:
        self._finder = finder
        self._patience = patience

    def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        request, may_retry = retryable(details.method, request)
        ends = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            call = continuation(details, request)
            if not may_retry or call.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() + pause > ends:
                return call
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)
            self._finder.restart()


class Client:
    """A connection to the daemon. The client finds it and starts it if none runs. Several threads may use it.

    ``memory``, ``searches``, ``sessions``, ``logs``, ``operations``, ``files`` and ``admin`` are the generated stubs; use them
    with :meth:`call`, which converts errors. The other methods are the calls that agents make most.

    A call tries for ``patience`` seconds to reach a daemon, where a retry is safe: every write gets an idempotency key.
    """

    def __init__(
        self, *, socket: str | None = None, program: str | None = None, start: bool = True, space: str = "", patience: float = 10.0
    ) -> None:
        given = {k: v for k, v in (("socket", socket), ("program", program)) if v is not None}
        finder = Finder(start=start, **given)
        self.space = space
        self._channel = grpc.insecure_channel("unix:" + finder.find(), options=CHANNEL_OPTIONS)
        channel = grpc.intercept_channel(self._channel, _Retrier(finder, patience))
        self.memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.searches = search_service_pb2_grpc.SearchServiceStub(channel)
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self.logs = log_service_pb2_grpc.LogServiceStub(channel)
        self.operations = operation_service_pb2_grpc.OperationServiceStub(channel)
        self.files = file_service_pb2_grpc.FileServiceStub(channel)
        self.admin = admin_service_pb2_grpc.AdminServiceStub(channel)
        try:
            self.call(self.admin.Info, admin_service_pb2.AdminServiceInfoRequest())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. The daemon keeps running."""
        self._channel.close()

    def call(self, method: Callable[[Any], T], request: Any) -> T:
        """Make a call of a generated stub; raise :class:`MemsidecarError` if it fails."""
        try:
            return method(request)
        except grpc.RpcError as err:
            raise error_of(err) from err

    def remember(
        self, content: str, *, category: str = "", salience: float | None = None, title: str = "", tags: Iterable[str] = ()
    ) -> Saved:
        """Save a memory without changing its text, durably."""
        return _requests.saved(self.call(self.memory.Add, _requests.add(self.space, content, category, salience, title, tags)))

    def forget(self, id: str) -> str:
        """Retire a memory, which is not learned again; return the id of the operation, for undo."""
        request = memory_service_pb2.MemoryServiceDeleteRequest(space=self.space, ids=[id])
        return self.call(self.memory.Delete, request).result.operation_id

    def undo(self, operation: str) -> str:
        """Undo an operation by its id; return the id of the operation that did."""
        request = operation_service_pb2.OperationServiceUndoRequest(id=operation)
        return self.call(self.operations.Undo, request).result.operation_id

    def search(self, query: str, limit: int = 10) -> list[search_service_pb2.SearchHit]:
        """Return at most limit memories (1 to 200), best first; none if nothing is relevant."""
        return list(self.call(self.searches.Search, _requests.search(self.space, query, limit)).hits)

    def recall(self, prompt: str, *, session_id: str = "") -> str:
        """Return memories to add to a prompt, fenced as data; empty if none is relevant."""
        return self.call(self.searches.Recall, _requests.recall(self.space, prompt, session_id)).block

    def session(self, id: str = "", *, host: str = "", cwd: str = "") -> Session:
        """Start a session, or continue the one with this id. As a context manager it ends with its block."""
        return Session(self, id, host, cwd)


class Session:
    """Records a conversation. When it ends, the daemon learns from it. For one thread.

    ``context`` is what the agent should know at the start, fenced as data; it stays the same for the session.
    """

    def __init__(self, client: Client, id: str, host: str, cwd: str) -> None:
        started = client.call(client.sessions.Start, _requests.start(client.space, id, host, cwd))
        self.id: str = started.session.id
        self.context: str = started.context
        self._client = client
        self._space = started.space
        self._next = started.session.next_seq

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def append(self, *messages: session_pb2.SessionMessage) -> None:
        """Record messages durably. Sets their sequence numbers, so a retry records nothing twice."""
        request = _requests.append(self._space, self.id, self._next, messages)
        self._next = self._client.call(self._client.sessions.Append, request).next_seq

    def say(self, role: str, content: str) -> None:
        """Record a turn; the role is user, assistant, system or tool."""
        self.append(_requests.message(role, content))

    def tool_failed(self, tool: str, arguments: str, error: str) -> None:
        """Record a failed tool call, from which the daemon learns."""
        self.append(_requests.failure(tool, arguments, error))

    def recall(self, prompt: str) -> str:
        """Return memories to add to a prompt, without those that this session already got."""
        return self._client.recall(prompt, session_id=self.id)

    def end(self) -> None:
        """End the session. The daemon learns from it in the background, once."""
        request = session_service_pb2.SessionServiceEndRequest(space=self._space, session_id=self.id, end_reason="client")
        self._client.call(self._client.sessions.End, request)

    def reflect(self) -> session_service_pb2.SessionServiceReflectResponse:
        """End the session and wait until the daemon has learned from it."""
        request = session_service_pb2.SessionServiceReflectRequest(space=self._space, session_id=self.id)
        return self._client.call(self._client.sessions.Reflect, request)
