/** `POST /v1/executions`: checks the spec, waits for a slot, receives the input, and starts the process. */

import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { firstOf } from "../src/cut.ts";
import { type ExecutionSpec, executionSpec, TENANT_HEADER } from "../src/tool/protocol.ts";
import { type Auth, checkTicket } from "./auth.ts";
import { checkOptedIn, plainName } from "./environment.ts";
import type { Execution, Input } from "./execution.ts";
import type { Executions } from "./executions.ts";
import { log, reasonOf } from "./log.ts";
import { BodyCut, MultipartBody, type Part } from "./multipart-body.ts";
import type { AdmissionQueue } from "./queue.ts";
import { Refused } from "./refusal.ts";
import { INPUT } from "./scratch.ts";

export interface SubmitServices {
  auth: Auth;
  executions: Executions;
  queue: AdmissionQueue;
  /** The places of MCP servers: they stay for as long as a run, and take no slot from its other executions. */
  servers: AdmissionQueue;
}

/**
 * Runs one submission. The answer is the body of frames; a known id gets the frames of its execution.
 * @throws Refused before the answer has begun
 */
export async function submit(
  services: SubmitServices,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { auth, executions } = services;
  // Before anything of the body is read: whoever reaches the port could fill the runner's memory with it.
  const ticket = auth.ticketOf(request);
  const body = new MultipartBody(request, response);
  const specText = await body.spec();
  const spec = parseSpec(specText);
  const specDigest = createHash("sha256").update(specText).digest("hex");
  checkTicket(ticket, `execution:${spec.id}`, specDigest);
  if (spec.workspace !== undefined) await executions.vacated(spec.workspace.id);

  for (let known = executions.specDigestOf(spec.id); known !== undefined; ) {
    if (known !== specDigest) {
      throw new Refused("execution_conflict", "An execution with this id has another spec.");
    }
    if (!(await executions.wasLeft(spec.id))) {
      body.discard();
      return executions.attach(spec.id, response, 0);
    }
    known = executions.specDigestOf(spec.id);
  }

  checkOptedIn(spec.env, spec.withheld);
  if (executions.isCancelled(spec.request_id)) {
    throw new Refused("client_closed_request", "The request was cancelled.");
  }
  const execution = executions.create(spec, specDigest);
  try {
    const tenant = String(request.headers[TENANT_HEADER] ?? "");
    await admit(spec.server === true ? services.servers : services.queue, tenant, execution, response);
  } catch (error) {
    executions.refuse(execution, error);
    throw error;
  }
  void execution.attach(response, 0);
  try {
    await execution.start(await receiveInput(body, execution));
  } catch (error) {
    log("warn", "not_started", { id: spec.id, reason: reasonOf(error) });
    execution.stop(error instanceof BodyCut || error instanceof Refused ? "cancelled" : "lost");
    body.discard();
  }
}

function parseSpec(text: string): ExecutionSpec {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused("bad_request", "The spec is not JSON.");
  }
  const parsed = executionSpec.safeParse(value);
  if (parsed.success) return parsed.data;
  // Only paths, since a message could repeat a value of the environment.
  const paths = parsed.error.issues.map((issue) => issue.path.join("."));
  throw new Refused("bad_request", `The spec is not valid at: ${paths.join(", ")}.`);
}

/** Waits for a slot; a client that leaves gives its place up. */
async function admit(
  queue: AdmissionQueue,
  tenant: string,
  execution: Execution,
  response: ServerResponse,
): Promise<void> {
  const { spec } = execution;
  const entry = queue.enter(tenant, spec.skill, spec.limits.concurrency);
  if ("release" in entry) {
    execution.admit(entry);
    return;
  }
  const leave = (): void => {
    execution.left = true;
    entry.abandon(new Refused("client_closed_request", "The client left the queue."));
  };
  execution.abandon = entry.abandon;
  response.once("close", leave);
  try {
    execution.admit(await entry.slot);
  } finally {
    response.off("close", leave);
  }
}

/** Writes the files, and answers as soon as the process can start: at the part `stdin`, or at the end of the body. */
async function receiveInput(body: MultipartBody, execution: Execution): Promise<Input> {
  const { mode } = execution.spec.input;
  const { scratch } = execution;
  const input: Input = { file: null, stdin: null };
  const taken = new Set<string>();
  for (let part = await body.next(); part !== null; part = await body.next()) {
    if (part.name === "stdin") {
      if (mode !== "stdin")
        throw new Refused("bad_request", `There is a part "stdin", but the input mode is ${mode}.`);
      input.stdin = await takeHead(part, body);
      return input;
    }
    if (scratch === null) break;
    const name = freeName(plainName(part.filename), taken);
    const file = await scratch.tree.create(`${INPUT}/${name}`);
    await pipeline(part.body, file.createWriteStream());
    if (mode === "file") input.file ??= join(scratch.inputDir, name);
  }
  return input;
}

/** More than a pipe holds, so that a longer input is still being written when the process looks at its stdin. */
const HEAD_BYTES = 64 * 1024;

/** Reads the last part to its end, or until more than `HEAD_BYTES` of it have arrived. */
async function takeHead(part: Part, body: MultipartBody): Promise<NonNullable<Input["stdin"]>> {
  const chunks = part.body[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let size = 0;
  while (size <= HEAD_BYTES) {
    const { done, value } = await chunks.next();
    if (done) {
      body.discard();
      return { head: Buffer.concat(head), rest: null };
    }
    head.push(value);
    size += value.length;
  }
  const rest = Readable.from({ [Symbol.asyncIterator]: () => chunks }, { objectMode: false });
  // Without a listener, a failure of the stream would end the runner.
  rest.on("error", () => {});
  rest.once("close", () => body.discard());
  body.onCut((cut) => rest.destroy(cut));
  return { head: Buffer.concat(head), rest };
}

/** The most bytes of a file's name before its extension. */
const MAX_STEM_BYTES = 180;

/** A name that is not yet used: `a.txt`, `a-2.txt`, ... Short enough for every file system. */
function freeName(name: string, taken: Set<string>): string {
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 ? firstOf(name.slice(dot), 20) : "";
  const stem = cutStem(dot > 0 ? name.slice(0, dot) : name);
  let free = stem + extension;
  for (let count = 2; taken.has(free); count += 1) free = `${stem}-${count}${extension}`;
  taken.add(free);
  return free;
}

function cutStem(stem: string): string {
  // Each UTF-16 unit takes at least one byte.
  let cut = firstOf(stem, MAX_STEM_BYTES);
  while (Buffer.byteLength(cut) > MAX_STEM_BYTES) cut = firstOf(cut, cut.length - 1);
  return cut;
}
