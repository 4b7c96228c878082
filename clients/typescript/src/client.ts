import { connect as connectSocket } from "node:net";

import { createClient, type Client as Stub } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { errorOf, MemsidecarError } from "./errors.js";
import { Finder } from "./find.js";
import { AdminService } from "./gen/memsidecar/v1/admin_service_pb.js";
import { LogService } from "./gen/memsidecar/v1/log_service_pb.js";
import { MemoryService } from "./gen/memsidecar/v1/memory_service_pb.js";
import { OperationService } from "./gen/memsidecar/v1/operation_service_pb.js";
import { SearchService, type SearchHit } from "./gen/memsidecar/v1/search_service_pb.js";
import { SessionService } from "./gen/memsidecar/v1/session_service_pb.js";
import { OutcomeStatus } from "./gen/memsidecar/v1/write_pb.js";
import { patient } from "./patient.js";
import { Session } from "./session.js";

/** Which daemon to talk to. Without any, the user's own. */
export interface Options {
  /** Path of the daemon's socket; default MEMSIDECAR_SOCKET, else what the program says. No daemon is started for it. */
  socket?: string;
  /** The memsidecar program; default MEMSIDECAR_PROGRAM, else memsidecar from PATH. */
  program?: string;
  /** Start a daemon when none runs; default true. */
  start?: boolean;
  /** Where the methods of the client work; default the default space. */
  space?: string;
  /** Milliseconds that a call goes on trying to reach a daemon; default 10,000. */
  patience?: number;
}

/** What becomes part of a memory beside its text. */
export interface Details {
  category?: string;
  /** 0 to 1; default 0.5. */
  salience?: number;
  title?: string;
  tags?: string[];
}

/** What became of something that was to be remembered. It is durable. */
export interface Saved {
  readonly id: string;
  /** What undoes it; 0 when nothing had to be written. */
  readonly operation: bigint;
  /** The same was known already. */
  readonly duplicate: boolean;
  /** What is to be known of it, such as REDACTED; may be empty. */
  readonly reason: string;
}

/** Finds the daemon, starting it when that is wanted and needed, and makes sure that it answers. */
export async function connect(options: Options = {}): Promise<Client> {
  const finder = new Finder(
    options.socket ?? process.env["MEMSIDECAR_SOCKET"] ?? "",
    options.program ?? (process.env["MEMSIDECAR_PROGRAM"] || "memsidecar"),
    options.start ?? true,
  );
  const client = new Client(await finder.find(), finder, options);
  try {
    await client.call(client.admin.info({}));
  } catch (err) {
    client.close();
    throw err;
  }
  return client;
}

/**
 * A connection to the daemon, made by {@link connect}.
 *
 * `memory`, `searches`, `sessions`, `logs`, `operations` and `admin` are the generated clients; {@link Client.call} translates their
 * errors. The other methods are the calls that agents make all the time.
 */
export class Client {
  readonly memory: Stub<typeof MemoryService>;
  readonly searches: Stub<typeof SearchService>;
  readonly sessions: Stub<typeof SessionService>;
  readonly logs: Stub<typeof LogService>;
  readonly operations: Stub<typeof OperationService>;
  readonly admin: Stub<typeof AdminService>;
  readonly #space: string;
  readonly #manager: Http2SessionManager;

  /** Use {@link connect}. */
  constructor(path: string, finder: Finder, options: Options) {
    this.#space = options.space ?? "";
    const baseUrl = "http://memsidecar";
    this.#manager = new Http2SessionManager(baseUrl, {}, { createConnection: () => connectSocket(path) });
    const transport = createGrpcTransport({
      baseUrl,
      sessionManager: this.#manager,
      interceptors: [patient(finder, options.patience ?? 10_000)],
    });
    this.memory = createClient(MemoryService, transport);
    this.searches = createClient(SearchService, transport);
    this.sessions = createClient(SessionService, transport);
    this.logs = createClient(LogService, transport);
    this.operations = createClient(OperationService, transport);
    this.admin = createClient(AdminService, transport);
  }

  /** Ends the connection; the daemon goes on. */
  close(): void {
    this.#manager.abort();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Waits for a call of a generated client; throws a {@link MemsidecarError} when it fails. */
  async call<T>(pending: Promise<T>): Promise<T> {
    try {
      return await pending;
    } catch (err) {
      throw errorOf(err);
    }
  }

  /** Saves a memory as it is, durably. */
  async remember(content: string, details: Details = {}): Promise<Saved> {
    const { result } = await this.call(this.memory.add({ space: this.#space, items: [{ content, ...details }] }));
    const outcome = result!.outcomes[0]!;
    if (outcome.status === OutcomeStatus.REJECTED) {
      throw new MemsidecarError("FAILED_PRECONDITION", `rejected: ${outcome.id}`, outcome.reason);
    }
    const duplicate = outcome.status === OutcomeStatus.DUPLICATE;
    return { id: outcome.id, operation: result!.operation, duplicate, reason: outcome.reason };
  }

  /** Retires a memory and keeps its value from being learnt again; returns the operation, which can be undone. */
  async forget(id: string): Promise<bigint> {
    return (await this.call(this.memory.delete({ space: this.#space, ids: [id] }))).result!.operation;
  }

  /** Takes an operation back; returns the one that did. */
  async undo(operation: bigint): Promise<bigint> {
    return (await this.call(this.operations.undo({ number: operation }))).result!.operation;
  }

  /** Returns at most k memories (1 to 200) that fit, best first, or none. */
  async search(query: string, k = 10): Promise<SearchHit[]> {
    return (await this.call(this.searches.search({ spaces: this.#spaces(), query, k }))).hits;
  }

  /** Returns what to put beside a prompt, fenced as data, or nothing when nothing fits. */
  async recall(prompt: string, { session = "" } = {}): Promise<string> {
    return (await this.call(this.searches.recall({ spaces: this.#spaces(), text: prompt, sessionId: session }))).block;
  }

  /** Opens a session, or goes on with the one of this id. */
  async session({ id = "", host = "", cwd = "" } = {}): Promise<Session> {
    const request = { space: this.#space, sessionId: id, host, cwd, context: {} };
    return new Session(this, await this.call(this.sessions.start(request)));
  }

  #spaces(): string[] {
    return this.#space ? [this.#space] : [];
  }
}
