// The LangGraph.js store beside LangGraph's own store in memory.
import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";

import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { type BaseStore, InMemoryStore, InvalidNamespaceError, type Item } from "@langchain/langgraph-checkpoint";

import { type Client, connect } from "../index.js";
import { MemsidecarStore } from "../langgraph.js";
import { home } from "../testing.js";
import { inProcesses, runExample, worker } from "./examples.js";

const SPACE = { space: "langgraph" };
const PUTS = 100;

const VALUES: Record<string, Record<string, unknown>> = {
  plain: { text: "likes pizza" },
  nested: { a: { b: [1, 2, { c: null }] }, flag: true, empty: {}, list: [] },
  numbers: { int: 1, half: 0.5, big: 2 ** 60, negative: -3 },
  unicode: { text: "下次不要直接推送到 main 分支 🐕" },
  same: { text: "likes pizza" },
  long: { text: "word ".repeat(4000) },
  nothing: {},
};

let leave: () => Promise<void>;
let client: Client;
let stores: BaseStore[];

if (worker === undefined) {
  beforeEach(async () => {
    leave = home();
    client = await connect(SPACE);
    stores = [new MemsidecarStore(client), new InMemoryStore()];
  });
  afterEach(async () => {
    client.close();
    await leave();
  });
  tests();
} else {
  await putMany(worker);
}

/** A result without times, scores and, where the stores have none, order. */
function plain(result: unknown): unknown {
  if (Array.isArray(result)) {
    return result.map(plain);
  }
  const item = result as Item | null;
  return item !== null && typeof item === "object" && "value" in item ? [item.namespace, item.key, item.value] : result;
}

async function same(call: (store: BaseStore) => Promise<unknown>): Promise<unknown> {
  const [ours, theirs] = await Promise.all(stores.map(async (store) => plain(await call(store))));
  assert.deepEqual(ours, theirs);
  return ours;
}

async function putMany(number: number): Promise<void> {
  const own = await connect(SPACE);
  const store = new MemsidecarStore(own);
  for (let n = 0; n < PUTS; n++) {
    await store.put(["shared"], `w${number}-${n}`, { number, n, text: `note ${n}` });
    if (n % 25 === 0) {
      await store.put(["shared"], "contended", { number, n });
    }
  }
  own.close();
}

