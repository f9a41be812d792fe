/**
 * The Worker's side of the runner protocol: sends one execution, uploads the skill's files if the runner lacks them,
 * follows the frames, reconnects after a cut, and never runs anything twice.
 */
import { sleep } from "../at-most.ts";
import { ClientClosedRequest, ExecutionLost, RunnerProtocolError, RunnerUnavailable } from "../errors/run.ts";
import { causeOf, HullError } from "../errors.ts";
import { parsedJson } from "../skill/json-depth.ts";
import { type ExecutionInput, encodeMultipart, isRepeatable } from "./multipart.ts";
import {
  type ExecutionSpec,
  refusal,
  signTicket,
  TENANT_HEADER,
  type TicketKey,
  type TicketSubject,
  workspaceLacks,
} from "./protocol.ts";
import type { RunnerCircuit } from "./runner-circuit.ts";
import { Disconnected, followFrames, type RunEvent, refusedBy } from "./runner-events.ts";

export type { RunEvent } from "./runner-events.ts";

type RequestBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

interface RunnerRequest {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  headers?: Record<string, string>;
  body?: RequestBody;
  signal?: AbortSignal;
}

/** Where executions run: a container's Durable Object, or a process on loopback. */
export interface Runner {
  /** Sends one request; `path` begins with `/`. Rejects if the runner cannot be reached. */
  fetch(path: string, request: RunnerRequest): Promise<Response>;
  /** The runner secret. */
  key: TicketKey;
  /** What earlier calls learned of it. */
  circuit: RunnerCircuit;
}

/**
 * What the callers of detached executions store about them, so that a later caller can continue after an earlier one
 * died.
 */
export interface KnownExecutions {
  /** `handed_in`: the runner may have it. `admitted`: the runner had it, and must never get it again. */
  known(id: string): "nothing" | "handed_in" | "admitted";
  /**
   * Stores the fact; it is stored when this returns.
   * @param workspace whose folder the execution has, and whose runner it goes to; absent: none
   */
  note(id: string, fact: "handed_in" | "admitted", workspace?: string): void;
}

/** The files of a session, for a runner that lacks them. */
export interface WorkspaceSource {
  /** JSON of a `workspaceManifest`, of the spec's version or a later one, which is as good. */
  manifest(): Promise<string>;
  /** Contents as frames, without duplicates: `file`, whose name is the digest, then its bytes. */
  contents(digests: readonly string[]): ReadableStream<Uint8Array>;
}

export interface RunOptions {
  tenant: string;
  /** For detached executions. */
  known?: KnownExecutions;
  /** Awaited once the runner has accepted the execution. */
  accepted?(): Promise<void>;
  /** The tar of a bundle, for a runner that does not have it. */
  pack(digest: string): Promise<RequestBody>;
  /** The content of the spec's workspace, for a runner whose folder is in another state. */
  workspace?: WorkspaceSource;
  /** Aborted: the runner cancels the whole request of this execution. */
  signal: AbortSignal;
  /** Unix time in ms. */
  now(): number;
  /** Takes work that continues after the caller is done, e.g. `ctx.waitUntil`. */
  background(work: Promise<unknown>): void;
}

/**
 * Attempts after the first one if the connection fails. Each arriving frame makes all of them available again. While the
 * runner's circuit is open, a call that has not reached the runner makes one attempt, but for one call every half minute.
 */
const RETRIES = 2;
/**
 * The same for a detached execution that the runner may not have accepted: 8 s in all. `hull dev` waits up to 5 s before
 * it starts a runner again that died repeatedly.
 */
const DETACHED_RETRIES = 6;
/** The same for one that is running: half a minute in all, enough for a runner to restart. */
const RUNNING_RETRIES = 12;
/** Wait before the first retry, twice as long before the second, and so on. */
const RETRY_WAIT_MS = 400;
/** Time limit for the headers: a slot in the queue, and the start of a cold container. */
const ADMISSION_MS = 60_000;
/**
 * The most transfers of files before one execution: the skill's, and the session's, which others may replace meanwhile.
 */
const MOST_SENT = 5;

/** How long the streams of an input wait for the runner's acceptance before they are sent anyway. */
const GATE_MS = 1000;

