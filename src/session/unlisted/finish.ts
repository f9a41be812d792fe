/** The end of a call: its events, its stored outcome, its log line, and stopping its processes. */
import type { HullError } from "../../errors.ts";
import { logLine } from "../../log.ts";
import type { RunContext } from "../../run/context.ts";
import type { RunEvent } from "../../run/events.ts";
import type { RunOutput } from "../../run/handle.ts";
import { anonymousRunId } from "../../run/operation.ts";
import { logError, problemOf } from "../../run/problem.ts";
import { stopRequests } from "../../run/stop-requests.ts";
import type { RunRow } from "../conversation/run-rows.ts";
import type { Outcome } from "./call-store.ts";
import type { KnownRun } from "./execute.ts";
import type { ExecutionStatus } from "./rpc.ts";

export function stateOf({ status }: RunRow): ExecutionStatus["status"] {
  return status === "done" || status === "error" || status === "cancelled" ? status : "running";
}

export function doneEvent(context: RunContext, ok: boolean, output: RunOutput | null): RunEvent {
  const { durationMs, timings } = context;
  return { event: "done", data: { ok, ...output?.done, duration_ms: durationMs, ...timings } };
}

/** The outcome and events of a failed run. */
export function failure(context: RunContext, error: HullError): { outcome: Outcome; events: RunEvent[] } {
  logError(error, context);
  const data = context.redacted(error.data);
  const operator = context.redacted(error.operator);
  return {
    outcome: { ok: false, error: data, operator },
    events: [{ event: "error", data: problemOf(error, context) }, doneEvent(context, false, null)],
  };
}

/**
 * Stops what the runner may still be doing for a run.
 * @param runners the names by which `runnerEndpoint` finds those that may have its executions
 */
export async function stopProcesses(
  context: RunContext,
  run: string,
  runners: readonly string[],
): Promise<void> {
  for (const name of runners) await stopRequests(context, name, [run, anonymousRunId(run)]);
}

/** Logs one line per execution, or per execution that did not succeed, besides the line of each request for it. */
export function logEnd(
  context: RunContext,
  { id, call, run, state }: KnownRun & { state: string },
  outcome: Outcome,
): void {
  const succeeded = outcome.ok && context.log.model_outcome === undefined;
  if (succeeded && !context.settings.logsAll) return;
  const { request_id, recoveries } = run;
  const { name: skill, digest } = call;
  const line = {
    event: "execution",
    execution_id: id,
    request_id,
    skill,
    digest: digest.slice(0, 12),
    state,
    status: outcome.ok ? 200 : outcome.error.status,
    duration_ms: context.durationMs,
    ...(recoveries === 0 ? {} : { recoveries }),
    ...context.timings,
    ...context.log,
    ...(context.spans === undefined ? {} : { spans: context.spans }),
  };
  logLine(context, line);
}