function tests(): void {
  it("runs the example of the documentation", () => runExample("LangGraph.js"));

  it("keeps values as they are", async () => {
    const users = ["users", "ada"];
    for (const [name, value] of Object.entries(VALUES)) {
      await same((s) => s.put(users, name, value));
      await same((s) => s.get(users, name));
    }
    await same((s) => s.get(users, "unknown"));
    await same((s) => s.get(["users"], "plain"));
    await same((s) => s.search(["users"], { limit: 20 }));
    for (const value of [
      { text: "likes noodles", n: 2 },
      { text: "likes noodles", n: 2 },
      { text: "likes noodles", n: 3 },
    ]) {
      await same((s) => s.put(users, "plain", value));
      await same((s) => s.get(users, "plain"));
    }
    await same((s) => s.put(users, "nested", { text: "likes noodles" })); // the text of another key
    await same((s) => s.get(users, "nested"));
    for (const value of [{ text: "likes noodles" }, { text: "likes tea" }]) {
      await same((s) => s.delete(users, "plain"));
      await same((s) => s.delete(users, "unknown"));
      await same((s) => s.get(users, "plain"));
      await same((s) => s.put(users, "plain", value)); // a key that was deleted
      await same((s) => s.get(users, "plain"));
    }
    const loop: Record<string, unknown> = {};
    loop["loop"] = loop;
    await assert.rejects(stores[0]!.put(users, "loop", loop), TypeError);
  });

  it("stores what the Python store reads", async () => {
    await stores[0]!.put(["ünï", "下"], 'a "b"\n\x7f', { v: 1 });
    const [memory] = (await client.memory.list(SPACE)).memories;
    // test_layout of the Python store has the same memory.
    assert.deepEqual([memory!.id, memory!.tags], ["langgraph-24e54dfcff174a5ecc77f2ac47f765e5", ["ünï", "ünï.下"]]);
    assert.deepEqual(memory!.structuredData, { value: { v: 1 }, namespace: ["ünï", "下"], key: 'a "b"\n\x7f' });
  });

  it("filters and pages", async () => {
    for (let n = 0; n < 12; n++) {
      const value = { n, kind: n % 2 ? "odd" : "even", in: { x: n } };
      await same((s) => s.put(["docs", `u${n % 3}`], `k${n}`, value));
    }
    const filters = [
      undefined,
      { kind: "odd" },
      { kind: "odd", n: { $gt: 4 } },
      { n: { $gte: 3, $lt: 9 } },
      { n: { $ne: 3 } },
      { n: { $eq: 3 } },
      { n: { $in: [1, 2, 99] } },
      { kind: { $nin: ["odd"] } },
      { n: { $lte: 2 }, missing: { $ne: 1 } },
      { in: { x: 5 } },
      { missing: 1 },
    ];
    const sorted = (items: Item[]) => items.sort((a, b) => a.key.localeCompare(b.key));
    for (const filter of filters) {
      for (const prefix of [[], ["docs"], ["docs", "u1"], ["doc"]]) {
        await same(async (s) => sorted(await s.search(prefix, { filter, limit: 100 })));
      }
      await same((s) => s.search(["docs", "u1"], { filter, limit: 2, offset: 1 }));
    }
    await same((s) => s.search(["docs", "u1"], { limit: 0 }));
  });

  it("finds what bears on a query, below the prefix, and nothing else", async () => {
    const store = stores[0]!;
    await store.put(["ada", "memories"], "food", { text: "Ada is allergic to peanuts" });
    await store.put(["ada", "memories"], "work", { text: "Ada works at the observatory" });
    await store.put(["ada", "secret"], "hidden", { text: "Ada hides peanuts from the squirrels" }, false);
    await store.put(["bob", "memories"], "food", { text: "Bob grows peanuts" });
    await store.put(["ada", "memories"], "field", { note: "the telescope needs oil", text: "x" }, ["note"]);
    const keys = async (prefix: string[], query: string, filter?: Record<string, unknown>) =>
      (await store.search(prefix, { query, filter })).map((item) => `${item.namespace[0]} ${item.key}`);
    assert.equal((await keys(["ada"], "who is allergic to peanuts?"))[0], "ada food");
    assert.deepEqual(await keys(["ada"], "peanuts"), ["ada food"]);
    assert.deepEqual((await keys([], "peanuts")).sort(), ["ada food", "bob food"]);
    assert.deepEqual(await keys(["ada"], "telescope oil"), ["ada field"]);
    assert.deepEqual(await keys(["ada"], "quarterly tax report"), []);
    assert.deepEqual(await keys(["ada"], "peanuts", { text: "none" }), []);
    assert.ok((await store.search(["ada"], { query: "peanuts" }))[0]!.score! > 0);
    assert.equal((await store.search(["ada", "secret"])).length, 1);
  });

  it("lists namespaces", async () => {
    for (const namespace of [
      ["a", "b", "c"],
      ["a", "b", "d", "e"],
      ["a", "b", "f"],
      ["b", "x"],
      ["x".repeat(90), "y"],
    ]) {
      await same((s) => s.put(namespace, "k", { v: namespace.join("/") }));
    }
    const star: string[] = ["a", "*", "f"];
    for (const options of [
      {},
      { prefix: ["a", "b"] },
      { prefix: star },
      { suffix: ["x"] },
      { prefix: ["a"], suffix: ["e"] },
      { maxDepth: 2 },
      { limit: 2, offset: 1 },
    ]) {
      await same((s) => s.listNamespaces(options));
    }
    await same((s) => s.search(["x".repeat(90)]));
    for (const bad of [[], ["a.b"], ["a:b"], [""], ["langgraph", "x"]]) {
      for (const store of stores) {
        await assert.rejects(store.put(bad, "k", { v: 1 }), InvalidNamespaceError);
      }
    }
    for (const store of stores) {
      await assert.rejects(store.batch([{ namespace: ["a.b"], key: "k", value: { v: 1 } }]), InvalidNamespaceError);
      await assert.rejects(store.batch([{ namespace: [], key: "k" }]), InvalidNamespaceError);
      await assert.rejects(store.batch([{ namespacePrefix: ["a:b"] }]), InvalidNamespaceError);
    }
  });

  it("reads before it writes, and of two writes to one key the last counts", async () => {
    await same((s) => s.put(["t"], "old", { v: 1 }));
    await same((s) =>
      s.batch([
        { namespace: ["t"], key: "new", value: { v: 1 } },
        { namespace: ["t"], key: "new" },
        { namespace: ["t"], key: "old" },
        { namespace: ["t"], key: "new", value: { v: 2 } },
        { namespace: ["t"], key: "old", value: null },
        { namespacePrefix: ["t"] },
        { matchConditions: [{ matchType: "prefix", path: ["t"] }], limit: 10, offset: 0 },
      ]),
    );
    await same((s) => s.search(["t"]));
    await Promise.all(Array.from({ length: 50 }, (_, n) => stores[0]!.put(["t"], `k${n}`, { v: n })));
    assert.equal((await stores[0]!.search(["t"], { limit: 100 })).length, 51);
  });

  it("takes out what looks like a secret, and says so without it", async () => {
    const secret = "AKIA" + "Q3EXAMPLEKEY7XYZ";
    const said = new Promise<Error>((heard) => process.once("warning", heard));
    await stores[0]!.put(["t"], "aws", { text: `the key is ${secret}` });
    assert.ok(!JSON.stringify(await stores[0]!.get(["t"], "aws")).includes(secret));
    const warning = await said;
    assert.match(warning.message, /^langgraph-/);
    assert.ok(!warning.message.includes(secret));
    await new MemsidecarStore(client, { allowSensitive: true }).put(["t"], "aws", { text: `the key is ${secret}` });
    assert.deepEqual((await stores[0]!.get(["t"], "aws"))!.value, { text: `the key is ${secret}` });
  });

  it("serves a graph", async () => {
    const State = Annotation.Root({ said: Annotation<string> });
    const graph = new StateGraph(State)
      .addNode("keep", async ({ said }, config) => {
        await config.store!.put(["ada"], "said", { said });
        return { said: String((await config.store!.get(["ada"], "said"))!.value["said"]) + "!" };
      })
      .addEdge(START, "keep")
      .addEdge("keep", END)
      .compile({ store: stores[0]! });
    assert.deepEqual(await graph.invoke({ said: "hello" }), { said: "hello!" });
    assert.deepEqual((await stores[0]!.get(["ada"], "said"))!.value, { said: "hello" });
  });

  it("loses nothing that several processes write at once", async () => {
    await inProcesses(import.meta.url, 4);
    const items = await stores[0]!.search(["shared"], { limit: 5000 });
    const keys = Array.from({ length: 4 * PUTS }, (_, i) => `w${Math.floor(i / PUTS)}-${i % PUTS}`);
    assert.deepEqual(items.map((item) => item.key).sort(), ["contended", ...keys].sort());
    for (const { key, value } of items) {
      assert.ok(key === "contended" || key === `w${value["number"]}-${value["n"]}`);
    }
  });

  it("leaves one memory of a key that is written again and again", async () => {
    for (let n = 0; n < 100; n++) {
      await stores[0]!.put(["t"], "counter", { n });
    }
    const { memories } = await client.memory.list({ ...SPACE, filter: { statuses: [1, 2, 3] } });
    assert.deepEqual(
      memories.map((memory) => memory.title),
      ["counter"],
    );
  });
}
