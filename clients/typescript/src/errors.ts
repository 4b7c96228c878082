import { Code, ConnectError } from "@connectrpc/connect";

import { BadRequestSchema, ErrorInfoSchema } from "./gen/google/rpc/error_details_pb.js";

/** A field of a request that is not valid. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** What a call failed with. */
export class MemsidecarError extends Error {
  override readonly name = "MemsidecarError";

  /**
   * @param code name of the gRPC code, such as NOT_FOUND
   * @param reason UPPER_SNAKE and stable, such as STALE_REVISION; empty when no daemon answered
   * @param metadata what belongs to the reason
   * @param violations all fields of the request that are not valid
   */
  constructor(
    readonly code: string,
    message: string,
    readonly reason = "",
    readonly metadata: Readonly<Record<string, string>> = {},
    readonly violations: readonly Violation[] = [],
    options?: ErrorOptions,
  ) {
    super(reason ? `${message} (${reason})` : message, options);
  }
}

/** The memsidecar program, which knows where the daemon listens and starts it, could not be run. */
export class ProgramNotFoundError extends Error {
  override readonly name = "ProgramNotFoundError";
}

/**
 * Reports whether the connection was lost, or never made, so that the daemon said nothing. Such errors arrive under several codes; a
 * call that its caller cancelled has that as its cause.
 */
export function connectionLost(err: ConnectError): boolean {
  if (err.isWireError) {
    return false;
  }
  const { syscall, code } = (err.cause ?? {}) as { syscall?: unknown; code?: unknown };
  const broken = syscall !== undefined || (typeof code === "string" && code.startsWith("ERR_"));
  const reset = err.code === Code.Canceled && err.cause === undefined;
  return broken || reset || err.code === Code.Unavailable || err.code === Code.Aborted;
}

/** Translates what a generated client threw. */
export function errorOf(thrown: unknown): MemsidecarError {
  const err = ConnectError.from(thrown);
  const info = err.findDetails(ErrorInfoSchema)[0];
  const violations = err.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations);
  const name = Code[connectionLost(err) ? Code.Unavailable : err.code];
  const code = name.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();
  return new MemsidecarError(code, err.rawMessage, info?.reason, info?.metadata, violations, { cause: err });
}
