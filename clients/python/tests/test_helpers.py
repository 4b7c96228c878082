"""The helpers of both clients: what one returns, the other does too."""

import datetime
import importlib.metadata

import pytest

import memsidecar

UTC = datetime.timezone.utc


def test_version():
    assert memsidecar.__version__ == importlib.metadata.version("memsidecar")


def test_memories(home):
    with memsidecar.Client() as client:
        saved = client.remember(
            "The build runs on node 22", category="facts", tags=["ci"], description="build machine", structured_data={"n": 1}
        )
        other = client.remember("Ada is the office dog", category="general", pinned=True)
        assert [m.id for m in client.get_many([other.id, "unknown", saved.id])] == [other.id, saved.id]
        assert client.get_many(["unknown"]) == [] == client.get_many([])
        with pytest.raises(memsidecar.MemsidecarError) as caught:
            client.get("unknown")
        assert caught.value.reason == "NOT_FOUND"

        until = datetime.datetime.now(UTC) + datetime.timedelta(days=1)
        changed = client.update(saved.id, content="The build runs on node 24", expires_at=until, salience=0.9)
        assert (changed.content, changed.salience, list(changed.tags)) == ("The build runs on node 24", 0.9, ["ci"])
        assert changed.expires_at.ToDatetime(UTC).replace(microsecond=0) == until.replace(microsecond=0)
        assert not client.update(saved.id, clear=["expires_at", "tags"]).HasField("expires_at")
        assert not client.get(saved.id).tags
        with pytest.raises(memsidecar.MemsidecarError) as caught:
            client.update(saved.id, title="x", expected_revision=1)
        assert caught.value.reason == "STALE_REVISION"
        assert len(list(client.history(saved.id))) == 3

        client.forget(saved.id)
        assert [m.id for m in client.list()] == [other.id]
        client.restore(saved.id)
        assert [m.id for m in client.list(ascending=True)] == [saved.id, other.id]
        client.forget(other.id)
        client.remember("Ada is the office dog", category="facts")
        client.update(other.id, category="facts")
        with pytest.raises(memsidecar.MemsidecarError) as caught:
            client.restore(other.id)
        assert caught.value.reason == "EXACT_DUPLICATE"


def test_list_pages(home):
    """A list reads on behind its first page, and no further than its limit."""
    with memsidecar.Client(space="pages") as client:
        from memsidecar import _requests

        for start in (0, 1000):
            items = [_requests.new(f"fact number {n}") for n in range(start, start + 1000)]
            client.call(client.memory.Add, _requests.add("pages", items))
        assert len({m.id for m in client.list()}) == 2000
        assert len(list(client.list(limit=1500))) == 1500
        assert list(client.list(limit=0)) == []


def test_filters(home):
    with memsidecar.Client() as client:
        now = datetime.datetime.now(UTC)
        red = client.remember("The red lorry carries apples", category="facts", tags=["red"], salience=0.9)
        blue = client.remember("The blue lorry carries pears", category="tasks", tags=["blue"], salience=0.1, source="import")

        def ids(**criteria):
            chosen = memsidecar.Filter(**criteria)
            listed = {m.id for m in client.list(chosen)}
            assert {h.memory.id for h in client.search("lorry", filter=chosen)} == listed
            return listed

        assert ids() == {red.id, blue.id}
        assert ids(tags=["red"]) == ids(categories=["facts"]) == ids(min_salience=0.5) == {red.id}
        assert ids(sources=["import"]) == {blue.id}
        assert ids(pinned=True) == ids(created_before=now - datetime.timedelta(hours=1)) == set()
        assert ids(created_from=now - datetime.timedelta(hours=1), pinned=False) == {red.id, blue.id}
        client.forget(red.id)
        assert {m.id for m in client.list(memsidecar.Filter(statuses=["retired"]))} == {red.id}
        with pytest.raises(ValueError, match="time zone"):
            ids(created_from=datetime.datetime(2026, 1, 1))
        assert client.in_space("other").search("lorry") == [] and client.space == ""


def test_agent_calls(home):
    with memsidecar.Client() as client:
        (line,) = client.save("- The port of the API is 8465", history_entry="Looked up the port")
        assert line.content == "The port of the API is 8465"
        assert "8465" in client.context("s1", host="test") == client.context("s1")
        logged = [h.log.entry.content for h in client.search("looked up the port", include_logs=True)]
        assert "Looked up the port" in logged
        with client.session("s2") as session:
            session.say("user", "run the tests")
            session.tool("bash", '{"command":"make test"}', "ok")
            for _ in range(3):
                session.tool_failed("bash", '{"command":"npm install left-pad@1.3.0"}', "npm ERR! 401 Unauthorized")
            assert [m.tool.name for m in session.messages(first=2)] == ["bash"] * 4
            session.reflect()
        hint = client.hint("bash", '{"command":"npm install left-pad@1.3.0"}', session_id="s3")
        assert "401" in hint or "auth" in hint
        assert client.hint("bash", '{"command":"ls"}') == ""


async def test_asyncio(home):
    async with await memsidecar.AsyncClient.connect() as client:
        saved = await client.remember("The build runs on node 22", category="facts", tags=["ci"])
        assert (await client.get(saved.id)).content == "The build runs on node 22"
        assert [m.id for m in await client.get_many([saved.id, "unknown"])] == [saved.id]
        assert await client.get_many(["unknown"]) == []
        assert (await client.update(saved.id, title="node", clear=["tags"])).title == "node"
        assert [m.id async for m in client.list(memsidecar.Filter(categories=["facts"]))] == [saved.id]
        assert await client.search("node", filter=memsidecar.Filter(tags=["ci"])) == []
        assert len([o async for o in client.history(saved.id)]) == 2
        await client.forget(saved.id)
        await client.restore(saved.id)
        assert len(await client.save("- The port of the API is 8465")) == 1
        assert "8465" in await client.context("s1")
        assert await client.hint("bash", "ls") == ""
        async with await client.session("s2") as session:
            await session.tool("bash", "make test", "ok")
            assert await session.hint("bash", "ls") == ""
            assert [m.tool.result async for m in session.messages()] == ["ok"]
        assert await client.in_space("other").search("port") == []
