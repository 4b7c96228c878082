// Runs clients/conformance against a real daemon.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import { create, fromJson, toJson, type DescMethod, type JsonValue } from "@bufbuild/protobuf";

import { type Client, connect, errorOf, MemsidecarError } from "./index.js";
import { AdminService } from "./gen/memsidecar/v1/admin_service_pb.js";
import { FileService } from "./gen/memsidecar/v1/file_service_pb.js";
import { LogService } from "./gen/memsidecar/v1/log_service_pb.js";
import { MemoryService } from "./gen/memsidecar/v1/memory_service_pb.js";
import { OperationService } from "./gen/memsidecar/v1/operation_service_pb.js";
import { SearchService } from "./gen/memsidecar/v1/search_service_pb.js";
import { SessionService } from "./gen/memsidecar/v1/session_service_pb.js";
import { home } from "./testing.js";

interface Step {
  call: string;
  request: JsonValue;
  expect?: JsonValue;
  save?: Record<string, string>;
  error?: { code: string; reason: string; metadata?: Record<string, string>; fields?: string[] };
}

type Stub = Record<string, (request: unknown) => Promise<unknown> | AsyncIterable<unknown>>;

const cases = JSON.parse(readFileSync("../conformance/cases.json", "utf8")) as { name: string; steps: Step[] }[];

describe("conformance", () => {
  let client: Client;
  let leave: () => Promise<void>;
  before(async () => {
    leave = home();
    client = await connect();
  });
  after(async () => {
    client.close();
    await leave();
  });
  for (const [i, { name, steps }] of cases.entries()) {
    it(name, async () => {
      const variables = new Map([["space", `typescript-${i}`]]);
      for (const step of steps) {
        await run(client, step, variables);
      }
    });
  }
});

async function run(client: Client, step: Step, variables: Map<string, string>): Promise<void> {
  const [service, name] = step.call.split("/") as [string, string];
  const { stub, method } = find(client, service, name);
  const request = fromJson(method.input, JSON.parse(substitute(JSON.stringify(step.request), variables)) as JsonValue);
  let response: unknown;
  try {
    const result = stub[method.localName]!(request);
    response = result instanceof Promise ? await result : await first(result);
  } catch (err) {
    checkError(step, errorOf(err), variables);
    return;
  }
  assert.equal(step.error, undefined, `${step.call} did not fail`);
  const got = toJson(method.output, create(method.output, response as Record<string, unknown>));
  if (step.expect !== undefined) {
    compare(step.expect, got, variables, step.call);
  }
  for (const [variable, path] of Object.entries(step.save ?? {})) {
    variables.set(variable, String(at(got, path)));
  }
}

async function first(stream: AsyncIterable<unknown>): Promise<unknown> {
  for await (const message of stream) {
    return message;
  }
  return undefined;
}

function find(client: Client, service: string, name: string): { stub: Stub; method: DescMethod } {
  const known = {
    MemoryService: [client.memory, MemoryService],
    SearchService: [client.searches, SearchService],
    SessionService: [client.sessions, SessionService],
    LogService: [client.logs, LogService],
    OperationService: [client.operations, OperationService],
    FileService: [client.files, FileService],
    AdminService: [client.admin, AdminService],
  } as const;
  const [stub, desc] = known[service as keyof typeof known];
  const method = desc.methods.find((m) => m.name === name);
  assert.ok(method, `${service}/${name}: no such call`);
  return { stub: stub as unknown as Stub, method };
}

function checkError(step: Step, err: MemsidecarError, variables: Map<string, string>): void {
  assert.ok(step.error, `${step.call}: ${err.message}`);
  assert.deepEqual([err.code, err.reason], [step.error.code, step.error.reason]);
  for (const [key, value] of Object.entries(step.error.metadata ?? {})) {
    assert.equal(err.metadata[key], substitute(value, variables));
  }
  for (const field of step.error.fields ?? []) {
    assert.ok(err.violations.some((v) => v.field === field), `no violation of ${field}`);
  }
}

function compare(want: JsonValue, got: JsonValue | undefined, variables: Map<string, string>, path: string): void {
  if (want === "$present") {
    assert.notEqual(got, undefined, `${path} is absent`);
  } else if (want === "$absent") {
    assert.equal(got, undefined, `${path} is there`);
  } else if (Array.isArray(want)) {
    assert.ok(Array.isArray(got) && got.length === want.length, `${path}: ${JSON.stringify(got)}`);
    want.forEach((w, i) => compare(w, got[i], variables, `${path}[${i}]`));
  } else if (typeof want === "object" && want !== null) {
    assert.ok(typeof got === "object", path);
    for (const [key, value] of Object.entries(want)) {
      compare(value, (got as Record<string, JsonValue>)[key], variables, `${path}.${key}`);
    }
  } else if (typeof want === "string") {
    assert.equal(String(got), substitute(want, variables), path);
  } else {
    assert.equal(got, want, path);
  }
}

function at(value: JsonValue | undefined, path: string): JsonValue | undefined {
  for (const key of path.split(".")) {
    value = (value as Record<string, JsonValue> | undefined)?.[key];
  }
  assert.notEqual(value, undefined, `there is no ${path}`);
  return value;
}

function substitute(text: string, variables: Map<string, string>): string {
  for (const [name, value] of variables) {
    text = text.replaceAll("${" + name + "}", value);
  }
  return text;
}
