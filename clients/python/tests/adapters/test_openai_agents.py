"""The session in the SDK's own runner, with a model of the test's own, beside the SDK's SQLite session."""

import asyncio
import multiprocessing

from agents import Agent, Runner, SQLiteSession, function_tool
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from examples import run_example
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import memsidecar
from memsidecar.openai_agents import MemsidecarSession

ITEMS = [
    {"role": "user", "content": "Hello"},
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "input_text", "text": "看看这个"}, {"type": "input_image", "image_url": "data:x"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "clock", "arguments": '{"zone":"UTC"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "12:00"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It is noon", "annotations": []}],
    },
    {"role": "assistant", "content": ""},
    {"role": "user", "content": '{"memsidecar": "clear"}'},
]


class Scripted(Model):
    """Calls the tool in its first turn and answers in its second; keeps what it was sent."""

    def __init__(self):
        self.inputs = []

    async def get_response(self, system_instructions, input, *args, **kwargs):
        self.inputs.append(input)
        if any(isinstance(i, dict) and i.get("type") == "function_call_output" for i in input[-1:]):
            text = ResponseOutputText(type="output_text", text="It is noon", annotations=[])
            output = ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[text])
        else:
            output = ResponseFunctionToolCall(type="function_call", call_id=f"c{len(self.inputs)}", name="clock", arguments="{}")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@function_tool
def clock() -> str:
    return "12:00"


def test_example(home):
    run_example("OpenAI Agents SDK")


async def test_calls(home):
    sessions = MemsidecarSession("s"), SQLiteSession("s")

    async def same(call):
        ours, theirs = [await call(session) for session in sessions]
        assert ours == theirs

    await same(lambda s: s.get_items())
    await same(lambda s: s.pop_item())
    await same(lambda s: s.add_items(ITEMS))
    await same(lambda s: s.add_items([]))
    for limit in (None, 0, 1, 3, 100):
        await same(lambda s: s.get_items(limit))
    assert await MemsidecarSession("s").get_items() == ITEMS  # another process
    for _ in range(3):
        await same(lambda s: s.pop_item())
        await same(lambda s: s.get_items())
    await same(lambda s: s.clear_session())
    await same(lambda s: s.get_items())
    await same(lambda s: s.add_items(ITEMS[:2]))
    await same(lambda s: s.get_items())
    assert await MemsidecarSession("other").get_items() == []


async def test_runner(home):
    """A second run is sent what the first one said, also by a new process's session, as with the SDK's own."""
    sent = []
    for make in (lambda: MemsidecarSession("run"), lambda own=SQLiteSession("run"): own):
        model = Scripted()
        agent = Agent(name="clock", model=model, tools=[clock])
        for prompt in ("What time is it?", "And now?"):
            assert (await Runner.run(agent, prompt, session=make())).final_output == "It is noon"
        sent.append(model.inputs)
    assert sent[0] == sent[1] and len(sent[0][-1]) == 7


async def test_long_item(home):
    session = MemsidecarSession("long")
    await session.add_items([{"type": "function_call_output", "call_id": "c", "output": "长" * 200_000}, ITEMS[0]])
    first, last = await session.get_items()
    assert first["call_id"] == "c" and "[cut]" in first["output"] and len(first["output"]) > 5000 and last == ITEMS[0]


async def test_learned(home):
    """What was said in a conversation is known in the next."""
    client = memsidecar.Client(space="openai-agents")
    said = {"role": "user", "content": [{"type": "input_text", "text": "Please remember that the port of the API is 8465"}]}
    await MemsidecarSession("a", client).add_items([said])
    client.session("a").reflect()
    assert "8465" in client.recall("which port has the API?")


def add_many(worker):
    async def add():
        session = MemsidecarSession("shared")
        for n in range(50):
            await session.add_items([{"role": "user", "content": f"{worker}-{n} a"}, {"role": "user", "content": f"{worker}-{n} b"}])

    asyncio.run(add())


def test_processes(home):
    """Turns that several processes write at once are all there, each pair together."""
    memsidecar.Client().close()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(add_many, range(2))
    turns = [i["content"] for i in asyncio.run(MemsidecarSession("shared").get_items())]
    assert sorted(turns) == sorted(f"{w}-{n} {part}" for w in range(2) for n in range(50) for part in "ab")
    assert all(a[:-1] == b[:-1] for a, b in zip(turns[::2], turns[1::2]))
