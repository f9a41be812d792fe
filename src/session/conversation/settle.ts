/** Ends a run exactly once: its last records, its last events and its row are stored in one transaction. */
import type { Deployment } from "../../deployment.ts";
import type { Applied } from "../../engine/agent/apply.ts";
import { spentBy } from "../../engine/agent/spent.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import { termsOf } from "../../engine/run-status.ts";
import { costIn } from "../../engine/shares.ts";
import { RunLost } from "../../errors/session.ts";
import { type ErrorData, type HullError, Internal } from "../../errors.ts";
import { shownReason } from "../../llm/result.ts";
import { endsByItself } from "../../model/turn-end.ts";
import { runResult } from "../../run/agent/result.ts";
import type { SpanNote } from "../../run/context.ts";
import type { RunEvent } from "../../run/events.ts";
import { asJson } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { WATCH_MS } from "../run-attempts.ts";
import { beginningFacts, type RunFacts } from "../run-entry.ts";
import { agentFacts, storedFacts } from "../run-facts.ts";
import { doneEvents, type EndedRun } from "./done.ts";
import type { RunRow } from "./run-rows.ts";
import type { RunLifecycle } from "./session-lifecycle.ts";
import type { SessionLog } from "./session-log.ts";

export interface EndOptions {
  log: SessionLog;
  deployment: Deployment;
  lifecycle: Pick<RunLifecycle, "ends" | "reports">;
}

/** What only the last run attempt knows. */
interface LastAttempt {
  /** Returns more members of the result. */
  further: () => JsonObject;
  /** The value that the run's effects keep; `null`: unchanged in storage. */
  memo: string | null;
}

/**
 * The result of the session's last run; `transcript_truncated`: it covers only the last records.
 * @param state the state after these records
 * @param until when the run ended, or now (Unix ms)
 */
export function resultOf(
  log: SessionLog,
  state: AgentState,
  { created_at, first_record }: RunRow,
  until: number,
): JsonObject {
  const { run } = state;
  if (run === null) throw new Internal({ cause: "a run ended without a state" });
  const { recorded, whole } = log.recorded(first_record - 1);
  const result = asJson(runResult(state, run, { recorded, durationMs: until - created_at }));
  return whole ? result : { ...result, transcript_truncated: true };
}

/** Stores records, one of which settles the run. */
export function settleRun(
  options: EndOptions,
  row: RunRow,
  batch: readonly Applied[],
  { further, memo }: LastAttempt,
): void {
  const { log, lifecycle } = options;
  // Clocks may go backwards.
  const settled_at = Math.max(log.now(), row.created_at);
  log.append(batch, {
    events: (state) => {
      const result = () => ({ ...resultOf(log, state, row, settled_at), ...further() });
      const { status = "error", error = null } = state.run ?? {};
      return lastEvents(options, { row, settled_at, status, error }, result);
    },
    write: ({ run }, done_event) => {
      // A restarted daemon or task continues with the stored value of its effects.
      const goesOn = run !== null && (run.spec.daemon !== null || run.spec.delegation !== undefined);
      const kept = !goesOn ? { memo: null } : memo === null ? {} : { memo };
      const facts = run === null ? unseenFacts(row, "error") : agentFacts(run, run.status);
      noteEnd(log, row, run?.status ?? "error", facts, { settled_at, done_event, ...kept }, lifecycle);
    },
  });
}

/**
 * Gives up on a run. Its result is whole if the session's state is in memory. Otherwise Hull reads none of its records,
 * since reading them may kill the process.
 */
export function loseRun(options: EndOptions, row: RunRow): ErrorData {
  const { log, lifecycle } = options;
  const { data: error } = new RunLost({ run: row.id });
  const settled_at = Math.max(log.now(), row.created_at);
  const end = { row, settled_at, status: "error", error } as const;
  log.appendUnseen(
    [{ type: "run_settled", run: row.id, status: "error", error }],
    (state) => {
      const known = state?.run?.spec.run_id === row.id;
      return lastEvents(options, end, known ? () => resultOf(log, state, row, settled_at) : null);
    },
    (done_event, state) => {
      const run = state?.run?.spec.run_id === row.id ? state.run : null;
      const facts = run === null ? unseenFacts(row, error.code) : agentFacts(run, run.status);
      noteEnd(log, row, "error", facts, { settled_at, done_event, memo: null }, lifecycle);
    },
  );
  logEnd(options, row, null, {});
  return error;
}