/**
 * Runs one execution and yields its events; `ended` is the last one. Leaving the generator early cancels the execution,
 * unless it is detached.
 *
 * Until the runner has admitted the execution, the client repeats a failed attempt with the same id, if the input can be
 * sent again; the runner attaches it to what it knows. After that, the client requests the frames from where they broke
 * off; if the runner no longer knows the id, the execution is lost. If an earlier caller handed the execution in, this
 * one follows it and does not run it again.
 *
 * @throws RunnerUnavailable RunnerBusy RunnerDraining ConcurrencyLimited ExecutionConflict ExecutionLost
 * RunnerProtocolError ClientClosedRequest
 */
export async function* runExecution(
  runner: Runner,
  spec: ExecutionSpec,
  body: ExecutionInput,
  options: RunOptions,
): AsyncGenerator<RunEvent, void> {
  const submission = new Submission(runner, spec, body, options);
  // Immediately, not at the next frame: the caller may be waiting elsewhere.
  const cancel = (): void => options.background(cancelRequest(runner, spec.request_id, options.now()));
  let over = false;
  // An earlier caller may have handed in what this one no longer wants.
  if (options.signal.aborted && spec.detach) cancel();
  options.signal.addEventListener("abort", cancel);
  try {
    for await (const event of submission.events()) {
      over = event.kind === "ended";
      yield event;
    }
  } catch (error) {
    // Not a 503, which permits another attempt: the execution has already begun.
    if (submission.admitted && error instanceof RunnerUnavailable) {
      throw new ExecutionLost({ id: spec.id });
    }
    // The runner refused the execution, so there is nothing to cancel.
    over = error instanceof HullError && !submission.admitted && !submission.perhapsBegun;
    throw error;
  } finally {
    options.signal.removeEventListener("abort", cancel);
    if (!over && !options.signal.aborted && !spec.detach) {
      options.background(cancelExecution(runner, spec.id, options.now()));
    }
  }
}

/**
 * The events of an execution again, from the first one; the runner keeps them for minutes after the end. Leaving early
 * does not affect the execution.
 * @throws ExecutionLost RunnerUnavailable RunnerProtocolError ClientClosedRequest
 */
export async function* replayExecution(
  runner: Runner,
  id: string,
  options: RunOptions,
): AsyncGenerator<RunEvent, void> {
  yield* new Subscription(runner, { id, skill: "", limit: 0 }, options).events();
}

/** Cancels every execution of a request, including future ones. Never rejects. */
export function cancelRequest(runner: Runner, requestId: string, nowMs: number): Promise<void> {
  return sendCancel(runner, `/v1/requests/${requestId}`, `request:${requestId}`, nowMs);
}

/** Cancels one execution. Never rejects. */
function cancelExecution(runner: Runner, id: string, nowMs: number): Promise<void> {
  return sendCancel(runner, `/v1/executions/${id}`, `execution:${id}`, nowMs);
}

async function sendCancel(
  runner: Runner,
  path: string,
  subject: TicketSubject,
  nowMs: number,
): Promise<void> {
  const ticket = await signTicket(runner.key, subject, "", nowMs);
  try {
    const headers = { authorization: `Bearer ${ticket}` };
    const response = await runner.fetch(path, { method: "DELETE", headers });
    await response.body?.cancel();
  } catch {
    // If the runner cannot be reached, it ends an abandoned execution by itself.
  }
}

/** Follows one execution over any number of connections. */
class Subscription {
  protected readonly execution: { id: string; skill: string; limit: number };
  protected readonly options: RunOptions;
  protected readonly runner: Runner;
  /** Whether the runner was down when this began and another call waits for it, and it has not answered since. */
  #once: boolean;
  /** Frames seen. */
  #seq = 0;

  constructor(runner: Runner, execution: { id: string; skill: string; limit: number }, options: RunOptions) {
    this.runner = runner;
    this.#once = !runner.circuit.mayWait(options.now());
    this.execution = execution;
    this.options = options;
  }

  /** Attempts after the first one, where the runner is not down. */
  protected get retries(): number {
    return RETRIES;
  }

  /** Whether another attempt after a failed connection can succeed. */
  protected get canRetry(): boolean {
    return true;
  }

  /** Whether a request may have begun work in the runner although its answer did not arrive. */
  get perhapsBegun(): boolean {
    return false;
  }

