import { Code, ConnectError } from "@connectrpc/connect";

import { BadRequestSchema, ErrorInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import { type Outcome, OutcomeStatus, type WriteResult } from "./gen/memsidecar/v1/write_pb.js";

/** An invalid field of a request. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** The error of a call. */
export class MemsidecarError extends Error {
  override readonly name = "MemsidecarError";

  /**
   * @param code name of the gRPC code, such as NOT_FOUND
   * @param reason UPPER_SNAKE and stable, such as STALE_REVISION; empty if no daemon answered
   * @param metadata details of the reason
   * @param violations all invalid fields of the request
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

/** The memsidecar program could not be run. The client needs it to find and start the daemon. */
export class ProgramNotFoundError extends Error {
  override readonly name = "ProgramNotFoundError";
}

/**
 * Reports whether the connection was lost or never made, so that the daemon sent no status. Such errors have several codes; a
 * call that its caller cancelled has a cause.
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

/** Converts the error of a generated client. */
export function errorOf(thrown: unknown): MemsidecarError {
  const err = ConnectError.from(thrown);
  const info = err.findDetails(ErrorInfoSchema)[0];
  const violations = err
    .findDetails(BadRequestSchema)
    .flatMap((bad) => bad.fieldViolations.map(({ field, description }) => ({ field, description })));
  const name = Code[connectionLost(err) ? Code.Unavailable : err.code];
  const code = name.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();
  return new MemsidecarError(code, err.rawMessage, info?.reason, info?.metadata, violations, { cause: err });
}

/** Returns the outcome of a write of one item; throws if it was rejected. */
export function accepted(result: WriteResult): Outcome {
  const outcome = result.outcomes[0]!;
  if (outcome.status === OutcomeStatus.REJECTED) {
    throw new MemsidecarError("FAILED_PRECONDITION", `rejected: ${outcome.id}`, outcome.reason);
  }
  return outcome;
}
