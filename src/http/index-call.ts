/**
 * Notes the calls that the Worker itself executes in the index of runs: after they have ended, several together; a long
 * call also while it runs. If the Worker dies before that, the note is lost.
 */
import { ClientClosedRequest } from "../errors/run.ts";
import { HullError, toHullError } from "../errors.ts";
import { skillNamed } from "../llm/skill-model.ts";
import type { RunContext } from "../run/context.ts";
import type { OperationHandle } from "../run/handle.ts";
import { queueRows } from "../session/index-rows.ts";
import { beginningCall, entryOf, type RunEntry } from "../session/run-entry.ts";
import { callFacts } from "../session/run-facts.ts";
import type { RequestContext } from "./context.ts";
import { namedSkillHeaders, withHeaders } from "./run-headers.ts";
import { runId } from "./run-id.ts";

/** A call that runs longer than this, in ms, is also noted while it runs. */
const LONG_MS = 1000;

/**
 * Runs a call and notes its outcome.
 * @param name slug of the skill, or name of the operation
 */
export async function indexedCall<T>(
  { id, context, signal }: Pick<OperationHandle, "id" | "context" | "signal">,
  name: string,
  carryOut: () => Promise<T>,
): Promise<T> {
  const run = beginningCall(id, name, Date.now());
  const cancel = context.clock.after(LONG_MS, () => indexRun(context, run));
  try {
    const output = await carryOut();
    indexRun(context, ended(run, null, context.log));
    return output;
  } catch (error) {
    const left = signal.aborted && !(error instanceof HullError);
    const code = left ? ClientClosedRequest.code : toHullError(error).code;
    indexRun(context, ended(run, code, context.log));
    throw error;
  } finally {
    cancel();
  }
}

/** @param code of the error that ended the call; `null`: it has an answer */
function ended(run: RunEntry, code: string | null, log: RunContext["log"]): RunEntry {
  const failed = code === ClientClosedRequest.code ? "cancelled" : "error";
  const times = { created_at: Date.parse(run.created_at), settled_at: Date.now() };
  const state = code === null ? (log.run_status ?? "done") : failed;
  return entryOf(run, times, callFacts(log, { name: run.name, state, code }));
}

function indexRun({ deployment, tenant, background }: RunContext, run: RunEntry): void {
  queueRows(deployment, [{ tenant, run }], background);
}

/**
 * Answers a request, and notes its outcome once the whole answer is there. The answer does not wait for that.
 * @param operation its name, and the model or skill that the request names
 * @param answer takes the id of the call, `ex_…`
 */
export function listedAnswer(
  context: RequestContext,
  { name, model }: { name: string; model: string },
  answer: (id: string) => Promise<Response>,
): Promise<Response> {
  const id = runId(context);
  context.log.execution_id = id;
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const { signal } = context.request;
  const listed = indexedCall({ id, context, signal }, name, async () => {
    const headers = { "x-hull-execution-id": id, ...(await namedSkillHeaders(context, skillNamed(model))) };
    context.runHeaders = headers;
    resolve(withHeaders(await answer(id), headers));
    await context.finished;
    if (context.streamFault !== null) throw context.streamFault;
  });
  context.background(listed.catch(reject));
  return promise;
}