  async *events(): AsyncGenerator<RunEvent, void> {
    const { signal } = this.options;
    for (let retries = 0; ; ) {
      const connection = new AbortController();
      const abort = (): void => connection.abort();
      signal.addEventListener("abort", abort);
      let ended = false;
      try {
        if (signal.aborted) throw new ClientClosedRequest({});
        for await (const event of followFrames(await this.connect(connection))) {
          this.#seq += 1;
          retries = 0;
          ended = event.kind === "ended";
          yield event;
          if (ended) return;
        }
      } catch (error) {
        if (signal.aborted) throw new ClientClosedRequest({});
        if (!(error instanceof Disconnected)) throw error;
        retries += 1;
        if (this.#once || retries > this.retries || !this.canRetry)
          throw this.#unreached(error.message, retries);
      } finally {
        signal.removeEventListener("abort", abort);
        // An abort makes an error with a stack, which a whole answer does not need.
        if (!ended) connection.abort();
      }
      await sleep(RETRY_WAIT_MS * retries, signal);
    }
  }

  /** The error of a call that gives up after so many failures. A call that waited as long as any opens the circuit. */
  #unreached(cause: string, failures: number): HullError {
    const { circuit } = this.runner;
    if (failures > DETACHED_RETRIES) circuit.open(cause, this.options.now());
    const begun = this.perhapsBegun ? { begun: "perhaps" as const } : {};
    return new RunnerUnavailable({ where: circuit.where, cause, ...begun });
  }

  /** Requests the frames after those already seen. */
  protected async connect(connection: AbortController): Promise<Response> {
    const { id } = this.execution;
    const path = `/v1/executions/${id}?from=${this.#seq}`;
    const response = await this.send(connection, "GET", path, `execution:${id}`, {});
    if (response.status !== 200) throw await refusedBy(response, this.execution);
    return response;
  }

  /** Sends a request and waits for its headers. */
  protected async send(
    connection: AbortController,
    method: NonNullable<RunnerRequest["method"]>,
    path: string,
    subject: TicketSubject,
    rest: { headers?: Record<string, string>; body?: RequestBody; spec?: string },
  ): Promise<Response> {
    const { key, circuit } = this.runner;
    const ticket = await signTicket(key, subject, rest.spec ?? "", this.options.now());
    const late = setTimeout(() => connection.abort(), ADMISSION_MS);
    try {
      const response = await this.runner.fetch(path, {
        method,
        headers: { ...rest.headers, authorization: `Bearer ${ticket}` },
        ...(rest.body === undefined ? {} : { body: rest.body }),
        signal: connection.signal,
      });
      // Something in between, e.g. the platform without a container, may have sent any other status.
      if (response.status < 500) {
        this.#once = false;
        circuit.close();
      }
      return response;
    } catch (error) {
      throw new Disconnected(causeOf(error));
    } finally {
      clearTimeout(late);
    }
  }
}

/** An execution that the client must hand in before it can follow it. */
class Submission extends Subscription {
  /** The runner has accepted the execution. */
  admitted: boolean;
  /** A connection failed, so the runner may have the execution although the client does not know. */
  #uncertain = false;
  readonly #spec: ExecutionSpec;
  #specText: string;
  readonly #body: ExecutionInput;
  readonly #repeatable: boolean;
  /** An earlier caller already handed the execution in. */
  readonly #again: boolean;
  #streamed = false;

  constructor(runner: Runner, spec: ExecutionSpec, body: ExecutionInput, options: RunOptions) {
    super(runner, { id: spec.id, skill: spec.skill, limit: spec.limits.concurrency ?? 0 }, options);
    this.#spec = spec;
    this.#specText = JSON.stringify(spec);
    const { stdin, ...files } = body;
    this.#body = spec.input.mode === "stdin" && stdin !== undefined ? { ...files, stdin } : files;
    this.#repeatable = isRepeatable(this.#body);
    const known = options.known?.known(spec.id);
    this.admitted = known === "admitted";
    this.#again = known === "handed_in";
  }

