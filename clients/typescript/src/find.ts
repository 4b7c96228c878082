import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";

import { MemsidecarError, ProgramNotFoundError } from "./errors.js";

const run = promisify(execFile);

/**
 * Finds and starts the daemon. It asks the memsidecar program for the socket: the program reads flags, environment and
 * configuration, and lets only one of several clients start the daemon. A given socket is used as it is.
 */
export class Finder {
  constructor(
    private readonly socket: string,
    private readonly program: string,
    private readonly start: boolean,
  ) {}

  /** Returns the socket of a daemon; starts one if necessary and allowed. */
  async find(): Promise<string> {
    const path = socketPath(this.socket) || (await this.ask());
    await checkOwner(path);
    return path;
  }

  /** Starts the daemon if allowed. The next attempt of the call reports an error. */
  async restart(): Promise<void> {
    if (!this.socket && this.start) {
      await this.ask().catch(() => undefined);
    }
  }

  private async ask(): Promise<string> {
    const args = ["daemon", "socket", ...(this.start ? [] : ["--no-start"])];
    let stdout: string;
    try {
      ({ stdout } = await run(this.program, args));
    } catch (err) {
      const { code, stderr } = err as { code?: unknown; stderr?: string };
      if (typeof code === "number") {
        throw new MemsidecarError("UNAVAILABLE", stderr?.trim() || `${this.program} ended with ${code}`);
      }
      throw new ProgramNotFoundError(
        `the memsidecar program could not be run: ${String(err)}; install it, or set MEMSIDECAR_PROGRAM or the socket`,
        { cause: err },
      );
    }
    const path = stdout.replace(/\n$/, "");
    if (!path.startsWith("/")) {
      throw new ProgramNotFoundError(`${this.program} did not print a socket; check that it has the same version`);
    }
    return path;
  }
}

/**
 * Returns the path of a socket that is given as a path, or with unix: or unix:// before it. An abstract socket has no
 * owner that could be checked, so the daemon never listens on one.
 */
export function socketPath(address: string): string {
  if (/^(@|\0|unix-abstract:|unix:@)/.test(address)) {
    throw new MemsidecarError(
      "INVALID_ARGUMENT",
      `socket ${JSON.stringify(address)}: abstract sockets are not supported; use the path of the daemon's socket`,
    );
  }
  return address.replace(/^unix:(\/\/)?/, "");
}

/** Rejects the socket of another user, who could read the memories. */
async function checkOwner(path: string): Promise<void> {
  const info = await stat(path).catch(() => undefined); // the call reports a missing one
  const own = process.getuid?.();
  if (info?.isSocket() && own !== undefined && info.uid !== own && info.uid !== 0) {
    throw new MemsidecarError("PERMISSION_DENIED", `the socket ${path} belongs to uid ${info.uid}, not to you`);
  }
}
