"""The asynchronous client, for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
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


class _Retrier(grpc.aio.UnaryUnaryClientInterceptor):
    """Retries calls while no daemon answers, where that is safe."""

    def __init__(self, finder: Finder, patience: float) -> None:
        self._finder = finder
        self._patience = patience

    async def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        method = details.method.decode() if isinstance(details.method, bytes) else details.method
        request, may_retry = retryable(method, request)
        ends = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            call = await continuation(details, request)
            if not may_retry or await call.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() + pause > ends:
                return call
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)
            await asyncio.to_thread(self._finder.restart)


class AsyncClient:
    """:class:`memsidecar.Client` for asyncio; :meth:`connect` makes it."""

    def __init__(self, finder: Finder, path: str, space: str, patience: float) -> None:
        self.space = space
        interceptors = [_Retrier(finder, patience)]
        self._channel = grpc.aio.insecure_channel("unix:" + path, options=CHANNEL_OPTIONS, interceptors=interceptors)
        self.memory = memory_service_pb2_grpc.MemoryServiceStub(self._channel)
        self.searches = search_service_pb2_grpc.SearchServiceStub(self._channel)
        self.sessions = session_service_pb2_grpc.SessionServiceStub(self._channel)
        self.logs = log_service_pb2_grpc.LogServiceStub(self._channel)
        self.operations = operation_service_pb2_grpc.OperationServiceStub(self._channel)
        self.files = file_service_pb2_grpc.FileServiceStub(self._channel)
        self.admin = admin_service_pb2_grpc.AdminServiceStub(self._channel)

    @classmethod
    async def connect(
        cls, *, socket: str | None = None, program: str | None = None, start: bool = True, space: str = "", patience: float = 10.0
    ) -> AsyncClient:
        """Find the daemon, start it if necessary and allowed, and check that it answers."""
        given = {k: v for k, v in (("socket", socket), ("program", program)) if v is not None}
        finder = Finder(start=start, **given)
        client = cls(finder, await asyncio.to_thread(finder.find), space, patience)
        try:
            await client.call(client.admin.Info, admin_service_pb2.AdminServiceInfoRequest())
        except BaseException:
            await client.close()
            raise
        return client

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection. The daemon keeps running."""
        await self._channel.close()

    async def call(self, method: Callable[[Any], Awaitable[T]], request: Any) -> T:
        """Make a call of a generated stub; raise :class:`MemsidecarError` if it fails."""
        try:
            return await method(request)
        except grpc.RpcError as err:
            raise error_of(err) from err

    async def remember(
        self, content: str, *, category: str = "", salience: float | None = None, title: str = "", tags: Iterable[str] = ()
    ) -> Saved:
        """Save a memory without changing its text, durably."""
        request = _requests.add(self.space, content, category, salience, title, tags)
        return _requests.saved(await self.call(self.memory.Add, request))

    async def forget(self, id: str) -> str:
        """Retire a memory, which is not learned again; return the id of the operation, for undo."""
        request = memory_service_pb2.MemoryServiceDeleteRequest(space=self.space, ids=[id])
        return (await self.call(self.memory.Delete, request)).result.operation_id

    async def undo(self, operation: str) -> str:
        """Undo an operation by its id; return the id of the operation that did."""
        request = operation_service_pb2.OperationServiceUndoRequest(id=operation)
        return (await self.call(self.operations.Undo, request)).result.operation_id

    async def search(self, query: str, limit: int = 10) -> list[search_service_pb2.SearchHit]:
        """Return at most limit memories (1 to 200), best first; none if nothing is relevant."""
        return list((await self.call(self.searches.Search, _requests.search(self.space, query, limit))).hits)

    async def recall(self, prompt: str, *, session_id: str = "") -> str:
        """Return memories to add to a prompt, fenced as data; empty if none is relevant."""
        return (await self.call(self.searches.Recall, _requests.recall(self.space, prompt, session_id))).block

    async def session(self, id: str = "", *, host: str = "", cwd: str = "") -> AsyncSession:
        """Start a session, or continue the one with this id. As a context manager it ends with its block."""
        started = await self.call(self.sessions.Start, _requests.start(self.space, id, host, cwd))
        return AsyncSession(self, started)


class AsyncSession:
    """:class:`memsidecar.Session` for asyncio; :meth:`AsyncClient.session` makes it."""

    def __init__(self, client: AsyncClient, started: session_service_pb2.SessionServiceStartResponse) -> None:
        self.id: str = started.session.id
        self.context: str = started.context
        self._client = client
        self._space = started.space
        self._next = started.session.next_seq

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def append(self, *messages: session_pb2.SessionMessage) -> None:
        """Record messages durably. Sets their sequence numbers, so a retry records nothing twice."""
        request = _requests.append(self._space, self.id, self._next, messages)
        self._next = (await self._client.call(self._client.sessions.Append, request)).next_seq

    async def say(self, role: str, content: str) -> None:
        """Record a turn; the role is user, assistant, system or tool."""
        await self.append(_requests.message(role, content))

    async def tool_failed(self, tool: str, arguments: str, error: str) -> None:
        """Record a failed tool call, from which the daemon learns."""
        await self.append(_requests.failure(tool, arguments, error))

    async def recall(self, prompt: str) -> str:
        """Return memories to add to a prompt, without those that this session already got."""
        return await self._client.recall(prompt, session_id=self.id)

    async def end(self) -> None:
        """End the session. The daemon learns from it in the background, once."""
        request = session_service_pb2.SessionServiceEndRequest(space=self._space, session_id=self.id, end_reason="client")
        await self._client.call(self._client.sessions.End, request)

    async def reflect(self) -> session_service_pb2.SessionServiceReflectResponse:
        """End the session and wait until the daemon has learned from it."""
        request = session_service_pb2.SessionServiceReflectRequest(space=self._space, session_id=self.id)
        return await self._client.call(self._client.sessions.Reflect, request)
