import { createHash } from "node:crypto";

import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";

import type { Client } from "./client.js";
import { accepted, MemsidecarError } from "./errors.js";
import { type Memory, MemoryStatus } from "./gen/memsidecar/v1/memory_pb.js";
import { MemoryOrder, type NewMemorySchema } from "./gen/memsidecar/v1/memory_service_pb.js";
import { type Outcome, OutcomeStatus } from "./gen/memsidecar/v1/write_pb.js";

const MAX_BATCH = 1000;
const MAX_TEXT = 8000; // characters
const MAX_TITLE = 200;
const MAX_TAG = 64;

/** A value to store. `text` and `title` are cut where they are too long for a memory; `data` is not. */
export interface Entry {
  readonly key: string;
  readonly text: string;
  readonly data: JsonObject;
  readonly title: string;
  readonly tags: string[];
}

/**
 * JSON values under keys. Each is one memory: its id is made from the key, so that writers of one key in several
 * processes meet in one memory, its text is what searches find and people read, and its structured data is the value.
 * The Python client stores them in the same form. Of several writers of one key the last counts.
 */
export class Keyed {
  constructor(
    private readonly client: Client,
    readonly source: string,
    private readonly allowSensitive: boolean,
  ) {}

  /** Returns the current memories of those keys that have one. */
  async get(keys: Iterable<string>): Promise<Map<string, Memory>> {
    const ids = new Map([...keys].map((key) => [this.id(key), key]));
    const found = new Map<string, Memory>();
    for (const batch of batches([...ids.keys()])) {
      for (const memory of await this.known(batch)) {
        if (current(memory)) {
          found.set(ids.get(memory.id)!, memory);
        }
      }
    }
    return found;
  }

  /** Yields the memories that have any of the tags, oldest first. */
  async *list(tags: string[]): AsyncGenerator<Memory> {
    const request = {
      space: this.client.space,
      filter: { sources: [this.source], tags },
      order: MemoryOrder.CREATED,
      ascending: true,
      pageSize: MAX_BATCH,
    };
    for (let pageToken = ""; ; ) {
      const page = await this.client.call(this.client.memory.list({ ...request, pageToken }));
      yield* page.memories;
      pageToken = page.nextPageToken;
      if (!pageToken) {
        return;
      }
    }
  }

  /** Stores values, durably. */
  async put(entries: Entry[]): Promise<void> {
    for (const batch of batches(entries)) {
      await this.add(batch);
    }
  }

  /** Retires the values of keys, durably; undo brings them back. Keys without a value are skipped. */
  async delete(keys: string[]): Promise<void> {
    for (const batch of batches(keys)) {
      const ids = batch.map((key) => this.id(key));
      await this.client
        .call(this.client.memory.delete({ space: this.client.space, ids, keepLearnable: true }))
        .catch(unless("NOT_FOUND"));
    }
  }

  private id(key: string): string {
    return `${this.source}-${hash(key).slice(0, 32)}`;
  }

  private async known(ids: string[]): Promise<Memory[]> {
    const found: Memory[] = [];
    for (let pageToken = ""; ; ) {
      const page = await this.client
        .call(this.client.memory.get({ space: this.client.space, ids, pageToken }))
        .catch(unless("NOT_FOUND"));
      found.push(...(page?.memories ?? []));
      pageToken = page?.nextPageToken ?? "";
      if (!pageToken) {
        return found;
      }
    }
  }

  private async add(entries: Entry[]): Promise<void> {
    const { space } = this.client;
    const items = entries.map((entry) => this.newMemory(entry));
    const { result } = await this.client.call(
      this.client.memory.add({ space, items, allowSensitive: this.allowSensitive }),
    );
    const again: Entry[] = [];
    for (const [i, entry] of entries.entries()) {
      const outcome = result!.outcomes[i]!;
      tell(outcome);
      if (outcome.status === OutcomeStatus.APPLIED && outcome.reason !== "REVIVED") {
        continue;
      }
      if (outcome.id !== this.id(entry.key)) {
        again.push(distinct(entry));
      } else if (!(await this.set(entry))) {
        again.push(entry);
      }
    }
    if (again.length > 0) {
      await this.add(again);
    }
  }

