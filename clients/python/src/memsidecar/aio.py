"""The asynchronous client, for asyncio."""

from __future__ import annotations

import asyncio
import builtins
import copy
import datetime
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import grpc

from . import _requests
from ._errors import MemsidecarError, error_of
from ._find import Finder
from ._retry import CHANNEL_OPTIONS, FIRST_PAUSE, MAX_PAUSE, retryable
from ._requests import Filter, Saved
from .v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    file_service_pb2_grpc,
    log_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    operation_pb2,
    operation_service_pb2_grpc,
    search_service_pb2,
    search_service_pb2_grpc,
    session_pb2,
    session_service_pb2,
    session_service_pb2_grpc,
)

R = TypeVar("R")
T = TypeVar("T")


class _Retrier(grpc.aio.UnaryUnaryClientInterceptor):
    """Retries calls while no daemon answers, where that is safe."""

    def __init__(self, finder: Finder, patience: float) -> None:
        self._finder = finder
        self._patience = patience

    async def intercept_unary_unary(
        self, continuation: Callable[..., Any], client_call_details: Any, request: Any
    ) -> Any:
        method = client_call_details.method
        method = method.decode() if isinstance(method, bytes) else method
        request, may_retry = retryable(method, request)
        ends = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            call = await continuation(client_call_details, request)
            if not may_retry or await call.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() + pause > ends:
                return call
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)
            await asyncio.to_thread(self._finder.restart)


