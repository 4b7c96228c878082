"""CrewAI's memory in crews on a model of the test's own, and its records beside CrewAI's own storage."""

import concurrent.futures
import datetime

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.lancedb_storage import LanceDBStorage
from crewai.memory.types import MemoryRecord
from examples import run_example

import memsidecar
from memsidecar.crewai import MemsidecarMemory, _Records


class Scripted(BaseLLM):
    """Gives these answers in turn; keeps what it was sent."""

    def __init__(self, *answers):
        super().__init__(model="scripted")
        self._answers, self._sent = list(answers), []

    def call(self, messages, *args, **kwargs):
        self._sent.append(str(messages))
        return self._answers.pop(0)

    def supports_function_calling(self):
        return False


def crew_of(memory, llm, description):
    agent = Agent(role="gardener", goal="answer", backstory="knows gardens", llm=llm, allow_delegation=False)
    task = Task(description=description, expected_output="a sentence", agent=agent)
    return Crew(agents=[agent], tasks=[task], memory=memory)


def test_example(home):
    run_example("CrewAI", prints_more=True)  # a thread of CrewAI shows its events, before the answer or after it


def test_crew(home):
    """An agent is told what bears on its task, and saves with CrewAI's own tool."""
    MemsidecarMemory().remember("Ada grows tulips behind the shed")
    save = 'Thought: keep it\nAction: save_to_memory\nAction Input: {"contents": ["Bob grows leeks"]}'
    llm = Scripted(save, "Thought: I know\nFinal Answer: She grows tulips")
    result = crew_of(MemsidecarMemory(), llm, "What does Ada grow?").kickoff()
    assert result.raw == "She grows tulips"
    assert "tulips behind the shed" in llm._sent[0]
    kept = {record.content for record in MemsidecarMemory().list_records()}
    assert kept == {"Ada grows tulips behind the shed", "Bob grows leeks"}  # and nothing of the task: no model was given for it
    llm = Scripted("Thought: I know\nFinal Answer: Lima")
    crew_of(MemsidecarMemory(), llm, "What is the capital of Peru?").kickoff()
    assert "tulips" not in llm._sent[0]


def test_remember(home):
    """A text is saved once in a scope; what was saved many at once is there when the call returns."""
    memory = MemsidecarMemory()
    first = memory.remember("the port is 8465", scope="/api", categories=["net"], metadata={"n": 1, "x": 1.0}, importance=0.9)
    assert (first.scope, first.categories, first.metadata, first.importance) == ("/api", ["net"], {"n": 1, "x": 1.0}, 0.9)
    assert memory.remember("the port is 8465", scope="/api").id == first.id
    other = memory.remember("the port is 8465", scope="/web")
    assert other.id != first.id and other.scope == "/web"
    memory.remember_many([f"fact {n} of many" for n in range(30)], scope="/many")
    assert MemsidecarMemory()._storage.count("/many") == 30
    memory.forget(record_ids=[other.id])
    assert memory.remember("the port is 8465", scope="/web").scope == "/web"
    assert MemsidecarMemory(read_only=True).remember("nothing") is None
    rooted = MemsidecarMemory(root_scope="/crew/garden")
    assert rooted.remember("tulips need water", scope="beds").scope == "/crew/garden/beds"
    assert [m.record.content for m in rooted.recall("what do tulips need?")] == ["tulips need water"]
    assert rooted.recall("which port is it?") == []
    assert rooted.scope("/beds").recall("tulips")[0].record.scope == "/crew/garden/beds"


def test_recall(home):
    """What is found bears on the query, of the scope and categories asked for, and is not another's private record."""
    memory = MemsidecarMemory()
    memory.remember("Ada is allergic to peanuts", scope="/people/ada", categories=["health"])
    memory.remember("Bob is allergic to cats", scope="/people/bob", categories=["health", "pets"])
    memory.remember("Eve is allergic to bees", scope="/people/eve", source="eve", private=True)

    def found(**options):
        return sorted(m.record.content.split()[0] for m in memory.recall("who is allergic?", **options))

    assert found() == ["Ada", "Bob"]
    assert found(depth="shallow") == ["Ada", "Bob"]
    assert found(include_private=True) == ["Ada", "Bob", "Eve"]
    assert found(source="eve") == ["Ada", "Bob", "Eve"]
    assert found(source="bob") == ["Ada", "Bob"]
    assert found(scope="/people/bob") == found(categories=["pets"]) == ["Bob"]
    assert found(scope="/people/b") == []
    assert len(found(limit=1)) == 1
    assert memory.recall("quarterly tax report") == []


