import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { clone, isMessage, type DescMessage, type Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

import { connectionLost } from "./errors.js";
import type { Finder } from "./find.js";
import { SessionServiceAppendRequestSchema } from "./gen/memsidecar/v1/session_service_pb.js";

const FIRST_PAUSE = 20;
const MAX_PAUSE = 500;

const READ_ONLY = new Set(
  (
    "Get List Search Similar Recall Hint Hot History GetSummary Stats Info Doctor Check ListRecalls ListMessages " +
    "GetWorkingMemory ResolvePath ListEdits GetEdit ListProposals GetProposal"
  ).split(" "),
);

/** Retries calls while no daemon answers, where that is safe, for `patience` milliseconds. */
export function retry(finder: Finder, patience: number): Interceptor {
  return (next) => async (request) => {
    if (request.stream) {
      return next(request);
    }
    const [message, mayRetry] = retryable(request.method.name, request.method.input, request.message);
    const ends = Date.now() + patience;
    for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, MAX_PAUSE)) {
      try {
        return await next({ ...request, message });
      } catch (err) {
        const failed = ConnectError.from(err);
        const unreached = failed.code === Code.Unavailable || connectionLost(failed); // or the daemon is stopping
        const again = mayRetry && unreached && Date.now() + wait <= ends;
        if (!again || request.signal.aborted) {
          throw err;
        }
        await pause(wait);
        await finder.restart();
      }
    }
  };
}

/**
 * Returns the request to send and whether it may be sent twice. Calls that only read may; a write without an idempotency key
 * gets one. Messages with sequence numbers need no key: a session records each number once.
 */
function retryable(method: string, schema: DescMessage, message: Message): [Message, boolean] {
  if (isMessage(message, SessionServiceAppendRequestSchema) && message.messages.every((m) => m.seq !== 0n)) {
    return [message, true];
  }
  const key = schema.field["idempotencyKey"];
  if (!key) {
    return [message, READ_ONLY.has(method)];
  }
  const keyed = reflect(schema, clone(schema, message));
  if (!keyed.isSet(key)) {
    keyed.set(key, randomUUID());
  }
  return [keyed.message, true];
}
