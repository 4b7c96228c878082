// The session in the SDK's own runner, with a model of the test's own, beside the SDK's session in memory.
import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";

import {
  Agent,
  type AgentInputItem,
  MemorySession,
  type Model,
  type ModelRequest,
  type ModelResponse,
  run,
  type Session,
  setTracingDisabled,
  tool,
  Usage,
} from "@openai/agents-core";

import { type Client, connect } from "../index.js";
import { MemsidecarSession } from "../openai-agents.js";
import { home } from "../testing.js";
import { inProcesses, runExample, worker } from "./examples.js";

const SPACE = { space: "openai-agents" };
const TURNS = 40;

const ITEMS = [
  { role: "user", content: "Hello" },
  { role: "system", content: "be brief" },
  {
    role: "user",
    content: [
      { type: "input_text", text: "看看这个" },
      { type: "input_image", image: "data:x" },
    ],
  },
  { type: "reasoning", id: "rs_1", content: [] },
  { type: "function_call", id: "fc_1", callId: "c1", name: "clock", arguments: '{"zone":"UTC"}', status: "completed" },
  {
    type: "function_call_result",
    callId: "c1",
    name: "clock",
    status: "completed",
    output: { type: "text", text: "12:00" },
  },
  { role: "assistant", status: "completed", content: [{ type: "output_text", text: "It is noon" }] },
  { role: "user", content: '{"memsidecar": "clear"}' },
  { role: "user", content: "" },
] as AgentInputItem[];

let leave: () => Promise<void>;
let client: Client;

if (worker === undefined) {
  setTracingDisabled(true);
  beforeEach(async () => {
    leave = home();
    client = await connect(SPACE);
  });
  afterEach(async () => {
    client.close();
    await leave();
  });
  tests();
} else {
  await sayMuch(worker);
}

/** Calls the tool in its first turn and answers in its second; keeps what it was sent. */
class Scripted implements Model {
  readonly inputs: unknown[][] = [];

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const items = input as AgentInputItem[];
    this.inputs.push(structuredClone(items));
    const answered = items.at(-1)!.type === "function_call_result";
    const call = { type: "function_call" as const, callId: `c${this.inputs.length}`, name: "clock", arguments: "{}" };
    const text = { type: "output_text" as const, text: "It is noon" };
    const answer = {
      type: "message" as const,
      role: "assistant" as const,
      status: "completed" as const,
      content: [text],
    };
    return { usage: new Usage(), output: [answered ? answer : { ...call, status: "completed" }] };
  }

  getStreamedResponse(): never {
    throw new Error("no test streams");
  }
}

async function sayMuch(number: number): Promise<void> {
  const own = await connect(SPACE);
  const session = new MemsidecarSession("shared", own);
  for (let n = 0; n < TURNS; n++) {
    await session.addItems([
      { role: "user", content: `${number}-${n} a` },
      { role: "user", content: `${number}-${n} b` },
    ]);
  }
  own.close();
}

function tests(): void {
  it("runs the example of the documentation", () => runExample("OpenAI Agents SDK for JavaScript"));

  it("answers as the SDK's own session", async () => {
    const sessions: Session[] = [new MemsidecarSession("s", client), new MemorySession({ sessionId: "s" })];
    const same = async (call: (session: Session) => Promise<unknown>) => {
      const [ours, theirs] = await Promise.all(sessions.map(call));
      assert.deepEqual(ours, theirs);
    };
    await same((s) => s.getSessionId());
    await same((s) => s.getItems());
    await same((s) => s.popItem());
    await same((s) => s.addItems(ITEMS));
    await same((s) => s.addItems([]));
    for (const limit of [undefined, 0, 1, 3, 100]) {
      await same((s) => s.getItems(limit));
    }
    assert.deepEqual(await new MemsidecarSession("s", client).getItems(), ITEMS); // as in another process
    for (let n = 0; n < 3; n++) {
      await same((s) => s.popItem());
      await same((s) => s.getItems());
    }
    await same((s) => s.clearSession());
    await same((s) => s.getItems());
    await same((s) => s.addItems(ITEMS.slice(0, 2)));
    await same((s) => s.getItems());
    assert.deepEqual(await new MemsidecarSession("other", client).getItems(), []);
  });

  it("sends a second run what the first one said", async () => {
    const clock = tool({
      name: "clock",
      description: "the time",
      parameters: empty(),
      strict: false,
      execute: async () => "12:00",
    });
    const sent: unknown[][][] = [];
    const own = new MemorySession({ sessionId: "run" });
    for (const make of [() => new MemsidecarSession("run", client), () => own]) {
      const model = new Scripted();
      const agent = new Agent({ name: "clock", model, tools: [clock] });
      for (const prompt of ["What time is it?", "And now?"]) {
        assert.equal((await run(agent, prompt, { session: make() })).finalOutput, "It is noon");
      }
      sent.push(model.inputs);
    }
    assert.deepEqual(sent[0], sent[1]);
    assert.equal(sent[0]!.at(-1)!.length, 7);
  });

  it("shortens what is too long for a message", async () => {
    const session = new MemsidecarSession("long", client);
    await session.addItems([{ role: "user", content: "🐕".repeat(100_000) }, ITEMS[0]!]);
    const [first, last] = (await session.getItems()) as { content: string }[];
    assert.match(first!.content, /^(🐕){1000,} \[cut\] (🐕){1000,}$/u);
    assert.deepEqual(last, ITEMS[0]);
  });

  it("teaches the daemon what was said", async () => {
    const content = [{ type: "input_text" as const, text: "Please remember that the port of the API is 8465" }];
    await new MemsidecarSession("a", client).addItems([{ role: "user", content }]);
    await (await client.session({ id: "a" })).reflect();
    assert.match(await client.recall("which port has the API?"), /8465/);
  });

  it("keeps the turns that several processes say at once, each pair together", async () => {
    await inProcesses(import.meta.url, 2);
    const turns = ((await new MemsidecarSession("shared", client).getItems()) as { content: string }[]).map(
      (i) => i.content,
    );
    const all = [0, 1].flatMap((w) => Array.from({ length: TURNS }, (_, n) => [`${w}-${n} a`, `${w}-${n} b`]));
    assert.deepEqual([...turns].sort(), all.flat().sort());
    for (let i = 0; i < turns.length; i += 2) {
      assert.equal(turns[i]!.replace("a", "b"), turns[i + 1]);
    }
  });
}

function empty() {
  return { type: "object" as const, properties: {}, required: [], additionalProperties: true as const };
}