class AsyncClient:
    """:class:`memsidecar.Client` for asyncio; :meth:`connect` makes it."""

    def __init__(self, finder: Finder, path: str, space: str, patience: float) -> None:
        self.space = space
        self._after: tuple[str, ...] = ()
        interceptors = [_Retrier(finder, patience)]
        self._channel = grpc.aio.insecure_channel("unix:" + path, options=CHANNEL_OPTIONS, interceptors=interceptors)
        self.memory = cast("memory_service_pb2_grpc.MemoryServiceAsyncStub", memory_service_pb2_grpc.MemoryServiceStub(self._channel))
        self.searches = cast("search_service_pb2_grpc.SearchServiceAsyncStub", search_service_pb2_grpc.SearchServiceStub(self._channel))
        self.sessions = cast("session_service_pb2_grpc.SessionServiceAsyncStub", session_service_pb2_grpc.SessionServiceStub(self._channel))
        self.logs = cast("log_service_pb2_grpc.LogServiceAsyncStub", log_service_pb2_grpc.LogServiceStub(self._channel))
        self.operations = cast("operation_service_pb2_grpc.OperationServiceAsyncStub", operation_service_pb2_grpc.OperationServiceStub(self._channel))
        self.files = cast("file_service_pb2_grpc.FileServiceAsyncStub", file_service_pb2_grpc.FileServiceStub(self._channel))
        self.admin = cast("admin_service_pb2_grpc.AdminServiceAsyncStub", admin_service_pb2_grpc.AdminServiceStub(self._channel))

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

    async def call(self, method: Callable[[R], Awaitable[T]], request: R) -> T:
        """Make a call of a generated stub; raise :class:`MemsidecarError` if it fails."""
        try:
            return await method(request)
        except grpc.RpcError as err:
            raise error_of(err) from err

    def in_space(self, space: str) -> AsyncClient:
        """Return a client of another space on the same connection, which the first client closes."""
        other = copy.copy(self)
        other.space, other._after = space, ()
        return other

    def after(self, positions: Iterable[str]) -> AsyncClient:
        """Return a client on the same connection whose reads include what these positions name, and wait for it.

        They are the ``positions`` of what was saved in the same shared space, through any machine. Reads are ``get``,
        ``get_many``, ``list``, ``search`` and ``recall``. The reason of an error is POSITION_NOT_REACHED if it did not arrive.
        """
        other = copy.copy(self)
        other._after = tuple(positions)
        return other

    async def remember(
        self,
        content: str,
        *,
        category: str = "",
        salience: float | None = None,
        title: str = "",
        tags: Iterable[str] = (),
        description: str = "",
        pinned: bool = False,
        source: str = "",
        expires_at: datetime.datetime | None = None,
        structured_data: Mapping[str, Any] | None = None,
        allow_sensitive: bool = False,
    ) -> Saved:
        """Save a memory without changing its text, durably.

        What looks like a secret is taken out, and the result says what and where; ``allow_sensitive`` stores it.
        """
        item = _requests.new(
            content,
            category=category,
            salience=salience,
            title=title,
            tags=tags,
            description=description,
            pinned=pinned,
            source=source,
            expires_at=expires_at,
            structured_data=structured_data,
        )
        return _requests.saved(await self.call(self.memory.Add, _requests.add(self.space, [item], allow_sensitive)))

    async def get(self, id: str) -> memory_pb2.Memory:
        """Return a memory in any state. The reason of the error is NOT_FOUND if the id is not known."""
        return (await self.call(self.memory.Get, _requests.get(self.space, [id], after=self._after))).memories[0]

    async def get_many(self, ids: Iterable[str]) -> builtins.list[memory_pb2.Memory]:
        """Return those memories that are known, of at most 1,000 ids, in the order of the ids."""
        found: builtins.list[memory_pb2.Memory] = []
        ids, token = builtins.list(ids), ""
        while ids:
            try:
                response = await self.call(self.memory.Get, _requests.get(self.space, ids, token, self._after))
            except MemsidecarError as err:
                if err.reason != "NOT_FOUND":
                    raise
                break
            found += response.memories
            token = response.next_page_token
            if not token:
                break
        return found

    async def list(
        self, filter: Filter | None = None, *, order: str = "created", ascending: bool = False, limit: int | None = None
    ) -> AsyncIterator[memory_pb2.Memory]:
        """Yield the memories that the filter selects, largest or newest first; read page by page.

        ``order`` is created, updated, salience or access.
        """
        token = ""
        while limit is None or limit > 0:
            request = _requests.page(self.space, filter, order, ascending, limit, token, self._after)
            response = await self.call(self.memory.List, request)
            for memory in response.memories:
                yield memory
            token = response.next_page_token
            if not token:
                return
            limit = None if limit is None else limit - len(response.memories)

    async def update(
        self,
        id: str,
        *,
        content: str | None = None,
        category: str | None = None,
        salience: float | None = None,
        title: str | None = None,
        tags: Iterable[str] | None = None,
        description: str | None = None,
        pinned: bool | None = None,
        expires_at: datetime.datetime | None = None,
        structured_data: Mapping[str, Any] | None = None,
        clear: Iterable[str] = (),
        expected_revision: int = 0,
    ) -> memory_pb2.Memory:
        """Change the given fields of a memory, durably, and clear those named by ``clear``; return the memory.

        The reason of the error is STALE_REVISION if the memory does not have ``expected_revision``; 0 means any.
        """
        request = _requests.update(
            self.space,
            id,
            content=content,
            category=category,
            salience=salience,
            title=title,
            tags=tags,
            description=description,
            pinned=pinned,
            expires_at=expires_at,
            structured_data=structured_data,
            clear=clear,
            expected_revision=expected_revision,
        )
        return (await self.call(self.memory.Update, request)).memory

    async def save(
        self, memory_text: str = "", *, history_entry: str = "", session_id: str = "", dry_run: bool = False
    ) -> builtins.list[memory_service_pb2.SavedMemory]:
        """Write an entry to the daily log, and bring the memories up to date with statements, one a line.

        Rules decide for each line whether it is new, changes a memory or is known.
        """
        request = _requests.save(self.space, memory_text, history_entry, session_id, dry_run)
        return builtins.list((await self.call(self.memory.Save, request)).memories)

    async def forget(self, id: str) -> str:
        """Retire a memory, which is not learned again; return the id of the operation, for undo."""
        return (await self.call(self.memory.Delete, _requests.delete(self.space, [id]))).result.operation_id

    async def restore(self, id: str) -> str:
        """Make a retired or superseded memory active again; return the id of the operation, for undo.

        The reason of the error is EXACT_DUPLICATE if another memory says the same.
        """
        return _requests.restored(await self.call(self.memory.Restore, _requests.restore(self.space, [id])))

    async def undo(self, operation: str) -> str:
        """Undo an operation by its id; return the id of the operation that did."""
        return (await self.call(self.operations.Undo, _requests.undo(operation))).result.operation_id

    async def history(self, id: str) -> AsyncIterator[operation_pb2.Operation]:
        """Yield the operations that changed a memory, newest first, each with the changes of this memory."""
        token = ""
        while True:
            response = await self.call(self.memory.History, _requests.history(self.space, id, token))
            for operation in response.operations:
                yield operation
            token = response.next_page_token
            if not token:
                return

    async def search(
        self,
        query: str,
        limit: int = 10,
        *,
        filter: Filter | None = None,
        include_logs: bool = False,
        min_score: float = 0.0,
        session_id: str = "",
    ) -> builtins.list[search_service_pb2.SearchHit]:
        """Return at most limit memories (1 to 200), best first; none if nothing is relevant."""
        request = _requests.search(
            self.space, query, limit, filter, include_logs, min_score, session_id, self._after
        )
        return builtins.list((await self.call(self.searches.Search, request)).hits)

    async def recall(self, prompt: str, *, session_id: str = "", token_budget: int = 0) -> str:
        """Return memories to add to a prompt, fenced as data; empty if none is relevant.

        ``token_budget`` is 50 to 8,000 estimated tokens; 0 means 1,500.
        """
        request = _requests.recall(self.space, prompt, session_id, token_budget, self._after)
        return (await self.call(self.searches.Recall, request)).block

    async def hint(self, tool: str, arguments: str = "", *, session_id: str = "") -> str:
        """Return known failures of a tool call that is about to be made, fenced as data; usually empty."""
        return (await self.call(self.searches.Hint, _requests.hint(self.space, tool, arguments, session_id))).block

    async def context(
        self, session_id: str = "", *, host: str = "", cwd: str = "", token_budget: int = 0, first_message: str = ""
    ) -> str:
        """Start or continue a session, and return what the agent should know at its start, fenced as data.

        ``token_budget`` is 50 to 8,000 estimated tokens; 0 means as configured. A session keeps its first context.
        """
        request = _requests.start(self.space, session_id, host, cwd, token_budget, first_message)
        return (await self.call(self.sessions.Start, request)).context

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

    async def tool(self, name: str, arguments: str, result: str) -> None:
        """Record a tool call that worked."""
        await self.append(_requests.tool(name, arguments, result, ""))

    async def tool_failed(self, tool: str, arguments: str, error: str) -> None:
        """Record a failed tool call, from which the daemon learns."""
        await self.append(_requests.tool(tool, arguments, "", error or "failed"))

    async def messages(self, first: int = 1) -> AsyncIterator[session_pb2.SessionMessage]:
        """Yield the recorded messages in order, from the sequence number ``first``."""
        token = ""
        while True:
            request = _requests.messages(self._space, self.id, first, token)
            response = await self._client.call(self._client.sessions.ListMessages, request)
            for message in response.messages:
                yield message
            token = response.next_page_token
            if not token:
                return

    async def recall(self, prompt: str) -> str:
        """Return memories to add to a prompt, without those that this session already got."""
        return await self._client.in_space(self._space).after(self._client._after).recall(prompt, session_id=self.id)

    async def hint(self, tool: str, arguments: str = "") -> str:
        """Return known failures of a tool call that is about to be made, each rule once."""
        return await self._client.in_space(self._space).hint(tool, arguments, session_id=self.id)

    async def end(self) -> None:
        """End the session. The daemon learns from it in the background, once."""
        await self._client.call(self._client.sessions.End, _requests.end(self._space, self.id))

    async def reflect(self) -> session_service_pb2.SessionServiceReflectResponse:
        """End the session and wait until the daemon has learned from it."""
        return await self._client.call(self._client.sessions.Reflect, _requests.reflect(self._space, self.id))
