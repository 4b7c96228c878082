/** Client of memsidecar, the local daemon that owns an agent's long-term memory. */

export { Client, connect, type Details, type Options, type Saved } from "./client.js";
export { errorOf, MemsidecarError, ProgramNotFoundError, type Violation } from "./errors.js";
export { Session, type NewMessage } from "./session.js";