RECORDS = [
    ("/", "the root", []),
    ("/a", "first", ["x"]),
    ("/a/b", "second", ["x", "y"]),
    ("/a/b/c", "third", []),
    ("/z", "fourth", ["z"]),
    ("/d/e", "fifth", ["y"]),
]


@pytest.fixture
def both(home, tmp_path):
    ours, theirs = _Records(memsidecar.Client(space="crewai")), LanceDBStorage(path=str(tmp_path / "lance"), vector_dim=4)
    start = datetime.datetime(2026, 1, 1)
    for n, (scope, content, categories) in enumerate(RECORDS):
        record = MemoryRecord(
            id=f"id-{n}", content=content, scope=scope, categories=categories, metadata={"n": n}, embedding=[1.0] * 4
        )
        record.created_at = start + datetime.timedelta(days=n)
        ours.save([record])
        theirs.save([record])
    return ours, theirs


def same(both, call):
    ours, theirs = (call(storage) for storage in both)
    assert ours == theirs
    return ours


def plain(records):
    return sorted((r.id, r.content, r.scope, tuple(r.categories), r.metadata["n"]) for r in records)


def test_storage(both):
    """Lists, counts and deletions are those of CrewAI's own storage."""
    for scope in ("/", "/a", "/a/b", "/a/b/c", "/z", "/d", "/none"):
        same(both, lambda s: plain(s.list_records(scope)))
        same(both, lambda s: s.list_scopes(scope))
        same(both, lambda s: s.list_categories(scope))
        same(both, lambda s: s.count(scope))
        same(both, lambda s: s.get_scope_info(scope).model_dump(exclude={"oldest_record", "newest_record"}))
    same(both, lambda s: [r.created_at for r in s.list_records(limit=3)])
    same(both, lambda s: s.get_record("id-2").content)
    same(both, lambda s: s.get_record("unknown"))
    same(both, lambda s: len(s.list_records(limit=2, offset=3)))
    same(both, lambda s: s.delete(categories=["y"], scope_prefix="/a"))
    same(both, lambda s: s.delete(metadata_filter={"n": 3}))
    same(both, lambda s: s.delete(record_ids=["id-1", "unknown"]))
    same(both, lambda s: plain(s.list_records()))
    same(both, lambda s: s.reset("/d"))
    same(both, lambda s: plain(s.list_records()))
    same(both, lambda s: s.reset())
    same(both, lambda s: s.count())


def test_scopes_are_paths(both):
    """/a is not above /ab, unlike in CrewAI's own storage."""
    for storage in both:
        storage.save([MemoryRecord(id="ab", content="other", scope="/ab", metadata={"n": 9}, embedding=[1.0] * 4)])
    assert [storage.count("/a") for storage in both] == [3, 4]


def test_update(home):
    memory = MemsidecarMemory()
    record = memory.remember("the port is 8465", scope="/api", metadata={"n": 1})
    changed = memory.update(record.id, content="the port is 9000", scope="/web", importance=0.9)
    assert (changed.content, changed.scope, changed.metadata) == ("the port is 9000", "/web", {"n": 1})
    (match,) = memory.recall("which port?", scope="/web")
    assert (match.record.content, match.record.importance) == ("the port is 9000", 0.9)
    assert memory.recall("which port?", scope="/api") == []
    with pytest.raises(ValueError):
        memory.update("unknown", content="x")


def test_undo(home):
    """What a crew resets can be brought back."""
    memory = MemsidecarMemory()
    memory.remember("tulips need water")
    memory.reset_all()
    assert memory.recall("tulips") == []
    client = memsidecar.Client(space="crewai")
    (gone,) = client.list(memsidecar.Filter(statuses=["retired"]))
    client.restore(gone.id)
    assert len(memory.recall("tulips")) == 1


def remember_many(worker):
    memory = MemsidecarMemory(memsidecar.Client(space="crewai"))
    for n in range(20):
        memory.remember(f"fact {n} of worker {worker}", scope="/shared")
        memory.remember("every worker says this", scope="/shared")


def test_writers(home):
    """Two writers with connections of their own, as two processes have, lose nothing, and what both say is there once.

    They are threads: CrewAI takes six seconds to import.
    """
    memsidecar.Client().close()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(remember_many, range(2)))
    assert MemsidecarMemory()._storage.count("/shared") == 41
