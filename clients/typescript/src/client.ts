import { connect as connectSocket } from "node:net";

import { createClient, type Client as Stub } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { accepted, errorOf } from "./errors.js";
import { Finder } from "./find.js";
import { findProgram } from "./program.js";
import { AdminService } from "./gen/memsidecar/v1/admin_service_pb.js";
import { FileService } from "./gen/memsidecar/v1/file_service_pb.js";
import { LogService } from "./gen/memsidecar/v1/log_service_pb.js";
import { MemoryService } from "./gen/memsidecar/v1/memory_service_pb.js";
import { OperationService } from "./gen/memsidecar/v1/operation_service_pb.js";
import { SearchService, type SearchHit } from "./gen/memsidecar/v1/search_service_pb.js";
import { SessionService } from "./gen/memsidecar/v1/session_service_pb.js";
import { OutcomeStatus, type Redaction } from "./gen/memsidecar/v1/write_pb.js";
import { retry } from "./retry.js";
import { Session } from "./session.js";

/** Which daemon to use; by default the user's own. */
export interface Options {
  /** Path of the daemon's socket. Default: MEMSIDECAR_SOCKET, then what the program prints. No daemon is started for it. */
  socket?: string;
  /**
   * The memsidecar program. Default: MEMSIDECAR_PROGRAM, then memsidecar in PATH, then the one that npm installed with
   * this package.
   */
  program?: string;
  /** Start a daemon if none runs. Default: true. */
  start?: boolean;
  /** The space for the methods of the client. Default: the default space. */
  space?: string;
  /** How long a call tries to reach a daemon, in milliseconds. Default: 10,000. */
  patience?: number;
}

/** Optional fields of a memory. */
export interface Details {
  category?: string;
  /** 0 to 1; default 0.5. */
  salience?: number;
  title?: string;
  tags?: string[];
  /** Stores what only looks like a secret as it is. */
  allowSensitive?: boolean;
}

/** The outcome of {@link Client.remember}. The memory is durable. */
export interface Saved {
  readonly id: string;
  /** The id of the operation, for {@link Client.undo}; empty if nothing was written. */
  readonly operation: string;
  /** The same memory existed already. */
  readonly duplicate: boolean;
  /** A remark such as REDACTED; may be empty. */
  readonly reason: string;
  /** What was taken out of the text before it was stored, and where; `allowSensitive` stores it. */
  readonly redactions: readonly Redaction[];
  /** Name the memory for {@link Client.after}, if the space is shared; else there are none. */
  readonly positions: readonly string[];
}

/** Finds the daemon, starts it if necessary and allowed, and checks that it answers. */
export async function connect(options: Options = {}): Promise<Client> {
  const finder = new Finder(
    options.socket ?? process.env["MEMSIDECAR_SOCKET"] ?? "",
    options.program ?? (process.env["MEMSIDECAR_PROGRAM"] || findProgram()),
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
 * `memory`, `searches`, `sessions`, `logs`, `operations`, `files` and `admin` are the generated clients; {@link Client.call}
 * converts their errors. The other methods are the calls that agents make most.
 */
export class Client {
  readonly memory: Stub<typeof MemoryService>;
  readonly searches: Stub<typeof SearchService>;
  readonly sessions: Stub<typeof SessionService>;
  readonly logs: Stub<typeof LogService>;
  readonly operations: Stub<typeof OperationService>;
  readonly files: Stub<typeof FileService>;
  readonly admin: Stub<typeof AdminService>;
  /** The space of the client's methods; empty for the default space. */
  readonly space: string;
  private readonly manager: Http2SessionManager;
  private readonly positions: readonly string[] = [];

  /** Use {@link connect}. */
  constructor(path: string, finder: Finder, options: Options) {
    this.space = options.space ?? "";
    const baseUrl = "http://memsidecar";
    this.manager = new Http2SessionManager(baseUrl, {}, { createConnection: () => connectSocket(path) });
    const transport = createGrpcTransport({
      baseUrl,
      sessionManager: this.manager,
      interceptors: [retry(finder, options.patience ?? 10_000)],
    });
    this.memory = createClient(MemoryService, transport);
    this.searches = createClient(SearchService, transport);
    this.sessions = createClient(SessionService, transport);
    this.logs = createClient(LogService, transport);
    this.operations = createClient(OperationService, transport);
    this.files = createClient(FileService, transport);
    this.admin = createClient(AdminService, transport);
  }

  /** Closes the connection. The daemon keeps running. */
  close(): void {
    this.manager.abort();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * Returns a client on the same connection, which this one closes, whose search and recall, also those of its sessions,
   * include what the positions name, and wait for it: the positions of what was saved in the same shared space, through
   * any machine. The reason of an error is POSITION_NOT_REACHED if it did not arrive.
   */
  after(positions: readonly string[]): Client {
    return Object.assign(Object.create(Client.prototype) as Client, this, { positions });
  }

  /** Waits for a call of a generated client; throws a MemsidecarError if it fails. */
  async call<T>(pending: Promise<T>): Promise<T> {
    try {
      return await pending;
    } catch (err) {
      throw errorOf(err);
    }
  }

  /** Saves a memory without changing its text, durably. */
  async remember(content: string, { allowSensitive = false, ...details }: Details = {}): Promise<Saved> {
    const items = [{ content, ...details }];
    const { result } = await this.call(this.memory.add({ space: this.space, items, allowSensitive }));
    const outcome = accepted(result!);
    const duplicate = outcome.status === OutcomeStatus.DUPLICATE;
    const { id, reason, redactions } = outcome;
    const { operationId: operation, positions } = result!;
    return { id, operation, duplicate, reason, redactions, positions };
  }

  /** Retires a memory, which is not learned again; returns the id of the operation, for undo. */
  async forget(id: string): Promise<string> {
    return (await this.call(this.memory.delete({ space: this.space, ids: [id] }))).result!.operationId;
  }

  /** Undoes an operation by its id; returns the id of the operation that did. */
  async undo(operation: string): Promise<string> {
    return (await this.call(this.operations.undo({ id: operation }))).result!.operationId;
  }

  /** Returns at most limit memories (1 to 200), best first; none if nothing is relevant. */
  async search(query: string, limit = 10): Promise<SearchHit[]> {
    const request = { spaces: this.spaces(), query, limit, minPositions: [...this.positions] };
    return (await this.call(this.searches.search(request))).hits;
  }

  /** Returns memories to add to a prompt, fenced as data; empty if none is relevant. */
  async recall(prompt: string, { sessionId = "" } = {}): Promise<string> {
    const request = { spaces: this.spaces(), text: prompt, sessionId, minPositions: [...this.positions] };
    return (await this.call(this.searches.recall(request))).block;
  }

  /** Starts a session, or continues the one with this id. */
  async session({ id = "", host = "", cwd = "" } = {}): Promise<Session> {
    const request = { space: this.space, sessionId: id, host, cwd, context: {} };
    return new Session(this, await this.call(this.sessions.start(request)));
  }

  private spaces(): string[] {
    return this.space ? [this.space] : [];
  }
}
