/**
 * Memory for agents of Mastra, beside or instead of its own.
 *
 *     const memory = new MemsidecarProcessor(client);
 *     const agent = new Agent({ ..., inputProcessors: [memory], outputProcessors: [memory] });
 */
import type { MastraDBMessage } from "@mastra/core/agent/message-list";
import type { ProcessInputArgs, ProcessInputResult, ProcessOutputResultArgs, Processor } from "@mastra/core/processors";

import type { Client } from "./client.js";
import { Role } from "./gen/memsidecar/v1/session_pb.js";
import type { NewMessage } from "./session.js";

/**
 * As an input processor it puts before a run what bears on the user's message, as a system message fenced as data, or
 * nothing. As an output processor too, it records a run in a thread, when it has ended, in the session of the thread's
 * id: each turn and call of a tool once. The daemon learns from the session when it has been idle.
 */
export class MemsidecarProcessor implements Processor<"memsidecar"> {
  readonly id = "memsidecar";
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async processInput({ messages, messageList, systemMessages, state }: ProcessInputArgs): Promise<ProcessInputResult> {
    const said = messageList.get.input.db(); // without those that Mastra's own memory has put before them
    state["said"] = said;
    const text = textOf(said.findLast(({ role }) => role === "user"));
    const content = text ? await this.#client.recall(text) : "";
    return { messages, systemMessages: content ? [...systemMessages, { role: "system", content }] : systemMessages };
  }

  async processOutputResult({ messages, state }: ProcessOutputResultArgs): Promise<MastraDBMessage[]> {
    const said = (state["said"] ?? []) as MastraDBMessage[];
    const sessionId = [...said, ...messages].find(({ threadId }) => threadId)?.threadId;
    const turns = [...said, ...messages].flatMap((message) => [...turnsOf(message)]);
    if (sessionId && turns.length > 0) {
      const { space } = this.#client;
      await this.#client.call(this.#client.sessions.append({ space, sessionId, messages: turns }));
    }
    return messages;
  }
}

function* turnsOf(message: MastraDBMessage): Generator<NewMessage> {
  const role = message.role === "user" ? Role.USER : message.role === "assistant" ? Role.ASSISTANT : undefined;
  if (role === undefined) {
    return;
  }
  for (const part of message.content.parts) {
    if (part.type === "text" && part.text) {
      yield { role, content: part.text };
    } else if (part.type === "tool-invocation") {
      const use = part.toolInvocation;
      const call = { name: use.toolName, arguments: JSON.stringify(use.args) };
      if (use.state === "result") {
        yield {
          role: Role.TOOL,
          tool: { ...call, result: typeof use.result === "string" ? use.result : JSON.stringify(use.result) },
        };
      } else if (use.state === "output-error") {
        yield { role: Role.TOOL, tool: { ...call, error: use.errorText ?? "failed", failed: true } };
      }
    }
  }
}

function textOf(message: MastraDBMessage | undefined): string {
  const parts = message?.content.parts ?? [];
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
