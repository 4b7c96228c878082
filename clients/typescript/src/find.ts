import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";

import { MemsidecarError, ProgramNotFoundError } from "./errors.js";

const run = promisify(execFile);

/**
 * Finder knows where the daemon listens and how it is started. Flags, environment and configuration may all have a say in that, and
 * two clients must not start it at once: so the memsidecar program is asked. A given socket is used as it is.
 */
export class Finder {
  constructor(
    private readonly socket: string,
    private readonly program: string,
    private readonly start: boolean,
  ) {}

  /** Returns the socket of a daemon, which is started when that is wanted and needed. */
  async find(): Promise<string> {
    const path = this.socket || (await this.ask());
    await checkOwner(path);
    return path;
  }

  /** Starts the daemon again when nobody answers any more. What goes wrong shows in the next try. */
  async restart(): Promise<void> {
    if (!this.socket && this.start) {
      await this.ask().catch(() => undefined);
    }
  }

  private async ask(): Promise<string> {
    const args = ["socket", "--json", ...(this.start ? [] : ["--no-start"])];
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
    try {
      return (JSON.parse(stdout) as { socket: string }).socket;
    } catch (err) {
      throw new ProgramNotFoundError(`${this.program} does not say where the daemon listens; is it of another version?`, {
        cause: err,
      });
    }
  }
}

/** Refuses a socket of somebody else: memory must not be told to a stranger's server. */
async function checkOwner(path: string): Promise<void> {
  const info = await stat(path).catch(() => undefined); // of a missing one the call says what is wrong
  const own = process.getuid?.();
  if (info?.isSocket() && own !== undefined && info.uid !== own && info.uid !== 0) {
    throw new MemsidecarError("PERMISSION_DENIED", `the socket ${path} belongs to uid ${info.uid}, not to you`);
  }
}