  protected override get retries(): number {
    if (!this.#spec.detach) return super.retries;
    return this.admitted ? RUNNING_RETRIES : DETACHED_RETRIES;
  }

  override get perhapsBegun(): boolean {
    return this.#uncertain || this.#again;
  }

  protected override get canRetry(): boolean {
    return this.admitted || this.#repeatable || !this.#streamed;
  }

  protected override async connect(connection: AbortController): Promise<Response> {
    if (this.admitted) {
      // An earlier caller may have died before it could say so.
      await this.options.accepted?.();
      return super.connect(connection);
    }
    const { known } = this.options;
    known?.note(this.#spec.id, "handed_in", this.#spec.workspace?.id);
    let response = await this.#post(connection);
    if (response.status === 400 && this.#asksEarlierRunner()) {
      await response.body?.cancel();
      response = await this.#post(connection);
    }
    const most = MOST_SENT + (this.#spec.skills?.list.length ?? 0);
    for (let sent = 0; response.status === 424 && sent < most; sent += 1) {
      await this.#supply(connection, response);
      response = await this.#post(connection);
    }
    // The runner has this id with another spec: that of the earlier caller, whose settings may have differed.
    if (response.status === 409 && this.#again) {
      await response.body?.cancel();
      response = await super.connect(connection);
    }
    if (response.status !== 200) {
      const refused = await refusedBy(response, this.execution);
      // Only a 503 says that the request did not get as far as the runner.
      if (refused instanceof Disconnected && response.status !== 503) this.#uncertain = true;
      throw refused;
    }
    this.admitted = true;
    known?.note(this.#spec.id, "admitted");
    await this.options.accepted?.();
    return response;
  }

  /** Rewrites the specification for a runner of an earlier version, if that changes it and it can be sent again. */
  #asksEarlierRunner(): boolean {
    const earlier = JSON.stringify(forEarlierRunner(this.#spec));
    if (earlier === this.#specText || !this.canRetry) return false;
    this.#specText = earlier;
    return true;
  }

  async #post(connection: AbortController): Promise<Response> {
    const gate = Promise.withResolvers<void>();
    const open = (): void => {
      this.#streamed = true;
      gate.resolve();
    };
    const timer = this.#repeatable ? undefined : setTimeout(open, GATE_MS);
    const { contentType, body } = encodeMultipart(this.#specText, this.#body, gate.promise);
    const headers = { "content-type": contentType, [TENANT_HEADER]: this.options.tenant };
    const rest = { body, headers, spec: this.#specText };
    try {
      const response = await this.send(
        connection,
        "POST",
        "/v1/executions",
        `execution:${this.#spec.id}`,
        rest,
      );
      if (response.status === 200) open();
      return response;
    } catch (error) {
      this.#uncertain = true;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends the files that the runner lacks, as its answer says. */
  async #supply(connection: AbortController, answer: Response): Promise<void> {
    if (!this.canRetry) {
      throw new RunnerUnavailable({
        where: this.runner.circuit.where,
        cause: "the input was sent before the files that it needs",
      });
    }
    const lacks = refusal.safeParse(parsedJson(await answer.text().catch(() => ""))).data;
    if (lacks?.code === "workspace_missing") await this.#sendWorkspace(connection);
    else await this.#sendBundle(connection, lacks?.digest ?? this.#spec.digest);
  }

  /** Sends the required content of the session's folder, and uploads what the runner lacks. */
  async #sendWorkspace(connection: AbortController): Promise<void> {
    const { workspace: source } = this.options;
    const id = this.#spec.workspace?.id ?? "";
    if (source === undefined) throw new RunnerProtocolError({ reason: "it wants files that do not exist" });
    const manifest = new Uint8Array(new TextEncoder().encode(await source.manifest()));
    const put = (path: string, body: RequestBody) =>
      this.send(connection, "PUT", `/v1/workspaces/${id}${path}`, `workspace:${id}`, { body });
    const reply = await put("", manifest);
    if (reply.status !== 200) throw await refusedBy(reply, this.execution);
    const lacks = workspaceLacks.safeParse(parsedJson(await reply.text()));
    if (!lacks.success) throw new RunnerProtocolError({ reason: "what it lacks cannot be read" });
    if (lacks.data.missing.length === 0) return;
    const response = await put("/contents", source.contents(lacks.data.missing));
    // If another call uploaded another version meanwhile, the next attempt starts again.
    if (response.status === 424) await response.body?.cancel();
    else if (response.status !== 204) throw await refusedBy(response, this.execution);
  }

  async #sendBundle(connection: AbortController, digest: string): Promise<void> {
    const body = await this.options.pack(digest);
    const path = `/v1/bundles/${digest}`;
    const response = await this.send(connection, "PUT", path, `bundle:${digest}`, { body });
    // This attempt relied on another caller's transfer, and that one failed.
    if (response.status === 424) throw new Disconnected("the transfer of the skill's files failed");
    if (response.status !== 204) throw await refusedBy(response, this.execution);
  }
}

/**
 * A specification without the fields that a runner of an earlier version refuses, which still runs while a new image
 * rolls out. It does what that version did: it sends stderr with stdout, and names the skill's folder after the skill.
 */
function forEarlierRunner(spec: ExecutionSpec): ExecutionSpec {
  if (spec.handler === undefined) return spec;
  const { own_stderr: _, skill_path: __, ...handler } = spec.handler;
  return { ...spec, handler };
}
