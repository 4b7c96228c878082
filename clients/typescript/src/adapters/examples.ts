import assert from "node:assert/strict";
import { execFile, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Runs the first example below a heading of docs/integrations.md; it must print what stands there. */
export async function runExample(heading: string): Promise<void> {
  const docs = readFileSync(new URL("../../../../docs/integrations.md", import.meta.url), "utf8");
  const section = docs.split(`\n## ${heading}\n`)[1];
  assert.ok(section, `docs/integrations.md has no heading ${heading}`);
  const [, code, printed] = /```js\n(.*?)```\n+```text\n(.*?)```/s.exec(section)!;
  // In the directory of the package, which finds itself by its own name, and the frameworks.
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code!], {
    cwd,
    timeout: 60_000,
  });
  assert.equal(stdout, printed);
}

/** Runs the test file again in that many processes at once, with their numbers as argument, and waits for them. */
export async function inProcesses(file: string, count: number): Promise<void> {
  const running = Array.from({ length: count }, (_, worker) => {
    const child = fork(fileURLToPath(file), ["worker", String(worker)], {
      env: { ...process.env, NODE_TEST_CONTEXT: "" },
    });
    return new Promise<void>((done, fail) => {
      child.on("error", fail);
      child.on("exit", (code) => (code === 0 ? done() : fail(new Error(`worker ${worker} ended with ${code}`))));
    });
  });
  await Promise.all(running);
}

/** The number of this process if {@link inProcesses} started it. */
export const worker = process.argv[2] === "worker" ? Number(process.argv[3]) : undefined;
