import type { MessageInitShape } from "@bufbuild/protobuf";

import type { Client } from "./client.js";
import { Role, type SessionMessageSchema } from "./gen/memsidecar/v1/session_pb.js";
import type { SessionServiceReflectResponse, SessionServiceStartResponse } from "./gen/memsidecar/v1/session_service_pb.js";

const roles = { user: Role.USER, assistant: Role.ASSISTANT, system: Role.SYSTEM };

/** A message for a session, which sets its sequence number. */
export type NewMessage = Omit<MessageInitShape<typeof SessionMessageSchema>, "seq" | "$typeName">;

/** Records a conversation. When it ends, the daemon learns from it. Make its calls one after the other. */
export class Session {
  /** The session's id, with which another process can continue it. */
  readonly id: string;
  /** What the agent should know at the start, fenced as data; it stays the same for the session. */
  readonly context: string;
  readonly #space: string;
  #next: bigint;

  /** Use {@link Client.session}. */
  constructor(
    private readonly client: Client,
    started: SessionServiceStartResponse,
  ) {
    this.id = started.session!.id;
    this.context = started.context;
    this.#space = started.space;
    this.#next = started.session!.nextSeq;
  }

  /** Records messages durably. */
  async append(...messages: NewMessage[]): Promise<void> {
    const numbered = messages.map((m, i) => ({ ...m, seq: this.#next + BigInt(i) }));
    const request = { space: this.#space, sessionId: this.id, messages: numbered };
    this.#next = (await this.client.call(this.client.sessions.append(request))).nextSeq;
  }

  /** Records a turn. */
  say(role: "user" | "assistant" | "system", content: string): Promise<void> {
    return this.append({ role: roles[role], content });
  }

  /** Records a failed tool call, from which the daemon learns. */
  toolFailed(name: string, args: string, error: string): Promise<void> {
    return this.append({ role: Role.TOOL, tool: { name, arguments: args, error, failed: true } });
  }

  /** Returns memories to add to a prompt, without those that this session already got. */
  recall(prompt: string): Promise<string> {
    return this.client.recall(prompt, { sessionId: this.id });
  }

  /** Ends the session. The daemon learns from it in the background, once. */
  async end(): Promise<void> {
    await this.client.call(this.client.sessions.end({ space: this.#space, sessionId: this.id, endReason: "client" }));
  }

  /** Ends the session and waits until the daemon has learned from it. */
  reflect(): Promise<SessionServiceReflectResponse> {
    return this.client.call(this.client.sessions.reflect({ space: this.#space, sessionId: this.id }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}
