"""The blocking client."""

from __future__ import annotations

import builtins
import copy
import datetime
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

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


class _Method:
    """A method of a generated stub. It is called again while no daemon answers, where that is safe."""

    def __init__(self, name: str, method: Any, finder: Finder, patience: float) -> None:
        self._name = name
        self._method = method
        self._finder = finder
        self._patience = patience

    def __call__(self, request: Any, **options: Any) -> Any:
        return self._retry(self._method, request, options)

    def with_call(self, request: Any, **options: Any) -> Any:
        return self._retry(self._method.with_call, request, options)

    def future(self, request: Any, **options: Any) -> Any:
        """A call in the background is made once: nobody waits for it who could repeat it."""
        return self._method.future(retryable(self._name, request)[0], **options)

    def _retry(self, call: Callable[..., Any], request: Any, options: dict[str, Any]) -> Any:
        request, may_retry = retryable(self._name, request)
        if not may_retry:
            return call(request, **options)
        ends = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            try:
                return call(request, **options)
            except grpc.RpcError as err:
                if err.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() + pause > ends:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)
            self._finder.restart()


class _Channel:
    """A channel whose unary methods retry. A call through an interceptor of grpc takes 25 µs more."""

    def __init__(self, channel: grpc.Channel, finder: Finder, patience: float) -> None:
        self._finder = finder
        self._patience = patience
        self._unary = channel.unary_unary
        self.unary_stream = channel.unary_stream
        self.stream_unary = channel.stream_unary
        self.stream_stream = channel.stream_stream

    def unary_unary(self, method: str, *args: Any, **options: Any) -> _Method:
        return _Method(method, self._unary(method, *args, **options), self._finder, self._patience)


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
        self._after: tuple[str, ...] = ()
        self._channel = grpc.insecure_channel("unix:" + finder.find(), options=CHANNEL_OPTIONS)
        channel: Any = _Channel(self._channel, finder, patience)
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

    def call(self, method: Callable[[R], T], request: R) -> T:
        """Make a call of a generated stub; raise :class:`MemsidecarError` if it fails."""
        try:
            return method(request)
        except grpc.RpcError as err:
            raise error_of(err) from err

    def in_space(self, space: str) -> Client:
        """Return a client of another space on the same connection, which the first client closes."""
        other = copy.copy(self)
        other.space, other._after = space, ()
        return other

    def after(self, positions: Iterable[str]) -> Client:
        """Return a client on the same connection whose reads include what these positions name, and wait for it.

        They are the ``positions`` of what was saved in the same shared space, through any machine. Reads are ``get``,
        ``get_many``, ``list``, ``search`` and ``recall``. The reason of an error is POSITION_NOT_REACHED if it did not arrive.
        """
        other = copy.copy(self)
        other._after = tuple(positions)
        return other

    def remember(
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
        return _requests.saved(self.call(self.memory.Add, _requests.add(self.space, [item], allow_sensitive)))

    def get(self, id: str) -> memory_pb2.Memory:
        """Return a memory in any state. The reason of the error is NOT_FOUND if the id is not known."""
        return self.call(self.memory.Get, _requests.get(self.space, [id], after=self._after)).memories[0]

    def get_many(self, ids: Iterable[str]) -> builtins.list[memory_pb2.Memory]:
        """Return those memories that are known, of at most 1,000 ids, in the order of the ids."""
        found: builtins.list[memory_pb2.Memory] = []
        ids, token = builtins.list(ids), ""
        while ids:
            try:
                response = self.call(self.memory.Get, _requests.get(self.space, ids, token, self._after))
            except MemsidecarError as err:
                if err.reason != "NOT_FOUND":
                    raise
                break
            found += response.memories
            token = response.next_page_token
            if not token:
                break
        return found

    def list(
        self, filter: Filter | None = None, *, order: str = "created", ascending: bool = False, limit: int | None = None
    ) -> Iterator[memory_pb2.Memory]:
        """Yield the memories that the filter selects, largest or newest first; read page by page.

        ``order`` is created, updated, salience or access.
        """
        token = ""
        while limit is None or limit > 0:
            request = _requests.page(self.space, filter, order, ascending, limit, token, self._after)
            response = self.call(self.memory.List, request)
            yield from response.memories
            token = response.next_page_token
            if not token:
                return
            limit = None if limit is None else limit - len(response.memories)

    def update(
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
        return self.call(self.memory.Update, request).memory

    def save(
        self, memory_text: str = "", *, history_entry: str = "", session_id: str = "", dry_run: bool = False
    ) -> builtins.list[memory_service_pb2.SavedMemory]:
        """Write an entry to the daily log, and bring the memories up to date with statements, one a line.

        Rules decide for each line whether it is new, changes a memory or is known.
        """
        request = _requests.save(self.space, memory_text, history_entry, session_id, dry_run)
        return builtins.list(self.call(self.memory.Save, request).memories)

    def forget(self, id: str) -> str:
        """Retire a memory, which is not learned again; return the id of the operation, for undo."""
        return self.call(self.memory.Delete, _requests.delete(self.space, [id])).result.operation_id

    def restore(self, id: str) -> str:
        """Make a retired or superseded memory active again; return the id of the operation, for undo.

        The reason of the error is EXACT_DUPLICATE if another memory says the same.
        """
        return _requests.restored(self.call(self.memory.Restore, _requests.restore(self.space, [id])))

    def undo(self, operation: str) -> str:
        """Undo an operation by its id; return the id of the operation that did."""
        return self.call(self.operations.Undo, _requests.undo(operation)).result.operation_id

    def history(self, id: str) -> Iterator[operation_pb2.Operation]:
        """Yield the operations that changed a memory, newest first, each with the changes of this memory."""
        token = ""
        while True:
            response = self.call(self.memory.History, _requests.history(self.space, id, token))
            yield from response.operations
            token = response.next_page_token
            if not token:
                return

    def search(
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
        return builtins.list(self.call(self.searches.Search, request).hits)

    def recall(self, prompt: str, *, session_id: str = "", token_budget: int = 0) -> str:
        """Return memories to add to a prompt, fenced as data; empty if none is relevant.

        ``token_budget`` is 50 to 8,000 estimated tokens; 0 means 1,500.
        """
        request = _requests.recall(self.space, prompt, session_id, token_budget, self._after)
        return self.call(self.searches.Recall, request).block

    def hint(self, tool: str, arguments: str = "", *, session_id: str = "") -> str:
        """Return known failures of a tool call that is about to be made, fenced as data; usually empty."""
        return self.call(self.searches.Hint, _requests.hint(self.space, tool, arguments, session_id)).block

    def context(
        self, session_id: str = "", *, host: str = "", cwd: str = "", token_budget: int = 0, first_message: str = ""
    ) -> str:
        """Start or continue a session, and return what the agent should know at its start, fenced as data.

        ``token_budget`` is 50 to 8,000 estimated tokens; 0 means as configured. A session keeps its first context.
        """
        request = _requests.start(self.space, session_id, host, cwd, token_budget, first_message)
        return self.call(self.sessions.Start, request).context

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

    def tool(self, name: str, arguments: str, result: str) -> None:
        """Record a tool call that worked."""
        self.append(_requests.tool(name, arguments, result, ""))

    def tool_failed(self, tool: str, arguments: str, error: str) -> None:
        """Record a failed tool call, from which the daemon learns."""
        self.append(_requests.tool(tool, arguments, "", error or "failed"))

    def messages(self, first: int = 1) -> Iterator[session_pb2.SessionMessage]:
        """Yield the recorded messages in order, from the sequence number ``first``."""
        token = ""
        while True:
            request = _requests.messages(self._space, self.id, first, token)
            response = self._client.call(self._client.sessions.ListMessages, request)
            yield from response.messages
            token = response.next_page_token
            if not token:
                return

    def recall(self, prompt: str) -> str:
        """Return memories to add to a prompt, without those that this session already got."""
        return self._client.in_space(self._space).after(self._client._after).recall(prompt, session_id=self.id)

    def hint(self, tool: str, arguments: str = "") -> str:
        """Return known failures of a tool call that is about to be made, each rule once."""
        return self._client.in_space(self._space).hint(tool, arguments, session_id=self.id)

    def end(self) -> None:
        """End the session. The daemon learns from it in the background, once."""
        self._client.call(self._client.sessions.End, _requests.end(self._space, self.id))

    def reflect(self) -> session_service_pb2.SessionServiceReflectResponse:
        """End the session and wait until the daemon has learned from it."""
        return self._client.call(self._client.sessions.Reflect, _requests.reflect(self._space, self.id))
