/**
 * A session of the OpenAI Agents SDK in memsidecar.
 *
 *     const session = new MemsidecarSession("conversation-1", await connect({ space: "openai-agents" }));
 *     const result = await run(agent, "Hello", { session });
 */
import type { AgentInputItem, Session } from "@openai/agents-core";

import type { Client } from "./client.js";
import { MemsidecarError } from "./errors.js";
import { Role, type SessionMessage } from "./gen/memsidecar/v1/session_pb.js";
import type { NewMessage } from "./session.js";

const MARK = "memsidecar";
const MAX_ITEM = 60_000; // bytes of JSON; a message holds 64 KiB
const MAX_WRITE = 500; // items

type Fields = Record<string, unknown>;

/**
 * A conversation that several processes may write to, and from which the daemon learns: a recorded session in the
 * client's space. Items are appended and never rewritten: `popItem` and `clearSession` are recorded too, and what they
 * hide stays in the session.
 */
export class MemsidecarSession implements Session {
  readonly #id: string;
  readonly #client: Client;
  #items: Fields[] = [];
  #next = 1n;
  #readableFollows = false;

  constructor(id: string, client: Client) {
    this.#id = id;
    this.#client = client;
  }

  async getSessionId(): Promise<string> {
    return this.#id;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    await this.#read();
    const items = limit === undefined ? this.#items : limit <= 0 ? [] : this.#items.slice(-limit);
    return structuredClone(items) as AgentInputItem[];
  }

  /** Appends items durably, at most 500 as one write. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    for (let start = 0; start < items.length; start += MAX_WRITE) {
      await this.#append(items.slice(start, start + MAX_WRITE).flatMap((item) => messagesOf(item as Fields)));
    }
  }

  /** Hides the last item and returns it. Two processes that pop at once may hide two items and return the same one. */
  async popItem(): Promise<AgentInputItem | undefined> {
    const item = (await this.getItems()).at(-1);
    if (item !== undefined) {
      await this.#append([note({ [MARK]: "pop" })]);
    }
    return item;
  }

  /** Hides all items. */
  async clearSession(): Promise<void> {
    await this.#append([note({ [MARK]: "clear" })]);
  }

  async #append(messages: NewMessage[]): Promise<void> {
    await this.#client.call(this.#client.sessions.append({ space: this.#client.space, sessionId: this.#id, messages }));
  }

  /** Reads the messages that came since the last time. */
  async #read(): Promise<void> {
    const request = { space: this.#client.space, sessionId: this.#id, firstSeq: this.#next };
    for (let pageToken = ""; ; ) {
      const page = await this.#client
        .call(this.#client.sessions.listMessages({ ...request, pageToken }))
        .catch((err: unknown) => {
          if (err instanceof MemsidecarError && err.reason === "NOT_FOUND") {
            return undefined; // nothing was said yet
          }
          throw err;
        });
      for (const message of page?.messages ?? []) {
        if (message.seq >= this.#next) {
          this.#apply(message);
          this.#next = message.seq + 1n;
        }
      }
      pageToken = page?.nextPageToken ?? "";
      if (!pageToken) {
        return;
      }
    }
  }

  #apply(message: SessionMessage): void {
    if (message.role === Role.SYSTEM) {
      const said = parsed(message.content);
      if (said[MARK] === "pop") {
        this.#items.pop();
      } else if (said[MARK] === "clear") {
        this.#items = [];
      } else if (said[MARK] === "item") {
        this.#items.push(said["item"] as Fields);
        this.#readableFollows = said["shown"] === true;
      }
    } else if (this.#readableFollows) {
      this.#readableFollows = false; // it says what the item before it says
    } else if (message.role !== Role.TOOL) {
      const turn = message.role === Role.USER ? { role: "user" } : { role: "assistant" };
      this.#items.push({ ...turn, content: message.content });
    }
  }
}

/**
 * Returns an item as JSON, and behind it, where there is one, a turn or call of a tool that the daemon can learn from.
 */
function messagesOf(item: Fields): NewMessage[] {
  const shown = readable(item);
  const first = note({ [MARK]: "item", item: fitting(item), shown: shown !== undefined });
  return shown ? [first, shown] : [first];
}

function readable(item: Fields): NewMessage | undefined {
  const { role, content } = item;
  if (item["type"] === "function_call") {
    return { role: Role.TOOL, tool: { name: String(item["name"]), arguments: String(item["arguments"] ?? "") } };
  }
  const text = typeof content === "string" ? content : partsOf(content).join("\n");
  if ((role !== "user" && role !== "assistant") || text === "") {
    return undefined;
  }
  return { role: role === "user" ? Role.USER : Role.ASSISTANT, content: shortened(text, MAX_ITEM / 4) as string };
}

function partsOf(content: unknown): string[] {
  const parts: unknown[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (part as Fields)["text"]).filter((text) => typeof text === "string");
}

function note(fields: Fields): NewMessage {
  return { role: Role.SYSTEM, content: JSON.stringify(fields) };
}

function parsed(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Fields) : {};
  } catch {
    return {}; // a passage that must not be stored took its end with it; the turn behind it has the text
  }
}

/** Shortens the texts of an item that is too long for a message, in their middle. */
function fitting(item: Fields): Fields {
  let fits = item;
  for (let longest = MAX_ITEM / 2; Buffer.byteLength(JSON.stringify(fits)) > MAX_ITEM && longest > 100; longest /= 2) {
    fits = shortened(item, Math.floor(longest)) as Fields;
  }
  return fits;
}

function shortened(value: unknown, longest: number): unknown {
  if (typeof value === "string" && value.length > longest) {
    const characters = [...value]; // never half of one
    return characters.slice(0, longest / 2).join("") + " [cut] " + characters.slice(-longest / 2).join("");
  }
  if (Array.isArray(value)) {
    return value.map((part) => shortened(part, longest));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shortened(part, longest)]));
  }
  return value;
}
