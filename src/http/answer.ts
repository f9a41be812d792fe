/**
 * How a request that runs something is answered: whole when its run has ended, with the run's events, or with 202 and the
 * place where the result will be. The Worker itself runs a call without a session, which then ends with its client. An
 * idempotent or asynchronous call, and every run of a session, is in an object: a request begins it, or returns to it.
 */
import type { OperationHandle, RunOutput } from "../run/handle.ts";
import type { Wait } from "../session/conversation/rpc.ts";
import type { Begun } from "../session/unlisted/rpc.ts";
import type { RequestContext } from "./context.ts";
import { runEvents, silentHandle } from "./event-answer.ts";
import { type ExecutionClient, executionOf, storedError } from "./execution-client.ts";
import { idDigits, idempotencyKey, keyReused } from "./idempotency.ts";
import { indexedCall } from "./index-call.ts";
import { jsonNow } from "./page.ts";
import { oneOf } from "./parameters.ts";
import { noteReplay } from "./run-headers.ts";
import { runId } from "./run-id.ts";
import { checkBegins, eventStream, lastSeen, wantsEvents } from "./sse.ts";

/** The form of an answer. */
export interface AnswerForm {
  /** 202 at once, whatever the client accepts. */
  later: boolean;
  /** The run's events. */
  events: boolean;
  /** Until when the answer waits, `none` if `later` is set; `null`: as long as is usual for the run. */
  wait: Wait | null;
}

/**
 * The form that a request asks for by `Prefer: respond-async`, `Accept` and `?stream=`.
 * @param waits the route takes `?wait=`, too
 * @throws BadRequest
 */
export function formOf(request: Request, { waits = false }: { waits?: boolean } = {}): AnswerForm {
  const asked = waits && request.url.includes("wait") ? waitIn(request.url) : null;
  const wait = prefersAsync(request) ? "none" : asked;
  const events = wantsEvents(request) !== "no";
  return { later: wait === "none", events: events && wait !== "none", wait };
}

const waitIn = (url: string): Wait | null =>
  oneOf(new URL(url).searchParams, "wait", ["terminal", "idle", "none"]);

/** A quotation without an end takes the rest. */
const QUOTED = /"(?:\\.|[^"\\])*"?/g;

/** Whether `respond-async` is one of the client's preferences. */
function prefersAsync({ headers }: Request): boolean {
  const prefer = headers.get("prefer");
  if (prefer === null) return false;
  // Quoted text is the value of some preference.
  return prefer
    .replace(QUOTED, "")
    .split(",")
    .some((one) => /^\s*respond-async\s*(?:[;=]|$)/i.test(one));
}

/** A run that the request has begun, or to which it has returned. */
interface BegunRun {
  /** Absent: the run has no id besides that of its execution. */
  run_id?: string | null;
  /** Headers of its answers, besides those of every run. */
  headers?: Record<string, string>;
  /** What a 202 says: where the run can be looked at, and its state. The run's object has redacted it. */
  accepted(): Promise<Accepted> | Accepted;
  events(): Promise<ReadableStream<Uint8Array>>;
  /** The answer, once there is one. @param headers those of the run @throws the error that ended the run */
  whole(headers: Record<string, string>): Promise<Response> | Response;
}

interface Accepted {
  location: string;
  document: object;
}

/**
 * Begins a run that does not end with its client, or returns to it, and answers.
 * @param id before the number in the ids of its events
 * @param begin takes the number of the last event that the client has; `null`: the client states none
 * @throws BadRequest before the run begins
 */
export async function answerRun(
  context: RequestContext,
  form: AnswerForm,
  id: string,
  begin: (after: number | null) => Promise<BegunRun>,
): Promise<Response> {
  const { request } = context;
  const run = await begin(form.events ? lastSeen(request, id) : null);
  const { run_id = null } = run;
  if (run_id !== null) context.log.run_id = run_id;
  const headers = {
    ...context.runHeaders,
    "cache-control": "no-store",
    ...(run_id === null ? {} : { "x-hull-run-id": run_id }),
    ...run.headers,
  };
  context.runHeaders = headers;
  if (form.later) {
    const { location, document } = await run.accepted();
    const applied = prefersAsync(request) ? { "preference-applied": "respond-async" } : {};
    return jsonNow(document, 202, { ...headers, location, ...applied });
  }
  return form.events ? eventStream(await run.events(), headers) : run.whole(headers);
}

