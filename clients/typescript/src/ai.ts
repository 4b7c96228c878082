/**
 * Memory for the Vercel AI SDK.
 *
 *     const model = wrapLanguageModel({ model: yours, middleware: memsidecarMiddleware(client, { sessionId }) });
 *     const result = await generateText({ model, tools: memsidecarTools(client), prompt });
 */
import type {
  LanguageModelV3Content,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolResultOutput,
} from "@ai-sdk/provider";
import { jsonSchema, type LanguageModelMiddleware, tool } from "ai";

import type { Client } from "./client.js";
import { Role } from "./gen/memsidecar/v1/session_pb.js";
import type { NewMessage } from "./session.js";

/**
 * Puts before each call of a model what bears on the last message of the user, as a system message fenced as data, or
 * nothing. With a `sessionId`, what the user, the model and its tools say is recorded in that session, each turn when
 * the model has answered it, and the daemon learns from it when the session has been idle.
 */
export function memsidecarMiddleware(client: Client, { sessionId = "" } = {}): LanguageModelMiddleware {
  const record = async (prompt: LanguageModelV3Prompt, answer: string) => {
    const said: NewMessage[] = answer ? [{ role: Role.ASSISTANT, content: answer }] : [];
    const messages = [...turnsOf(prompt), ...said];
    if (sessionId && messages.length > 0) {
      await client.call(client.sessions.append({ space: client.space, sessionId, messages }));
    }
  };
  return {
    specificationVersion: "v3",
    transformParams: async ({ params }) => {
      const text = textOf(params.prompt.findLast(({ role }) => role === "user"));
      const content = text ? await client.recall(text) : "";
      return content ? { ...params, prompt: withSystem(params.prompt, content) } : params;
    },
    wrapGenerate: async ({ doGenerate, params }) => {
      const result = await doGenerate();
      await record(params.prompt, textIn(result.content));
      return result;
    },
    wrapStream: async ({ doStream, params }) => {
      const result = await doStream();
      let answer = "";
      const listen = new TransformStream<LanguageModelV3StreamPart, LanguageModelV3StreamPart>({
        transform(part, controller) {
          answer += part.type === "text-delta" ? part.delta : "";
          controller.enqueue(part);
        },
        flush: () => record(params.prompt, answer),
      });
      return { ...result, stream: result.stream.pipeThrough(listen) };
    },
  };
}

/** The tools with which a model itself saves, finds and forgets memories. */
export function memsidecarTools(client: Client) {
  return {
    remember: tool({
      description:
        "Save one fact, preference or decision for later conversations, as a sentence that is clear by itself.",
      inputSchema: oneText("text"),
      execute: async ({ text }) => {
        const { id, duplicate } = await client.remember(text);
        return `${duplicate ? "Known already" : "Saved"}: ${id}`;
      },
    }),
    searchMemories: tool({
      description: "Find memories of earlier conversations; none if nothing bears on the query.",
      inputSchema: oneText("query"),
      execute: async ({ query }) => {
        const hits = await client.search(query);
        return hits.map(({ memory }) => ({ id: memory!.id, text: memory!.content }));
      },
    }),
    forget: tool({
      description: "Retire a memory that is wrong or no longer wanted, by the id that a search returned.",
      inputSchema: oneText("id"),
      execute: async ({ id }) => {
        await client.forget(id);
        return "Forgotten";
      },
    }),
  };
}

function oneText<Name extends string>(name: Name) {
  return jsonSchema<Record<Name, string>>({
    type: "object",
    properties: { [name]: { type: "string" } },
    required: [name],
    additionalProperties: false,
  });
}

/** Returns a prompt with a system message behind those at its beginning; models accept none elsewhere. */
function withSystem(prompt: LanguageModelV3Prompt, content: string): LanguageModelV3Prompt {
  const first = prompt.findIndex(({ role }) => role !== "system");
  return [...prompt.slice(0, first), { role: "system", content }, ...prompt.slice(first)];
}

/** Yields what was said since the model spoke last: turns of the user, or results of tools. */
function* turnsOf(prompt: LanguageModelV3Prompt): Generator<NewMessage> {
  const spoke = prompt.findLastIndex(({ role }) => role === "assistant");
  const calls = new Map<string, string>();
  for (const part of spoke >= 0 ? (prompt[spoke]!.content as Part[]) : []) {
    if (part.type === "tool-call") {
      calls.set(part.toolCallId, JSON.stringify(part.input));
    }
  }
  for (const message of prompt.slice(spoke + 1)) {
    if (message.role === "user" && textOf(message)) {
      yield { role: Role.USER, content: textOf(message) };
    } else if (message.role === "tool") {
      for (const part of message.content) {
        if (part.type === "tool-result") {
          const call = { name: part.toolName, arguments: calls.get(part.toolCallId) ?? "" };
          yield { role: Role.TOOL, tool: { ...call, ...outputOf(part.output) } };
        }
      }
    }
  }
}

type Part = Exclude<LanguageModelV3Message["content"], string>[number];

function outputOf(output: LanguageModelV3ToolResultOutput): { result?: string; error?: string; failed?: boolean } {
  switch (output.type) {
    case "text":
      return { result: output.value };
    case "json":
      return { result: JSON.stringify(output.value) };
    case "content":
      return { result: textIn(output.value) };
    case "error-text":
      return { error: output.value, failed: true };
    case "error-json":
      return { error: JSON.stringify(output.value), failed: true };
    case "execution-denied":
      return { error: output.reason ?? "the user denied it", failed: true };
  }
}

function textOf(message: LanguageModelV3Message | undefined): string {
  const content = message?.content ?? "";
  return typeof content === "string" ? content : textIn(content);
}

function textIn(parts: readonly (Part | LanguageModelV3Content | { type: string; text?: string })[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [(part as { text: string }).text] : [])).join("\n");
}
