"""The mem0 interface beside mem0 itself, which runs on a store in memory with made-up vectors."""

import datetime
import inspect
import multiprocessing
import pathlib
import subprocess
import sys

import mem0
import pytest
from examples import run_example

import memsidecar
from memsidecar.mem0 import Memory

ADA, BOB = {"user_id": "ada"}, {"user_id": "bob"}
CHAT = [
    {"role": "user", "content": "I am allergic to peanuts"},
    {"role": "assistant", "content": "I will keep that in mind"},
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "I work at the observatory", "name": "Ada"},
]


class MadeUpVectors:
    """One vector for all texts: what is compared are calls and results, not the ranking."""

    def embed(self, text, memory_action=None):
        return [1.0] + [0.0] * 7

    def embed_batch(self, texts, memory_action=None):
        return [self.embed(text) for text in texts]


@pytest.fixture
def both(home, tmp_path):
    theirs = mem0.Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(tmp_path / "q"), "embedding_model_dims": 8, "on_disk": True},
            },
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "embedder": {"provider": "openai", "config": {"api_key": "none", "embedding_dims": 8}},
            "history_db_path": str(tmp_path / "history.db"),
        }
    )
    theirs.embedding_model = MadeUpVectors()
    with Memory() as ours:
        yield ours, theirs


def shape(value, hidden=("id", "hash", "created_at", "updated_at", "score", "memory_id")):
    """A result with the kinds of those values in place of them that no two stores share."""
    if isinstance(value, dict):
        return {k: type(v).__name__ if k in hidden else shape(v) for k, v in value.items() if k != "text_lemmatized"}
    if isinstance(value, list):
        return sorted((shape(v) for v in value), key=repr)
    return value


def same(both, call):
    ours, theirs = (call(memory) for memory in both)
    assert shape(ours) == shape(theirs)
    return ours, theirs


def ids(both, text):
    return [next(m["id"] for m in memory.get_all(filters=ADA)["results"] if m["memory"] == text) for memory in both]


def test_example(home):
    run_example("mem0")


PRINTED = {
    "quickstart": """\
kept: 2
found: I do not like thrillers. I love science fiction. {'category': 'film_recommendations'}
the same: True
history: [('ADD', 'I do not like thrillers. I love science fiction.'), ('UPDATE', 'I love science fiction and can stand thrillers by now.')]
left: 1
then: 0
""",
    "tutor": """\
I am learning computer science and recursion confuses me. (you said: nothing yet)
Can you explain recursion again? (you said: I am learning computer science and recursion confuses me.)
Can you explain recursion again? (you said: nothing yet)
['Can you explain recursion again?', 'I am learning computer science and recursion confuses me.']
""",
    "support": """\
I see 0 earlier note(s) on this.
I see 1 earlier note(s) on this.
I see 0 earlier note(s) on this.
[('carol', 't2'), ('dave', 't3')]
""",
}


