import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";

/** Returns the memsidecar program: the one in PATH, else the one that npm installed with this package. */
export function findProgram(): string {
  const inPath = (process.env["PATH"] ?? "")
    .split(delimiter)
    .some((directory) => directory !== "" && isExecutable(join(directory, "memsidecar")));
  return inPath ? "memsidecar" : (installedProgram() ?? "memsidecar");
}

/**
 * Returns the path of the program in the package for this system, which npm installs as an optional dependency, or
 * undefined where there is none.
 */
export function installedProgram(): string | undefined {
  try {
    const name = `@memsidecar/${process.platform}-${process.arch}/package.json`;
    const program = join(createRequire(import.meta.url).resolve(name), "..", "bin", "memsidecar");
    return isExecutable(program) ? program : undefined;
  } catch {
    return undefined; // the package is not there
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
