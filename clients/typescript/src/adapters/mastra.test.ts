// The processor in agents of Mastra, on a model of the test's own.
import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";

import type { LanguageModelV3Content, LanguageModelV3Usage } from "@ai-sdk/provider";
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { InMemoryStore } from "@mastra/core/storage";
import { jsonSchema, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { memsidecarTools } from "../ai.js";
import { type Client, connect } from "../index.js";
import { MemsidecarProcessor } from "../mastra.js";
import { home } from "../testing.js";
import { inProcesses, runExample, worker } from "./examples.js";

const SPACE = { space: "mastra" };
const RUNS = 10;
const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
const usage: LanguageModelV3Usage = { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: 0 } };

let leave: () => Promise<void>;
let client: Client;

if (worker === undefined) {
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
  await runMany(worker);
}

/** An agent whose model gives these answers in turn. */
function answering(answers: LanguageModelV3Content[], options: object = {}, from = client) {
  const model = new MockLanguageModelV3({
    doGenerate: async () => {
      const content = answers.shift()!;
      const finishReason = { unified: content.type === "text" ? ("stop" as const) : ("tool-calls" as const), raw: "" };
      return { content: [content], finishReason, usage, warnings: [] };
    },
  });
  const memory = new MemsidecarProcessor(from);
  const processors = { inputProcessors: [memory], outputProcessors: [memory] };
  return {
    model,
    agent: new Agent({ id: "a", name: "a", instructions: "be brief", model, ...processors, ...options }),
  };
}

function say(text: string): LanguageModelV3Content {
  return { type: "text", text };
}

function call(toolName: string, input: object): LanguageModelV3Content {
  return { type: "tool-call", toolCallId: `call-${toolName}`, toolName, input: JSON.stringify(input) };
}

function inThread(thread: string) {
  return { memory: { thread, resource: "ada" } };
}

async function recorded(sessionId: string): Promise<string[]> {
  const { messages } = await client.sessions.listMessages({ ...SPACE, sessionId });
  return messages.map(
    ({ content, tool: use }) => content || `${use!.name} ${use!.arguments} ${use!.result}${use!.error}`,
  );
}

async function runMany(number: number): Promise<void> {
  const own = await connect(SPACE);
  for (let n = 0; n < RUNS; n++) {
    await answering([say(`answer ${number}-${n}`)], {}, own).agent.generate(
      `question ${number}-${n}`,
      inThread("shared"),
    );
  }
  own.close();
}

function tests(): void {
  it("runs the example of the documentation", () => runExample("Mastra"));

  it("puts before a run what bears on the prompt, as data, behind its instructions, and nothing else", async () => {
    await client.remember("Deploys of the shop go through make release");
    const { agent, model } = answering([say("so"), say("Lima")]);
    await agent.generate("How do deploys of the shop go?");
    const [instructions, recalled, user] = model.doGenerateCalls[0]!.prompt;
    assert.deepEqual([instructions!.content, user!.role], ["be brief", "user"]);
    assert.equal(recalled!.role, "system");
    assert.match(String(recalled!.content), /data, not instructions[^]*make release/);
    await agent.generate("What is the capital of Peru?");
    assert.deepEqual(
      model.doGenerateCalls[1]!.prompt.map(({ role }) => role),
      ["system", "user"],
    );
    assert.equal((await client.sessions.list(SPACE)).sessions.length, 0); // without a thread nothing is recorded
  });

  it("gives an agent the tools of the AI SDK", async () => {
    const tools = memsidecarTools(client);
    const { agent } = answering([call("remember", { text: "Ada grows tulips" }), say("done")], { tools });
    await agent.generate("Keep that in mind");
    assert.deepEqual(
      (await client.memory.list(SPACE)).memories.map(({ content }) => content),
      ["Ada grows tulips"],
    );
  });

  it("records a thread once, with failed calls, beside Mastra's own memory, and teaches the daemon", async () => {
    const deploy = tool({
      description: "deploys",
      inputSchema: jsonSchema<{ to: string }>({ type: "object", properties: { to: { type: "string" } } }),
      execute: async ({ to }): Promise<string> => {
        if (to === "prod") {
          throw new Error("401 unauthorized");
        }
        return "deployed";
      },
    });
    const { agent, model } = answering(
      [call("deploy", { to: "prod" }), say("It failed"), call("deploy", { to: "test" }), say("It runs")],
      { tools: { deploy }, memory: new MockMemory({ storage: new InMemoryStore() }) },
    );
    const port = "Please remember that the port of the API is 8465";
    await agent.generate("Deploy", inThread("t1"));
    await agent.generate(port, inThread("t1"));
    assert.ok(JSON.stringify(model.doGenerateCalls[2]!.prompt).includes("It failed")); // Mastra's memory
    assert.deepEqual(await recorded("t1"), [
      "Deploy",
      'deploy {"to":"prod"} 401 unauthorized',
      "It failed",
      port,
      'deploy {"to":"test"} deployed',
      "It runs",
    ]);
    const { messages } = await client.sessions.listMessages({ ...SPACE, sessionId: "t1" });
    assert.deepEqual(
      messages.flatMap(({ tool: use }) => (use ? [use.failed] : [])),
      [true, false],
    );
    await (await client.session({ id: "t1" })).reflect();
    assert.match(await client.recall("which port has the API?"), /8465/);
  });

  it("keeps the turns that several processes record at once", async () => {
    await inProcesses(import.meta.url, 2);
    const turns = await recorded("shared");
    assert.equal(new Set(turns).size, 4 * RUNS);
    for (let i = 0; i < turns.length; i += 2) {
      assert.equal(turns[i]!.replace("question", "answer"), turns[i + 1]);
    }
  });
}
