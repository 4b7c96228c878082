import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { promisify } from "node:util";

/** The program under test. */
export const program = process.env["MEMSIDECAR_PROGRAM"] || build();

function build(): string {
  const path = mkdtempSync("/tmp/mst") + "/memsidecar";
  execFileSync("go", ["build", "-o", path, "./cmd/memsidecar"], { cwd: "../..", stdio: "inherit" });
  return path;
}

/** A user of its own; call what is returned to stop its daemon and remove its files. */
export function home(): () => Promise<void> {
  const directory = mkdtempSync("/tmp/mst"); // short: a socket's path is limited
  for (const name of ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "MEMSIDECAR_SOCKET", "MEMSIDECAR_DATA"]) {
    delete process.env[name];
  }
  const go = process.env["HOME"];
  Object.assign(process.env, { HOME: directory, XDG_RUNTIME_DIR: directory, MEMSIDECAR_PROGRAM: program });
  return async () => {
    await promisify(execFile)(program, ["daemon", "stop"]); // not blocking: connections of this process must be able to close
    process.env["HOME"] = go;
    rmSync(directory, { recursive: true });
  };
}
