// The middleware and the tools in the SDK's own loop, on a model of the test's own.
import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";

import type { LanguageModelV3Content, LanguageModelV3Usage } from "@ai-sdk/provider";
import { generateText, jsonSchema, simulateReadableStream, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { memsidecarMiddleware, memsidecarTools } from "../ai.js";
import { type Client, connect } from "../index.js";
import { home } from "../testing.js";
import { inProcesses, runExample, worker } from "./examples.js";

const SPACE = { space: "ai" };
const RUNS = 20;
const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
const usage: LanguageModelV3Usage = { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: 0 } };
const finishReason = { unified: "stop" as const, raw: "stop" };

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

/** A model that gives these answers in turn. */
function answering(...answers: LanguageModelV3Content[]): MockLanguageModelV3 {
  const results = answers.map((content) => ({ content: [content], finishReason, usage, warnings: [] }));
  return new MockLanguageModelV3({ doGenerate: async () => results.shift()! });
}

function say(text: string): LanguageModelV3Content {
  return { type: "text", text };
}

function call(toolName: string, input: object): LanguageModelV3Content {
  return { type: "tool-call", toolCallId: `call-${toolName}`, toolName, input: JSON.stringify(input) };
}

function remembering(model: MockLanguageModelV3, sessionId?: string, from = client) {
  return wrapLanguageModel({ model, middleware: memsidecarMiddleware(from, sessionId ? { sessionId } : {}) });
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
    await generateText({
      model: remembering(answering(say(`answer ${number}-${n}`)), "shared", own),
      prompt: `question ${number}-${n}`,
    });
    await own.remember("every process saves this");
  }
  own.close();
}

function tests(): void {
  it("runs the example of the documentation", () => runExample("Vercel AI SDK"));

  it("puts before the model what bears on the prompt, as data, behind its instructions, and nothing else", async () => {
    await client.remember("Deploys of the shop go through make release");
    const model = answering(say("so"), say("Lima"));
    await generateText({ model: remembering(model), system: "be brief", prompt: "How do deploys of the shop go?" });
    const [instructions, recalled, user] = model.doGenerateCalls[0]!.prompt;
    assert.deepEqual([instructions!.content, user!.role], ["be brief", "user"]);
    assert.equal(recalled!.role, "system");
    assert.match(String(recalled!.content), /data, not instructions[^]*make release/);
    await generateText({ model: remembering(model), prompt: "What is the capital of Peru?" });
    assert.deepEqual(
      model.doGenerateCalls[1]!.prompt.map(({ role }) => role),
      ["user"],
    );
  });

  it("gives a model tools, and saves what is said twice once", async () => {
    const fact = { text: "Ada grows tulips" };
    const calls = [
      call("remember", fact),
      call("remember", fact),
      call("searchMemories", { query: "tulips" }),
      say("done"),
    ];
    const tools = memsidecarTools(client);
    const { steps } = await generateText({
      model: answering(...calls),
      tools,
      stopWhen: stepCountIs(5),
      prompt: "Keep that in mind",
    });
    const { memories } = await client.memory.list(SPACE);
    assert.deepEqual(
      memories.map(({ content }) => content),
      ["Ada grows tulips"],
    );
    const { id } = memories[0]!;
    assert.deepEqual(
      steps.flatMap((step) => step.toolResults.map(({ output }) => output)),
      [`Saved: ${id}`, `Known already: ${id}`, [{ id, text: "Ada grows tulips" }]],
    );
    await generateText({
      model: answering(call("forget", { id }), say("done")),
      tools,
      stopWhen: stepCountIs(2),
      prompt: "Forget it",
    });
    assert.deepEqual((await client.memory.list(SPACE)).memories, []);
  });

  it("records each turn of a conversation once, with failed calls, and teaches the daemon", async () => {
    const model = remembering(answering(call("deploy", { to: "prod" }), say("It failed"), say("I will")), "c1");
    const deploy = tool({
      inputSchema: jsonSchema<{ to: string }>({ type: "object", properties: { to: { type: "string" } } }),
      execute: async (): Promise<string> => {
        throw new Error("401 unauthorized");
      },
    });
    const first = await generateText({ model, tools: { deploy }, stopWhen: stepCountIs(3), prompt: "Deploy" });
    const second = { role: "user" as const, content: "Please remember that the port of the API is 8465" };
    await generateText({ model, messages: [{ role: "user", content: "Deploy" }, ...first.response.messages, second] });
    assert.deepEqual(await recorded("c1"), [
      "Deploy",
      'deploy {"to":"prod"} 401 unauthorized',
      "It failed",
      second.content,
      "I will",
    ]);
    const { messages } = await client.sessions.listMessages({ ...SPACE, sessionId: "c1" });
    assert.equal(messages[1]!.tool!.failed, true);
    await (await client.session({ id: "c1" })).reflect();
    assert.match(await client.recall("which port has the API?"), /8465/);
    await generateText({ model: remembering(answering(say("hi"))), prompt: "Hello" }); // of no session
    assert.equal((await client.sessions.list(SPACE)).sessions.length, 1);
  });

  it("records a call that was repeated once", async () => {
    let failures = 2;
    const model = answering(say("at last"));
    const generate = model.doGenerate;
    model.doGenerate = async (options) => {
      if (failures-- > 0) {
        throw new Error("overloaded");
      }
      return generate(options);
    };
    const attempts = { model: remembering(model, "c2"), prompt: "Try" };
    await assert.rejects(generateText({ ...attempts, maxRetries: 0 }));
    await assert.rejects(generateText({ ...attempts, maxRetries: 0 }));
    await generateText(attempts);
    assert.deepEqual(await recorded("c2"), ["Try", "at last"]);
  });

  it("records a streamed answer when it has ended", async () => {
    const chunks = [
      { type: "text-start" as const, id: "1" },
      { type: "text-delta" as const, id: "1", delta: "It is " },
      { type: "text-delta" as const, id: "1", delta: "noon" },
      { type: "text-end" as const, id: "1" },
      { type: "finish" as const, finishReason, usage },
    ];
    const model = new MockLanguageModelV3({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) });
    const result = streamText({ model: remembering(model, "c3"), prompt: "What time is it?" });
    assert.equal(await result.text, "It is noon");
    assert.deepEqual(await recorded("c3"), ["What time is it?", "It is noon"]);
  });

  it("keeps the turns that several processes record at once, and one memory of what each saves", async () => {
    await inProcesses(import.meta.url, 2);
    const turns = await recorded("shared");
    assert.equal(turns.length, 4 * RUNS);
    for (let i = 0; i < turns.length; i += 2) {
      assert.equal(turns[i]!.replace("question", "answer"), turns[i + 1]);
    }
    assert.equal(new Set(turns).size, turns.length);
    assert.equal((await client.memory.list(SPACE)).memories.length, 1);
  });
}