/** @param result creates the result's document; `null`: its records must not be read */
function lastEvents(
  { log, lifecycle }: EndOptions,
  end: EndedRun,
  result: (() => JsonObject) | null,
): RunEvent[] {
  const { row, status, error } = end;
  return [...lifecycle.ends(row.id, { status, code: error?.code }), ...doneEvents(log, end, result)];
}

/** What is known of a lost run without its records. @param code of the error */
const unseenFacts = ({ listed }: RunRow, code: string): RunFacts => ({
  ...(storedFacts(listed) ?? beginningFacts({ kind: "run", name: null, model: null })),
  state: "error",
  price_known: false,
  code,
});

function noteEnd(
  { store }: SessionLog,
  { id }: RunRow,
  status: RunRow["status"],
  facts: RunFacts,
  end: { settled_at: number; done_event: number; memo?: null | string },
  lifecycle: EndOptions["lifecycle"],
): void {
  store.runs.update(id, { status, listed: JSON.stringify(facts), ...end });
  store.touch(end.settled_at);
  // The process may die before it has stopped what the runner does for the run.
  const stops = termsOf(status).stopped === true && store.submitted.ids().length > 0;
  const stop = stops ? { stop: end.settled_at + WATCH_MS } : {};
  store.due.set({ ...unwatched(lifecycle), approval: null, ...stop });
  if (!stops) store.submitted.clear();
}

/** Clears the watch of a run that has ended or rests. Keeps it if the session above must learn of that. */
export const unwatched = (lifecycle: EndOptions["lifecycle"]): { watch?: null } =>
  lifecycle.reports() ? {} : { watch: null };

/**
 * Logs one line for each run, or for each that did not succeed.
 * @param state `null`: the run is lost
 * @param last its last run attempt
 */
export function logEnd(
  options: EndOptions,
  row: RunRow,
  state: AgentState | null,
  { fault, spans }: { fault?: HullError; spans?: readonly SpanNote[] | undefined },
): void {
  const run = state?.run ?? null;
  const code = state === null ? "run_lost" : run?.error?.code;
  const whole = run?.answered === undefined || endsByItself(run.answered);
  if (code === undefined && whole && !options.deployment.settings.logsAll) return;
  logRun(options.log, row, "run", {
    status: run?.status ?? "error",
    duration_ms: Math.max(0, options.log.now() - row.created_at),
    ...(run === null ? {} : { iterations: run.iterations, usage: run.totals, ...costIn(spentBy(run)) }),
    ...(run?.answered === undefined ? {} : { stop_reason: shownReason(run.answered) }),
    ...(run?.spec.agent === undefined ? {} : { skill: run.spec.agent }),
    ...(row.recoveries === 0 ? {} : { recoveries: row.recoveries }),
    ...(code === undefined ? {} : { code }),
    ...(fault === undefined || Object.keys(fault.operator).length === 0 ? {} : { error: fault.operator }),
    ...(spans === undefined ? {} : { spans }),
  });
}

/** Logs the spans of a run attempt after which the run continues: each attempt has its own spans. */
export function logAttempt(
  { log, deployment }: EndOptions,
  row: RunRow,
  { status, spans }: { status: RunRow["status"]; spans?: readonly SpanNote[] | undefined },
): void {
  if (spans === undefined || !deployment.settings.logsAll) return;
  const duration_ms = Math.max(0, log.now() - row.created_at);
  logRun(log, row, "run_attempt", { status, duration_ms, spans });
}

export function logRun(
  log: SessionLog,
  { id: run_id, request_id }: RunRow,
  event: string,
  facts: Record<string, unknown>,
): void {
  const { id: session_id, tenant } = log.store.identity();
  const line = { event, session_id, run_id, tenant, request_id, ...facts };
  log.note(line);
}
