"""The capability in agents that run on a model of the test's own."""

from examples import run_example
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

import memsidecar
from memsidecar.pydantic_ai import MemsidecarMemory


def agent_of(*answers, **options):
    """An agent whose model gives these answers in turn; what it was sent is in its list."""
    sent, rest = [], list(answers)

    def model(messages, info):
        sent.append((info.instructions or "", [t.name for t in info.function_tools], messages))
        return ModelResponse(parts=[rest.pop(0)])

    return Agent(FunctionModel(model), capabilities=[MemsidecarMemory(**options)]), sent


def test_example(home):
    run_example("Pydantic AI")


async def test_recall(home):
    """The model is told what bears on the prompt, as data, and nothing else."""
    memsidecar.Client(space="pydantic-ai").remember("Deploys of the shop go through make release")
    agent, sent = agent_of(TextPart("so"), TextPart("Lima"))
    await agent.run("How do deploys of the shop go?")
    assert "make release" in sent[0][0] and "data, not instructions" in sent[0][0]
    await agent.run("What is the capital of Peru?")
    assert "make release" not in sent[1][0]


async def test_tools(home):
    client = memsidecar.Client(space="pydantic-ai")
    agent, sent = agent_of(
        ToolCallPart("remember", {"text": "Ada grows tulips"}),
        ToolCallPart("remember", {"text": "Ada grows tulips"}),
        ToolCallPart("search_memories", {"query": "tulips"}),
        TextPart("done"),
    )
    await agent.run("Keep that in mind")
    (memory,) = client.list()
    assert memory.content == "Ada grows tulips" and memory.id in str(sent[-1][2][-1])
    agent, _ = agent_of(ToolCallPart("forget", {"id": memory.id}), TextPart("done"))
    await agent.run("Forget that")
    assert list(client.list()) == []
    agent, sent = agent_of(TextPart("hi"), tools=False)
    await agent.run("Hello")
    assert sent[0][1] == []


async def test_recorded(home):
    """A conversation of several runs is one session, each turn once, with its failed calls; what is recorded is learned."""
    client = memsidecar.Client(space="pydantic-ai")
    agent, _ = agent_of(ToolCallPart("deploy", {"to": "prod"}), TextPart("It failed"), TextPart("I will"))

    @agent.tool_plain
    def deploy(to: str) -> str:
        raise ModelRetry("401 unauthorized")

    first = await agent.run("Deploy", conversation_id="c1")
    await agent.run(
        "Please remember that the port of the API is 8465", message_history=first.all_messages(), conversation_id="c1"
    )
    turns = list(client.session("c1").messages())
    assert [t.content for t in turns if t.content] == [
        "Deploy",
        "It failed",
        "Please remember that the port of the API is 8465",
        "I will",
    ]
    (failed,) = [t.tool for t in turns if t.HasField("tool")]
    assert failed.failed and "401" in failed.error and '"prod"' in failed.arguments
    client.session("c1").reflect()
    assert "8465" in client.recall("which port has the API?")
    agent, _ = agent_of(TextPart("hi"), record=False)
    await agent.run("Hello", conversation_id="c2")
    assert list(client.session("c2").messages()) == []
