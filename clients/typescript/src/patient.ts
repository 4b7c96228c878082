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

const READS = new Set(
  "Get List Search Similar Recall History GetRollingSummary Stats Hot Info Doctor Check ListRecalls ListEdits GetEdit".split(" "),
);

/** Repeats calls that may be repeated while no daemon answers, for so many milliseconds. */
export function patient(finder: Finder, patience: number): Interceptor {
  return (next) => async (request) => {
    if (request.stream) {
      return next(request);
    }
    const [message, mayRepeat] = repeatable(request.method.name, request.method.input, request.message);
    const ends = Date.now() + patience;
    for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, MAX_PAUSE)) {
      try {
        return await next({ ...request, message });
      } catch (err) {
        const failed = ConnectError.from(err);
        const unreached = failed.code === Code.Unavailable || connectionLost(failed); // or it is on its way down
        const again = mayRepeat && unreached && Date.now() + wait <= ends;
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
 * Returns the request to send and whether it may be sent twice: a reading call may, a write that can carry an idempotency key is
 * given one, and messages may that carry sequence numbers.
 */
function repeatable(method: string, schema: DescMessage, message: Message): [Message, boolean] {
  if (isMessage(message, SessionServiceAppendRequestSchema)) {
    return [message, message.messages.every((m) => m.seq !== 0n)];
  }
  const key = schema.field["idempotencyKey"];
  if (!key) {
    return [message, READS.has(method)];
  }
  const keyed = reflect(schema, clone(schema, message));
  if (!keyed.isSet(key)) {
    keyed.set(key, randomUUID());
  }
  return [keyed.message, true];
}
