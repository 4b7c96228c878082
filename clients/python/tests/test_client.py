import os
import signal
import subprocess

import pytest

import memsidecar
from memsidecar import _find, _requests
from memsidecar.v1 import admin_service_pb2, memory_service_pb2


def kill(client):
    pid = client.call(client.admin.Info, admin_service_pb2.AdminServiceInfoRequest()).pid
    os.kill(pid, signal.SIGKILL)


def test_memories(home):
    with memsidecar.Client() as client:
        saved = client.remember("We deploy with make release", category="facts", salience=0.9, tags=["deploy"])
        assert saved.id and saved.operation and not saved.duplicate
        assert client.remember("We deploy with make release", category="facts").duplicate
        (hit,) = client.search("how do we deploy")
        assert (hit.memory.id, hit.memory.salience) == (saved.id, 0.9)
        assert "make release" in client.recall("how do we deploy?")
        operation = client.forget(saved.id)
        assert client.search("how do we deploy") == []
        client.undo(operation)
        assert len(client.search("how do we deploy")) == 1
        with pytest.raises(memsidecar.MemsidecarError) as caught:
            client.remember("", salience=3)
        assert caught.value.code == "INVALID_ARGUMENT" and len(caught.value.violations) == 2


def test_after(home):
    """Reads pass the positions on; a space that is not shared has none."""
    with memsidecar.Client() as client:
        saved = client.remember("The canteen opens at noon")
        assert saved.positions == () and len(client.after(saved.positions).search("canteen")) == 1
        later = client.after(["no position"])
        for read in (
            lambda: later.get(saved.id),
            lambda: later.get_many([saved.id]),
            lambda: next(later.list()),
            lambda: later.search("canteen"),
            lambda: later.recall("canteen"),
            lambda: later.session(host="test").recall("canteen"),
        ):
            with pytest.raises(memsidecar.MemsidecarError) as caught:
                read()
            assert [v.field for v in caught.value.violations] == ["min_positions[0]"]
        assert client.search("canteen") and later.in_space("other").search("canteen") == []


def test_saved_positions():
    response = memory_service_pb2.MemoryServiceAddResponse()
    response.result.outcomes.add(id="a")
    response.result.positions.extend(["p1", "p2"])
    assert _requests.saved(response).positions == ("p1", "p2")


def test_session(home):
    with memsidecar.Client() as client:
        session = client.session(host="test")
        session.say("user", "Please remember that the staging server is staging.example.com")
        session.tool_failed("bash", "make dpeloy", "No rule to make target")
        again = client.session(session.id)  # another process goes on where this one was
        again.say("user", "下次不要直接推送到 main 分支")
        assert len(again.reflect().items) >= 2
        with client.session() as later:
            assert "staging.example.com" in later.context
            assert later.recall("which server is staging?") == ""  # the context has said it
            assert "staging.example.com" in client.recall("which server is staging?")


def test_killed(home):
    """Calls go on with the next daemon, and what was acknowledged is there."""
    with memsidecar.Client() as client:
        for i in range(3):
            client.remember(f"fact number {i} of the killed daemon")
            kill(client)
        assert client.call(client.memory.List, memory_service_pb2.MemoryServiceListRequest()).total == 3


async def test_asyncio(home):
    async with await memsidecar.AsyncClient.connect() as client:
        saved = await client.remember("The office dog is called Ada", category="facts")
        later = client.after(["no position"])
        for read in (later.get(saved.id), later.search("dog"), later.recall("dog"), anext(later.list())):
            with pytest.raises(memsidecar.MemsidecarError) as caught:
                await read
            assert [v.field for v in caught.value.violations] == ["min_positions[0]"]
        info = await client.call(client.admin.Info, admin_service_pb2.AdminServiceInfoRequest())
        os.kill(info.pid, signal.SIGKILL)
        (hit,) = await client.search("office dog")
        assert hit.memory.id == saved.id
        async with await client.session(host="test") as session:
            await session.say("user", "下次不要直接推送到 main 分支")
            assert "Ada" in session.context
            assert await session.recall("what is the office dog called?") == ""  # the context has said it
        operation = await client.forget(saved.id)
        assert await client.undo(operation) not in ("", operation)
        with pytest.raises(memsidecar.MemsidecarError) as caught:
            await client.forget("no-such-memory")
        assert caught.value.reason == "NOT_FOUND"


def test_stopped(home, program):
    subprocess.run([program, "daemon", "stop"], check=True, capture_output=True)
    with pytest.raises(memsidecar.MemsidecarError, match="memsidecar daemon start") as caught:
        memsidecar.Client()
    assert caught.value.code == "UNAVAILABLE"
    assert "{" not in str(caught.value)  # a sentence, not the JSON that programs get


def test_no_program(home, monkeypatch):
    monkeypatch.setenv("MEMSIDECAR_PROGRAM", "/nowhere/memsidecar")
    with pytest.raises(memsidecar.ProgramNotFoundError, match="MEMSIDECAR_PROGRAM"):
        memsidecar.Client()
    with pytest.raises(memsidecar.MemsidecarError) as caught:
        memsidecar.Client(socket=home + "/nobody", patience=0)
    assert caught.value.code == "UNAVAILABLE"


def test_socket_spellings(home):
    """What gRPC and systemd write as an address is understood, and an abstract socket is refused."""
    with memsidecar.Client():
        path = _find.Finder().find()
    for prefix in ("", "unix:", "unix://"):
        with memsidecar.Client(socket=prefix + path) as client:
            client.search("anything")
    for address in ("@s", "\0s", "unix-abstract:s", "unix:@s"):
        with pytest.raises(ValueError, match="abstract sockets are not supported"):
            memsidecar.Client(socket=address)


def test_stranger(home):
    """The socket of another user is refused before anything is said to it."""
    if os.getuid() != 0:
        pytest.skip("only root can give a socket to somebody else")
    with memsidecar.Client():
        path = _find.Finder().find()
    os.chown(path, 12345, 12345)
    with pytest.raises(memsidecar.MemsidecarError, match="12345"):
        memsidecar.Client(socket=path)
    os.chown(path, 0, 0)
