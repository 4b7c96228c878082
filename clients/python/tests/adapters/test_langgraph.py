"""The LangGraph store beside LangGraph's own stores."""

import asyncio
import multiprocessing
import os
import time

import pytest
from examples import run_example
from google.protobuf import json_format
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

import memsidecar
from memsidecar.langgraph import MemsidecarStore

VALUES = {
    "plain": {"text": "likes pizza"},
    "nested": {"a": {"b": [1, 2, {"c": None}]}, "flag": True, "empty": {}, "list": []},
    "numbers": {"int": 1, "float": 1.0, "half": 0.5, "big": 2**60 + 1, "negative": -3},
    "unicode": {"text": "下次不要直接推送到 main 分支 🐕"},
    "same": {"text": "likes pizza"},
    "long": {"text": "word " * 4000},
    "nothing": {},
}


def both():
    return MemsidecarStore(), InMemoryStore()


def plain(result):
    """A result without times and scores."""
    if isinstance(result, list):
        return [plain(r) for r in result]
    return (result.namespace, result.key, result.value) if hasattr(result, "value") else result


def same(stores, call, ordered=True):
    ours, theirs = (plain(call(store)) for store in stores)
    if not ordered:
        ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
    assert ours == theirs
    return ours


def test_example(home):
    run_example("LangGraph")


def test_values(home):
    stores = both()
    for name, value in VALUES.items():
        same(stores, lambda s: s.put(("users", "ada"), name, value))
        same(stores, lambda s: s.get(("users", "ada"), name))
    numbers = stores[0].get(("users", "ada"), "numbers").value
    assert [repr(numbers[n]) for n in ("int", "float", "big")] == ["1", "1.0", str(2**60 + 1)]
    same(stores, lambda s: s.get(("users", "ada"), "unknown"))
    same(stores, lambda s: s.get(("users",), "plain"))
    same(stores, lambda s: s.search(("users",), limit=20))
    for _ in range(2):  # again with other values, then the same ones
        same(stores, lambda s: s.put(("users", "ada"), "plain", {"text": "likes noodles", "n": 2}))
        same(stores, lambda s: s.get(("users", "ada"), "plain"))
    same(stores, lambda s: s.put(("users", "ada"), "plain", {"text": "likes noodles", "n": 3}))  # the text stays
    same(stores, lambda s: s.get(("users", "ada"), "plain"))
    same(stores, lambda s: s.put(("users", "ada"), "nested", {"text": "likes noodles"}))  # the text of another key
    same(stores, lambda s: s.get(("users", "ada"), "nested"))
    for key in ("plain", "unknown"):
        same(stores, lambda s: s.delete(("users", "ada"), key))
    same(stores, lambda s: s.get(("users", "ada"), "plain"))
    for value in ({"text": "likes noodles"}, {"text": "likes tea"}):  # a key that was deleted
        same(stores, lambda s: s.put(("users", "ada"), "plain", value))
        same(stores, lambda s: s.get(("users", "ada"), "plain"))
        same(stores, lambda s: s.delete(("users", "ada"), "plain"))
    same(stores, lambda s: s.search(("users",), limit=20), ordered=False)
    with pytest.raises(TypeError):
        stores[0].put(("users",), "object", {"at": object()})


def test_layout(home):
    """A memory is what the TypeScript store reads, whose test has the same one."""
    MemsidecarStore().put(("ünï", "下"), 'a "b"\n\x7f', {"v": 1})
    (memory,) = memsidecar.Client(space="langgraph").list()
    assert (memory.id, list(memory.tags)) == ("langgraph-24e54dfcff174a5ecc77f2ac47f765e5", ["ünï", "ünï.下"])
    data = json_format.MessageToDict(memory.structured_data)
    assert data == {"value": {"v": 1}, "namespace": ["ünï", "下"], "key": 'a "b"\n\x7f'}


def test_searches(home):
    stores = both()
    for n in range(12):
        same(stores, lambda s: s.put(("docs", f"u{n % 3}"), f"k{n}", {"n": n, "kind": "odd" if n % 2 else "even", "in": {"x": n}}))
    for filter in (
        None,
        {"kind": "odd"},
        {"kind": "odd", "n": {"$gt": 4}},
        {"n": {"$gte": 3, "$lt": 9}},
        {"n": {"$ne": 3}},
        {"n": {"$eq": 3}},
        {"in": {"x": 5}},
        {"missing": 1},
    ):
        for prefix in ((), ("docs",), ("docs", "u1"), ("doc",)):
            same(stores, lambda s: s.search(prefix, filter=filter, limit=100), ordered=False)
        same(stores, lambda s: s.search(("docs", "u1"), filter=filter, limit=2, offset=1))
    for store in stores:
        with pytest.raises(ValueError):
            store.search(("docs",), filter={"n": {"$in": [1]}})


def test_query(home):
    """Only what bears on the query is found, best first, below the prefix."""
    store = MemsidecarStore()
    store.put(("ada", "memories"), "food", {"text": "Ada is allergic to peanuts"})
    store.put(("ada", "memories"), "work", {"text": "Ada works at the observatory"})
    store.put(("ada", "secret"), "hidden", {"text": "Ada hides peanuts from the squirrels"}, index=False)
    store.put(("bob", "memories"), "food", {"text": "Bob grows peanuts"})
    store.put(("ada", "memories"), "field", {"note": "the telescope needs oil", "text": "x"}, index=["note"])
    assert [i.key for i in store.search(("ada",), query="who is allergic to peanuts?")][:1] == ["food"]
    found = store.search(("ada",), query="peanuts")
    assert {i.key for i in found} == {"food"} and found[0].score > 0
    assert {i.namespace[0] for i in store.search((), query="peanuts")} == {"ada", "bob"}
    assert [i.key for i in store.search(("ada",), query="telescope oil")] == ["field"]
    assert store.search(("ada",), query="quarterly tax report") == []
    assert store.search(("ada",), query="peanuts", filter={"text": "none"}) == []
    assert [i.key for i in store.search(("ada", "secret"))] == ["hidden"]


