import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, it } from "node:test";

import { type Client, connect, MemsidecarError, ProgramNotFoundError } from "./index.js";
import { socketPath } from "./find.js";
import { home, program } from "./testing.js";

let leave: () => Promise<void>;
beforeEach(() => {
  leave = home();
});
afterEach(() => leave());

async function kill(client: Client): Promise<void> {
  process.kill(Number((await client.admin.info({})).pid), "SIGKILL");
}

it("remembers, finds, forgets and undoes", async () => {
  const client = await connect();
  const saved = await client.remember("We deploy with make release", { category: "facts", salience: 0.9, tags: ["deploy"] });
  assert.ok(saved.id && saved.operation && !saved.duplicate);
  assert.ok((await client.remember("We deploy with make release", { category: "facts" })).duplicate);
  const [hit] = await client.search("how do we deploy");
  assert.deepEqual([hit?.memory?.id, hit?.memory?.salience], [saved.id, 0.9]);
  assert.match(await client.recall("how do we deploy?"), /make release/);
  const operation = await client.forget(saved.id);
  assert.deepEqual(await client.search("how do we deploy"), []);
  await client.undo(operation);
  assert.equal((await client.search("how do we deploy")).length, 1);
  await assert.rejects(client.remember("", { salience: 3 }), (err: MemsidecarError) => {
    assert.equal(err.code, "INVALID_ARGUMENT");
    assert.deepEqual([...new Set(err.violations.flatMap(Object.keys))], ["field", "description"]);
    return err.violations.length === 2;
  });
  client.close();
});

it("reads behind a position, which a space that is not shared refuses", async () => {
  const client = await connect();
  const saved = await client.remember("The canteen opens at noon");
  assert.deepEqual(saved.positions, []);
  assert.equal((await client.after(saved.positions).search("canteen")).length, 1);
  const later = client.after(["no position"]);
  const session = await later.session({ host: "test" });
  const reads = [() => later.search("canteen"), () => later.recall("canteen"), () => session.recall("canteen")];
  for (const read of reads) {
    await assert.rejects(read, (err: MemsidecarError) => err.violations[0]?.field === "min_positions[0]");
  }
  assert.equal((await client.search("canteen")).length, 1);
  client.close();
});

it("records a session, goes on with it and learns from it", async () => {
  const client = await connect();
  const session = await client.session({ host: "test" });
  await session.say("user", "Please remember that the staging server is staging.example.com");
  await session.toolFailed("bash", "make dpeloy", "No rule to make target");
  const again = await client.session({ id: session.id });
  await again.say("user", "下次不要直接推送到 main 分支");
  assert.ok((await again.reflect()).items.length >= 2);
  const later = await client.session();
  assert.match(later.context, /staging\.example\.com/);
  assert.equal(await later.recall("which server is staging?"), "", "the context has said it");
  assert.match(await client.recall("which server is staging?"), /staging\.example\.com/);
  await later.end();
  client.close();
});

it("goes on with the next daemon when one is killed", async () => {
  const client = await connect();
  for (let i = 0; i < 3; i++) {
    await client.remember(`fact number ${i} of the killed daemon`);
    await kill(client);
  }
  assert.equal((await client.memory.list({})).total, 3);
  client.close();
});

it("leaves a daemon alone that was stopped", async () => {
  execFileSync(program, ["daemon", "stop"]);
  // A sentence, not the JSON that programs get.
  await assert.rejects(connect(), (err: Error) => /memsidecar daemon start/.test(err.message) && !err.message.includes("{"));
});

it("says what is missing", async () => {
  await assert.rejects(connect({ program: "/nowhere/memsidecar" }), ProgramNotFoundError);
  await assert.rejects(connect({ socket: "/tmp/no-such-dir/s", patience: 0 }), (err: MemsidecarError) => err.code === "UNAVAILABLE");
});

it("understands an address and refuses an abstract socket", () => {
  for (const given of ["/run/s", "unix:/run/s", "unix:///run/s"]) {
    assert.equal(socketPath(given), "/run/s");
  }
  for (const given of ["@s", "\0s", "unix-abstract:s", "unix:@s"]) {
    assert.throws(() => socketPath(given), /abstract sockets are not supported/);
  }
});