/** A call without a session. */
export interface Call {
  /** `ex_…` */
  id: string;
  /** The client gave the call a key, so that it can return to it. */
  keyed: boolean;
  /** The call outlives its connection. */
  lasting: boolean;
}

/**
 * Names a call for the log and for all of its answers.
 * @param called the skill (`calledAt`) or the operation, for which a key counts; `null`: a call without effects, which
 *   always ends with its client
 * @param headers of all of its answers
 * @throws BadRequest for an invalid key
 */
export async function openCall(
  context: RequestContext,
  { later }: AnswerForm,
  called: string | null,
  headers: Record<string, string>,
): Promise<Call> {
  const keyed = called !== null && idempotencyKey(context.request) !== null;
  const lasting = called !== null && (keyed || later);
  const id = lasting ? `ex_${await idDigits(context, called)}` : runId(context);
  context.log.execution_id = id;
  context.runHeaders = { "cache-control": "no-store", "x-hull-execution-id": id, ...headers };
  return { id, keyed, lasting };
}

/** What a call does. */
interface Work {
  /** Slug of the skill, or name of the operation, in the list of runs; `null`: the list does not have it. */
  name: string | null;
  /** Members of the event `start` in addition to the ids. */
  about: Record<string, unknown>;
  /** Executes the call in the Worker. */
  run(handle: OperationHandle): Promise<RunOutput>;
  /** Members of the event `done` in addition to `ok`; `null`: the call failed. */
  done(output: RunOutput | null): Record<string, unknown>;
  /** Begins the call in an object of its own, or returns to it. */
  begin(execution: ExecutionClient): Promise<Begun>;
  /** Receives the events of a call that the Worker answers whole; `null`: nobody does. */
  watch: OperationHandle["emit"] | null;
}

/** Answers a call. @throws its failure, unless events have begun */
export async function answerCall(
  context: RequestContext,
  form: AnswerForm,
  { id, lasting }: Call,
  { name, about, run, done, begin, watch }: Work,
): Promise<Response> {
  if (lasting) return answerRun(context, form, id, (after) => begunCall(context, id, begin, after));
  const { runHeaders: headers } = context;
  const indexed = (handle: OperationHandle): Promise<RunOutput> =>
    name === null ? run(handle) : indexedCall(handle, name, () => run(handle));
  if (form.events) {
    checkBegins(context.request);
    return runEvents(context, id, { headers, about, run: indexed, done });
  }
  const silent = silentHandle(context, id, context.request.signal);
  const output = await indexed(watch === null ? silent : { ...silent, streaming: true, emit: watch });
  return new Response(output.body, { headers: { ...headers, ...output.headers } });
}

async function begunCall(
  context: RequestContext,
  id: string,
  begin: Work["begin"],
  after: number | null,
): Promise<BegunRun> {
  const execution = executionOf(context, id);
  const begun = await begin(execution);
  if (begun === "other_request") throw keyReused(context);
  context.log.execution = begun;
  if (begun === "finished") noteReplay(context);
  return {
    async accepted() {
      const { status, run_id } = await execution.status();
      const names = run_id === null ? {} : { run_id, session_id: null };
      return { location: `/executions/${id}`, document: { id, ...names, status } };
    },
    async events() {
      const events = await execution.follow(after ?? 0, true);
      if (!events.ok) throw storedError(events);
      return events.body;
    },
    async whole(headers) {
      const answer = await execution.answer();
      if (!answer.ok) throw storedError(answer);
      if (begun === "started") Object.assign(context.log, answer.timings);
      return new Response(answer.body, { headers: { ...headers, ...answer.headers } });
    },
  };
}