def test_namespaces(home):
    stores = both()
    for namespace in [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "f"), ("b", "x"), ("x" * 90, "y")]:
        same(stores, lambda s: s.put(namespace, "k", {"v": "/".join(namespace)}))
    same(stores, lambda s: s.list_namespaces())
    same(stores, lambda s: s.list_namespaces(prefix=("a", "b")))
    same(stores, lambda s: s.list_namespaces(prefix=("a", "*", "f")))
    same(stores, lambda s: s.list_namespaces(suffix=("x",)))
    same(stores, lambda s: s.list_namespaces(prefix=("a",), suffix=("e",)))
    same(stores, lambda s: s.list_namespaces(max_depth=2))
    same(stores, lambda s: s.list_namespaces(limit=2, offset=1))
    same(stores, lambda s: s.search(("x" * 90,)))
    for bad in ((), ("a.b",), ("",), ("langgraph", "x")):
        for store in stores:
            with pytest.raises(InvalidNamespaceError):
                store.put(bad, "k", {"v": 1})
    with pytest.raises(InvalidNamespaceError):
        stores[0].batch([PutOp(("a.b",), "k", {"v": 1})])


async def test_batch(home):
    """Reads see what was there before the writes; of two writes to one key the last counts."""
    ours, theirs = stores = both()
    same(stores, lambda s: s.put(("t",), "old", {"v": 1}))
    ops = [
        PutOp(("t",), "new", {"v": 1}),
        GetOp(("t",), "new"),
        GetOp(("t",), "old"),
        PutOp(("t",), "new", {"v": 2}),
        PutOp(("t",), "old", None),
        SearchOp(("t",)),
        ListNamespacesOp((MatchCondition("prefix", ("t",)),)),
    ]
    assert plain(await ours.abatch(ops)) == plain(await theirs.abatch(ops))
    same(stores, lambda s: s.search(("t",)))
    await asyncio.gather(*(ours.aput(("t",), f"k{n}", {"v": n}) for n in range(50)))
    assert len(await ours.asearch(("t",), limit=100)) == 51


def test_ttl(home):
    """An item lives for its time since it was last written or read."""
    store = MemsidecarStore()
    store.put(("t",), "short", {"v": "short"}, ttl=2 / 60)
    store.put(("t",), "read", {"v": "read"}, ttl=2 / 60)
    store.put(("t",), "kept", {"v": "kept"})
    for _ in range(3):
        time.sleep(0.9)
        assert store.get(("t",), "read").value == {"v": "read"}
    assert store.get(("t",), "short", refresh_ttl=False) is None
    assert {i.key for i in store.search(("t",))} == {"read", "kept"}
    store.put(("t",), "short", {"v": "short"})  # alive again, now without an end
    store.put(("t",), "read", {"v": "read"})
    time.sleep(2.2)
    assert {i.key for i in store.search(("t",))} == {"short", "read", "kept"}


def test_secret(home, caplog):
    """What looks like a secret is taken out, and the log says so, without it."""
    secret = "AKIA" + "Q3EXAMPLEKEY7XYZ"[:16]
    store = MemsidecarStore()
    store.put(("t",), "aws", {"text": f"the key is {secret}"})
    assert secret not in str(store.get(("t",), "aws").value)
    assert "langgraph-" in caplog.text and secret not in caplog.text
    MemsidecarStore(allow_sensitive=True).put(("t",), "aws", {"text": f"the key is {secret}"})
    assert store.get(("t",), "aws").value == {"text": f"the key is {secret}"}


# MEMSIDECAR_TEST_LONG asks for the long form, of a minute.
WORKERS, PUTS = (8, 500) if os.environ.get("MEMSIDECAR_TEST_LONG") else (3, 100)


def put_many(worker):
    store = MemsidecarStore()
    for n in range(PUTS):
        store.put(("shared",), f"w{worker}-{n}", {"worker": worker, "n": n, "text": f"note {n}"})
        if n % 25 == 0:
            store.put(("shared",), "contended", {"worker": worker, "n": n})


def test_processes(home):
    """Several processes write many items each into one namespace, most of them with texts that others have: nothing is lost."""
    memsidecar.Client().close()
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        pool.map(put_many, range(WORKERS))
    items = MemsidecarStore().search(("shared",), limit=5000)
    assert len(items) == WORKERS * PUTS + 1
    assert {(i.value["worker"], i.value["n"]) for i in items if i.key != "contended"} == {
        (worker, n) for worker in range(WORKERS) for n in range(PUTS)
    }


def test_growth(home):
    """Writing one key again and again leaves one memory."""
    store = MemsidecarStore()
    for n in range(100):
        store.put(("t",), "counter", {"n": n})
    client = memsidecar.Client(space="langgraph")
    every = memsidecar.Filter(statuses=["active", "superseded", "retired"])
    assert [m.title for m in client.list(every)] == ["counter"]
    assert len(list(client.history(client.list(every).__next__().id))) == 100