  /** Changes the memory of a key, also a retired one; returns false if there is none any more. */
  private async set(entry: Entry): Promise<boolean> {
    const { content, title, tags, structuredData } = this.newMemory(entry);
    const request = {
      space: this.client.space,
      id: this.id(entry.key),
      patch: { content, title, tags, structuredData, pinned: true },
      updateMask: { paths: ["content", "title", "tags", "structured_data", "pinned", "expires_at"] },
      allowSensitive: this.allowSensitive,
    };
    try {
      const { result, memory } = await this.client.call(this.client.memory.update(request));
      tell(result!.outcomes[0]!);
      if (memory!.status !== MemoryStatus.ACTIVE) {
        const restored = await this.client.call(
          this.client.memory.restore({ space: this.client.space, ids: [memory!.id] }),
        );
        accepted(restored.result!);
      }
      return true;
    } catch (err) {
      if (err instanceof MemsidecarError && err.reason === "NOT_FOUND") {
        return false;
      }
      if (err instanceof MemsidecarError && (err.code === "ALREADY_EXISTS" || err.reason === "EXACT_DUPLICATE")) {
        return this.set(distinct(entry)); // another key has this text
      }
      throw err;
    }
  }

  private newMemory(entry: Entry): MessageInitShape<typeof NewMemorySchema> {
    return {
      id: this.id(entry.key),
      content: cut(entry.text, MAX_TEXT),
      title: cut(entry.title, MAX_TITLE),
      tags: entry.tags,
      source: this.source,
      pinned: true, // a pinned memory is never merged with others
      structuredData: entry.data,
    };
  }
}

/** Returns the entry with a text that no other key has: a space holds no text twice. */
function distinct(entry: Entry): Entry {
  const mark = `\n(key ${hash(entry.key).slice(0, 12)})`;
  return { ...entry, text: cut(entry.text, MAX_TEXT - mark.length) + mark };
}

function tell(outcome: Outcome): void {
  const kinds = [...new Set(outcome.redactions.map(({ kind }) => kind))].sort();
  if (kinds.length > 0) {
    process.emitWarning(
      `${outcome.id} was stored without what looks like a secret (${kinds.join(", ")})`,
      "MemsidecarWarning",
    );
  }
}

function unless(reason: string): (err: unknown) => undefined {
  return (err) => {
    if (!(err instanceof MemsidecarError && err.reason === reason)) {
      throw err;
    }
  };
}

function* batches<T>(all: T[]): Generator<T[]> {
  for (let start = 0; start < all.length; start += MAX_BATCH) {
    yield all.slice(start, start + MAX_BATCH);
  }
}

/** Reports whether a memory is active and has not expired. */
function current(memory: Memory): boolean {
  return memory.status === MemoryStatus.ACTIVE && !(memory.expiresAt && timestampDate(memory.expiresAt) <= new Date());
}

/** Returns a text as a tag; one that is too long is replaced by its hash. */
export function tag(text: string): string {
  return [...text].length <= MAX_TAG ? text : "sha256:" + hash(text).slice(0, 40);
}

/** Returns a value as text: a line for each of its parts, without a name if there is only one. */
export function textOf(value: unknown): string {
  const lines = [...linesOf(value, "")];
  return (lines.length === 1 ? lines[0]![1] : lines.map(([name, text]) => `${name}: ${text}`).join("\n")) || "(empty)";
}

function* linesOf(value: unknown, name: string): Generator<[string, string]> {
  if (Array.isArray(value)) {
    for (const part of value) {
      yield* linesOf(part, name);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [key, part] of Object.entries(value)) {
      yield* linesOf(part, name ? `${name}.${key}` : key);
    }
  } else if (value !== null && value !== undefined) {
    yield [name, String(value)];
  }
}

/** Returns the value of the structured data of a memory, in the form of this client or the Python client. */
export function valueOf(data: JsonObject): JsonValue {
  return typeof data["json"] === "string" ? (JSON.parse(data["json"]) as JsonValue) : data["value"]!;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : [...text].slice(0, most).join("");
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
