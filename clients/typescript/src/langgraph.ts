/**
 * A LangGraph.js store in memsidecar.
 *
 *     const store = new MemsidecarStore(await connect({ space: "langgraph" }));
 *     const graph = builder.compile({ store });
 */
import {
  BaseStore,
  getTextAtPath,
  type GetOperation,
  InvalidNamespaceError,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import type { JsonObject } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";

import type { Client } from "./client.js";
import type { Memory } from "./gen/memsidecar/v1/memory_pb.js";
import { type Entry, Keyed, tag, textOf, valueOf } from "./keyed.js";

const MAX_HITS = 200;

/**
 * Keeps items durably, for any number of processes. `search` ranks by words and meaning, without an embedding service.
 *
 * An item is a memory in the client's space: its title is the key, its tags are the namespace and all its prefixes, its
 * structured data is the value. The Python store of the same space has the same items. `allowSensitive` also stores
 * what looks like a secret, which is taken out by default.
 */
export class MemsidecarStore extends BaseStore {
  readonly #client: Client;
  readonly #items: Keyed;

  constructor(client: Client, { allowSensitive = false } = {}) {
    super();
    this.#client = client;
    this.#items = new Keyed(client, "langgraph", allowSensitive);
  }

  /** Runs the reads, then the writes. Of several writes to one key the last counts. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const puts = new Map<string, PutOperation>();
    const gets = new Set<string>();
    for (const op of operations) {
      if ("namespace" in op) {
        check(op.namespace);
      } else if ("namespacePrefix" in op && op.namespacePrefix.length > 0) {
        check(op.namespacePrefix);
      }
      if (isPut(op)) {
        puts.set(keyOf(op), op);
      } else if (isGet(op)) {
        gets.add(keyOf(op));
      }
    }
    const found = gets.size > 0 ? await this.#items.get(gets) : new Map<string, Memory>();
    const results: unknown[] = [];
    for (const op of operations) {
      if (isPut(op)) {
        results.push(null);
      } else if (isGet(op)) {
        const memory = found.get(keyOf(op));
        results.push(memory ? itemOf(memory) : null);
      } else if ("namespacePrefix" in op) {
        results.push(await this.#search(op));
      } else {
        results.push(await this.#namespaces(op));
      }
    }
    await this.#items.put([...puts].flatMap(([key, op]) => (op.value === null ? [] : [entryOf(key, op, op.value)])));
    await this.#items.delete([...puts].flatMap(([key, op]) => (op.value === null ? [key] : [])));
    return results as OperationResults<Op>;
  }

  async #search(op: SearchOperation): Promise<SearchItem[]> {
    const { limit = 10, offset = 0, filter = {}, query } = op;
    const tags = tagsOf(op.namespacePrefix).slice(-1);
    const chosen: SearchItem[] = [];
    if (query) {
      const wanted = Object.keys(filter).length > 0 ? MAX_HITS : Math.max(1, Math.min(offset + limit, MAX_HITS));
      const spaces = this.#client.space ? [this.#client.space] : [];
      const request = { spaces, query, limit: wanted, filter: { sources: [this.#items.source], tags } };
      for (const { memory, score } of (await this.#client.call(this.#client.searches.search(request))).hits) {
        if (memory && memory.structuredData?.["index"] !== false && selected(memory, op.namespacePrefix, filter)) {
          chosen.push({ ...itemOf(memory), score });
        }
      }
    } else {
      for await (const memory of this.#items.list(tags)) {
        if (chosen.length >= offset + limit) {
          break;
        }
        if (selected(memory, op.namespacePrefix, filter)) {
          chosen.push({ ...itemOf(memory), score: undefined });
        }
      }
    }
    return chosen.slice(offset, offset + limit);
  }

  async #namespaces(op: ListNamespacesOperation): Promise<string[][]> {
    const found = new Map<string, string[]>();
    for await (const memory of this.#items.list([])) {
      const namespace = namespaceOf(memory);
      if ((op.matchConditions ?? []).every((condition) => matches(condition, namespace))) {
        const part = namespace.slice(0, op.maxDepth);
        found.set(part.join(":"), part);
      }
    }
    const sorted = [...found].sort(([a], [b]) => a.localeCompare(b)).map(([, namespace]) => namespace);
    const offset = op.offset ?? 0;
    return sorted.slice(offset, offset + (op.limit ?? sorted.length));
  }
}

function isPut(op: Operation): op is PutOperation {
  return "value" in op;
}

function isGet(op: Operation): op is GetOperation {
  return "key" in op && !("value" in op);
}

/**
 * Refuses the namespaces that LangGraph's own stores refuse: their labels could not be told apart when they are joined.
 */
function check(namespace: string[]): void {
  if (namespace.length === 0) {
    throw new InvalidNamespaceError("the namespace is empty");
  }
  for (const label of namespace) {
    if (typeof label !== "string" || label === "" || /[.:\0]/.test(label)) {
      throw new InvalidNamespaceError(
        `the label ${JSON.stringify(label)} of a namespace is empty, or has a period, colon or NUL`,
      );
    }
  }
}

/** Names an item in the words of the Python client's store. */
function keyOf({ namespace, key }: { namespace: string[]; key: string }): string {
  return `[${[...namespace, key].map(ascii).join(", ")}]`;
}

function ascii(text: string): string {
  return JSON.stringify(text).replace(/[\x7f-\uffff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** Names a namespace and its prefixes, shortest first. */
function tagsOf(namespace: string[]): string[] {
  return namespace.map((_, depth) => tag(namespace.slice(0, depth + 1).join(".")));
}

function entryOf(key: string, op: PutOperation, given: Record<string, unknown>): Entry {
  const value = JSON.parse(JSON.stringify(given)) as JsonObject;
  const data: JsonObject = { value, namespace: op.namespace, key: op.key };
  let text = textOf(value);
  if (op.index === false) {
    data["index"] = false;
  } else if (op.index) {
    text = op.index.flatMap((path) => getTextAtPath(value, path)).join("\n") || text;
  }
  return { key, text, data, title: op.key, tags: tagsOf(op.namespace) };
}

function namespaceOf(memory: Memory): string[] {
  return memory.structuredData!["namespace"] as string[];
}

function itemOf(memory: Memory): Item {
  const data = memory.structuredData!;
  return {
    value: valueOf(data) as JsonObject,
    key: data["key"] as string,
    namespace: namespaceOf(memory),
    createdAt: timestampDate(memory.createdAt!),
    updatedAt: timestampDate(memory.updatedAt!),
  };
}

function selected(memory: Memory, prefix: string[], filter: Record<string, unknown>): boolean {
  const value = valueOf(memory.structuredData!) as JsonObject;
  const below = prefix.every((label, depth) => namespaceOf(memory)[depth] === label);
  return below && Object.entries(filter).every(([name, wanted]) => fits(value[name], wanted));
}

const OPERATORS: Record<string, (value: unknown, operand: unknown) => boolean> = {
  $eq: (value, operand) => value === operand,
  $ne: (value, operand) => value !== operand,
  $gt: (value, operand) => Number(value) > Number(operand),
  $gte: (value, operand) => Number(value) >= Number(operand),
  $lt: (value, operand) => Number(value) < Number(operand),
  $lte: (value, operand) => Number(value) <= Number(operand),
  $in: (value, operand) => Array.isArray(operand) && operand.includes(value),
  $nin: (value, operand) => !Array.isArray(operand) || !operand.includes(value),
};

/**
 * Compares a field with a filter: operators only, or equality of anything but objects, as LangGraph's own stores do.
 */
function fits(value: unknown, wanted: unknown): boolean {
  if (typeof wanted === "object" && wanted !== null && Object.keys(wanted).every((name) => name in OPERATORS)) {
    return Object.entries(wanted).every(([name, operand]) => OPERATORS[name]!(value, operand));
  }
  return value === wanted;
}

function matches({ matchType, path }: MatchCondition, namespace: string[]): boolean {
  if (path.length > namespace.length) {
    return false;
  }
  const start = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.every((wanted, i) => wanted === "*" || wanted === namespace[start + i]);
}
