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
from ._repeat import CHANNEL_OPTIONS, FIRST_PAUSE, MAX_PAUSE, repeatable
from ._requests import Saved
from .v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
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


class _Patient(grpc.UnaryUnaryClientInterceptor):
    """Repeats calls that may be repeated while no daemon answers."""

    def __init__(self, finder: Finder, patience: float) -> None:
        self._finder = finder
        self._patience = patience

    def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        request, may_repeat = repeatable(details.method, request)
        ends = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            call = continuation(details, request)
            if not may_repeat or call.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() + pause > ends:
                return call
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)
            self._finder.restart()


class Client:
    """A connection to the daemon, which is found, and started when none runs. It may be used by several threads.

    ``memory``, ``searches``, ``sessions``, ``logs``, ``operations`` and ``admin`` are the generated stubs; :meth:`call` makes a call
    by one of them and translates its errors. The other methods are the calls that agents make all the time.

    A call goes on for ``patience`` seconds trying to reach a daemon when making it twice changes nothing: every write is given an
    idempotency key.
    """

    def __init__(
        self, *, socket: str | None = None, program: str | None = None, start: bool = True, space: str = "", patience: float = 10.0
    ) -> None:
        given = {k: v for k, v in (("socket", socket), ("program", program)) if v is not None}
        finder = Finder(start=start, **given)
        self.space = space
        self._channel = grpc.insecure_channel("unix:" + finder.find(), options=CHANNEL_OPTIONS)
        channel = grpc.intercept_channel(self._channel, _Patient(finder, patience))
        self.memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.searches = search_service_pb2_grpc.SearchServiceStub(channel)
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self.logs = log_service_pb2_grpc.LogServiceStub(channel)
        self.operations = operation_service_pb2_grpc.OperationServiceStub(channel)
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
        """End the connection; the daemon goes on."""
        self._channel.close()

    def call(self, method: Callable[[Any], T], request: Any) -> T:
        """Make a call by a generated stub; raise :class:`MemsidecarError` when it fails."""
        try:
            return method(request)
        except grpc.RpcError as err:
            raise error_of(err) from err

    def remember(
        self, content: str, *, category: str = "", salience: float | None = None, title: str = "", tags: Iterable[str] = ()
    ) -> Saved:
        """Save a memory as it is, durably."""
        return _requests.saved(self.call(self.memory.Add, _requests.add(self.space, content, category, salience, title, tags)))

    def forget(self, id: str) -> int:
        """Retire a memory and keep its value from being learnt again; return the operation, which can be undone."""
        request = memory_service_pb2.MemoryServiceDeleteRequest(space=self.space, ids=[id])
        return self.call(self.memory.Delete, request).result.operation

    def undo(self, operation: int) -> int:
        """Take an operation back; return the one that did."""
        request = operation_service_pb2.OperationServiceUndoRequest(number=operation)
        return self.call(self.operations.Undo, request).result.operation

    def search(self, query: str, k: int = 10) -> list[search_service_pb2.SearchHit]:
        """Return at most k memories (1 to 200) that fit, best first, or none."""
        return list(self.call(self.searches.Search, _requests.search(self.space, query, k)).hits)

    def recall(self, prompt: str, *, session: str = "") -> str:
        """Return what to put beside a prompt, fenced as data, or nothing when nothing fits."""
        return self.call(self.searches.Recall, _requests.recall(self.space, prompt, session)).block

    def session(self, id: str = "", *, host: str = "", cwd: str = "") -> Session:
        """Open a session, or go on with the one of this id. As a context manager it ends with its block."""
        return Session(self, id, host, cwd)


class Session:
    """A conversation that is recorded while it goes on and learnt from when it ends; for one thread.

    ``context`` is what the agent should know from the beginning, fenced as data; it stays the same for the session.
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
        """Record messages durably; their sequence numbers are set here."""
        request = _requests.append(self._space, self.id, self._next, messages)
        self._next = self._client.call(self._client.sessions.Append, request).next_seq

    def say(self, role: str, content: str) -> None:
        """Record one turn of the user, the assistant or the system."""
        self.append(session_pb2.SessionMessage(role=role, content=content))

    def tool_failed(self, tool: str, arguments: str, error: str) -> None:
        """Record that a tool failed, to be learnt from."""
        self.append(_requests.failure(tool, arguments, error))

    def recall(self, prompt: str) -> str:
        """Return what to put beside a prompt, without what this session was told already."""
        return self._client.recall(prompt, session=self.id)

    def end(self) -> None:
        """End the session without waiting: it is learnt from in the background, once."""
        request = session_service_pb2.SessionServiceEndRequest(space=self._space, session_id=self.id, reason="client")
        self._client.call(self._client.sessions.End, request)

    def reflect(self) -> session_service_pb2.SessionServiceReflectResponse:
        """End the session and wait until it is learnt from."""
        request = session_service_pb2.SessionServiceReflectRequest(space=self._space, session_id=self.id)
        return self._client.call(self._client.sessions.Reflect, request)