@pytest.mark.parametrize("name", PRINTED)
def test_programs(home, name):
    """Programs like those of mem0's documentation run when one line is changed: the import."""
    program = (pathlib.Path(__file__).parent / "mem0_programs" / f"{name}.py").read_text(encoding="utf-8")
    assert program.count("from mem0 import Memory\n") == program.count("import ") == 1
    program = program.replace("from mem0 import Memory\n", "from memsidecar.mem0 import Memory\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=180)
    assert (done.stdout, done.returncode) == (PRINTED[name], 0), done.stderr


def test_signatures():
    """Every argument that mem0 takes is taken, by the same name, with the same default."""
    for name in ("add", "search", "get_all", "get", "update", "delete", "delete_all", "history", "reset"):
        ours, theirs = (inspect.signature(getattr(cls, name)).parameters for cls in (Memory, mem0.Memory))
        assert list(ours) == list(theirs), name
        for argument, parameter in theirs.items():
            assert ours[argument].kind == parameter.kind, (name, argument)
            if argument != "expiration_date":
                assert ours[argument].default == parameter.default, (name, argument)


def test_calls(both):
    same(both, lambda m: m.add(CHAT, user_id="ada", metadata={"topic": "life"}, infer=False))
    same(both, lambda m: m.add("I grow tulips", user_id="bob", agent_id="gardener", infer=False))
    for filters in (ADA, BOB, BOB | {"agent_id": "gardener"}, {"agent_id": "gardener"}, {"user_id": "nobody"}):
        same(both, lambda m: m.get_all(filters=filters))
    same(both, lambda m: m.get_all(filters=ADA | {"topic": "life"}))
    same(both, lambda m: m.get_all(filters=ADA | {"topic": "work"}))
    same(both, lambda m: m.get_all(filters=ADA, top_k=1)["results"].__len__())
    peanuts = ids(both, "I am allergic to peanuts")
    each = dict(zip(both, peanuts))
    same(both, lambda m: m.get(each[m]))
    same(both, lambda m: m.get("00000000-0000-0000-0000-000000000000"))
    same(both, lambda m: m.update(each[m], text="I am allergic to nuts"))
    same(both, lambda m: m.update(each[m], metadata={"checked": True}))
    same(both, lambda m: m.get(each[m]))
    same(both, lambda m: m.delete(each[m]))
    same(both, lambda m: m.get(each[m]))
    ours, theirs = (memory.history(each[memory]) for memory in both)
    events = [(row["event"], row["old_memory"], row["new_memory"]) for row in ours]
    assert events[0] == ("ADD", None, "I am allergic to peanuts")
    assert events[-1][:2] == ("DELETE", "I am allergic to nuts")
    assert set(ours[0]) == set(theirs[0])
    same(both, lambda m: m.delete_all(user_id="ada"))
    same(both, lambda m: m.get_all(filters=ADA))
    same(both, lambda m: m.get_all(filters=BOB))
    for memory in both:
        memory.reset()
    same(both, lambda m: m.get_all(filters=BOB))


def test_refusals(both):
    for call in (
        lambda m: m.add("x"),
        lambda m: m.add("x", user_id=" "),
        lambda m: m.add("x", user_id="a b"),
        lambda m: m.add("x", user_id="ada", timestamp=1),
        lambda m: m.add("x", user_id="ada", memory_type="other"),
        lambda m: m.search("x"),
        lambda m: m.search("x", user_id="ada"),
        lambda m: m.search("  ", filters=ADA),
        lambda m: m.search("x", filters=ADA, top_k=-1),
        lambda m: m.get_all(user_id="ada"),
        lambda m: m.get_all(filters={"topic": "life"}),
        lambda m: m.delete("00000000-0000-0000-0000-000000000000"),
        lambda m: m.delete_all(),
        lambda m: m.update("00000000-0000-0000-0000-000000000000"),
    ):
        with pytest.raises(ValueError):
            call(both[0])
        with pytest.raises((ValueError, mem0.exceptions.MemoryError)):
            call(both[1])


def test_search(home):
    """What is found is relevant, of the user asked for, and passes the filters."""
    with Memory() as memory:
        memory.add(CHAT, user_id="ada")
        memory.add("I am allergic to cats", user_id="bob", metadata={"year": 2026, "tags": ["pets"]})
        memory.add("I am allergic to bees", user_id="bob", agent_id="doctor", metadata={"year": 2020})

        def found(query, **filters):
            return {m["memory"] for m in memory.search(query, filters=filters)["results"]}

        assert found("allergic to what?", user_id="ada") == {"I am allergic to peanuts"}
        assert found("allergic", user_id="bob") == {"I am allergic to cats", "I am allergic to bees"}
        assert found("allergic", user_id="bob", agent_id="doctor") == {"I am allergic to bees"}
        assert found("allergic", user_id="bob", year={"gt": 2024}) == {"I am allergic to cats"}
        assert found("allergic", user_id="bob", tags={"contains": "pets"}) == {"I am allergic to cats"}
        assert found("allergic", user_id="bob", OR=[{"year": 2020}, {"year": {"in": [1999]}}]) == {"I am allergic to bees"}
        assert found("allergic", user_id="bob", NOT=[{"year": 2020}]) == {"I am allergic to cats"}
        assert found("allergic", user_id="bob", agent_id="*", year="*") == {"I am allergic to bees"}
        assert found("quarterly tax report", user_id="bob") == set()
        assert "I will keep that in mind" not in {m["memory"] for m in memory.get_all(filters=ADA)["results"]}


def test_expiry(home):
    with Memory() as memory:
        today = datetime.datetime.now(datetime.timezone.utc).date()
        memory.add("the ticket is valid", user_id="ada", expiration_date=today)
        memory.add("the voucher was valid", user_id="ada", expiration_date=(today - datetime.timedelta(days=1)).isoformat())
        assert len(memory.get_all(filters=ADA)["results"]) == 1
        expired = memory.get_all(filters=ADA, show_expired=True)["results"]
        assert len(expired) == 2
        assert len(memory.search("valid voucher", filters=ADA, show_expired=True)["results"]) >= 1
        voucher = next(m for m in expired if "voucher" in m["memory"])
        memory.update(voucher["id"], expiration_date=None)
        assert len(memory.get_all(filters=ADA)["results"]) == 2


def test_duplicates(home):
    """The same words are saved once for a user, and once for each user."""
    with Memory() as memory:
        for _ in range(3):
            memory.add("I like pizza", user_id="ada")
            memory.add("I like pizza", user_id="bob")
        assert len(memory.get_all(filters=ADA)["results"]) == len(memory.get_all(filters=BOB)["results"]) == 1


def add_many(worker):
    with Memory() as memory:
        for n in range(50):
            memory.add(f"fact {n} of worker {worker}", user_id="ada")


def test_processes(home):
    memsidecar.Client().close()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(add_many, range(2))
    with Memory() as memory:
        assert len(memory.get_all(filters=ADA, top_k=1000)["results"]) == 100
