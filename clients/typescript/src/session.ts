import type { MessageInitShape } from "@bufbuild/protobuf";

import type { Client } from "./client.js";
import type { SessionMessageSchema } from "./gen/memsidecar/v1/session_pb.js";
import type { SessionServiceReflectResponse, SessionServiceStartResponse } from "./gen/memsidecar/v1/session_service_pb.js";

/** One message as it is given to a session; its sequence number is set there. */
export type NewMessage = Omit<MessageInitShape<typeof SessionMessageSchema>, "seq" | "$typeName">;

/** A conversation that is recorded while it goes on and learnt from when it ends. Its calls are made one after the other. */
export class Session {
  /** For a later process to go on with. */
  readonly id: string;
  /** What the agent should know from the beginning, fenced as data; it stays the same for the session. */
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

  /** Records one turn of the user, the assistant or the system. */
  say(role: "user" | "assistant" | "system", content: string): Promise<void> {
    return this.append({ role, content });
  }

  /** Records that a tool failed, to be learnt from. */
  toolFailed(name: string, args: string, error: string): Promise<void> {
    return this.append({ role: "tool", tool: { name, arguments: args, error, failed: true } });
  }

  /** Returns what to put beside a prompt, without what this session was told already. */
  recall(prompt: string): Promise<string> {
    return this.client.recall(prompt, { session: this.id });
  }

  /** Ends the session without waiting: it is learnt from in the background, once. */
  async end(): Promise<void> {
    await this.client.call(this.client.sessions.end({ space: this.#space, sessionId: this.id, reason: "client" }));
  }

  /** Ends the session and waits until it is learnt from. */
  reflect(): Promise<SessionServiceReflectResponse> {
    return this.client.call(this.client.sessions.reflect({ space: this.#space, sessionId: this.id }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}
