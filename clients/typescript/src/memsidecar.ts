#!/usr/bin/env node
// The command memsidecar of this package: it runs the program that npm installed for this system.
import { spawn } from "node:child_process";
import { constants } from "node:os";

import { installedProgram } from "./program.js";

const program = installedProgram();
if (program === undefined) {
  console.error(
    `memsidecar: no program for ${process.platform}-${process.arch} was installed with this package. If npm left out ` +
      "optional dependencies, install it again with --include=optional; else install the program by other means.",
  );
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
for (const signal of signals) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (err) => {
  console.error(`memsidecar: ${program} could not be run: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
