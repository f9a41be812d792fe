/** The last events of a run, from which its result and its error can be read later. */
import { type ErrorData, HullError, toProblem } from "../../errors.ts";
import { emptyTranscript, newId } from "../../llm/transcript.ts";
import type { RunEvent } from "../../run/events.ts";
import { retryAfter } from "../../run/llm-problem.ts";
import { asJson, objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RunResult } from "./answers.ts";
import type { RunRow } from "./run-rows.ts";
import type { SessionLog } from "./session-log.ts";
import type { ConversationStore } from "./store.ts";

/** What is known of an ended run without its records. */
export interface EndedRun {
  row: RunRow;
  /** Unix ms. */
  settled_at: number;
  status: RunRow["status"];
  error: ErrorData | null;
}

/**
 * `error` if the run failed, then `done` with the result.
 * @param resultOf creates the result's document; `null`: its records must not be read
 */
export function doneEvents(log: SessionLog, end: EndedRun, resultOf: (() => JsonObject) | null): RunEvent[] {
  const { row, error } = end;
  const result = resultOf === null ? bareResult(log, end) : made(log, resultOf, end);
  const done: RunEvent = { event: "done", data: { ok: error === null, ...result } };
  if (error === null) return [done];
  return [{ event: "error", data: toProblem(error, row.request_id) }, done];
}

/** Calls `resultOf`. If it throws, the result is bare: a run must be able to end even then. */
function made(log: SessionLog, resultOf: () => JsonObject, end: EndedRun): JsonObject {
  try {
    return resultOf();
  } catch (error) {
    const { row, status } = end;
    const run = { run_id: row.id, status };
    log.fault({ event: "result_not_made", ...run }, error);
    return bareResult(log, end);
  }
}

/** A result with all its members, made without the run's records. */
function bareResult({ store }: SessionLog, { row, settled_at, status }: EndedRun): JsonObject {
  const message = "Hull made this result without the run's records: only ids, status and duration are known.";
  const result: RunResult = {
    run_id: row.id,
    session_id: store.identity().id,
    status,
    text: "",
    visible_text: "",
    stop_reason: null,
    raw_stop_reason: null,
    iterations: 0,
    duration_ms: settled_at - row.created_at,
    tools_used: [],
    successful_tools: [],
    rejected_tools: [],
    deferred_user_messages: [],
    tool_calling_mode: "native",
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    own_cost_usd: 0,
    price_known: false,
    daemon_state: null,
    daemon_snapshot_path: null,
    task_ledger: null,
    ledger_done_rejections: 0,
    trace: [],
    warnings: [{ code: "result_incomplete", message }],
    transcript: { ...emptyTranscript(newId()), state: "paused" },
    transcript_truncated: true,
  };
  return asJson(result);
}

/** Result and error of an ended run. */
export function readEnd(
  store: ConversationStore,
  { done_event }: RunRow,
): { result?: JsonObject; error?: JsonObject } {
  if (done_event === null) return {};
  const done = store.event(done_event);
  if (done?.event !== "done") return {};
  const { ok, ...result } = objectOf(done.data);
  if (ok === true) return { result };
  const failure = store.event(done_event - 1);
  return { result, error: objectOf(failure?.data) };
}

/** Turns a problem document back into the error that the waiting caller gets. */
export function thrownBy(problem: JsonObject): HullError {
  const { type: _, instance: __, request_id: ___, code: named, status, title, detail, ...members } = problem;
  const code = String(named ?? "internal");
  const seconds = retryAfter({ code, members });
  return new HullError({
    code,
    status: typeof status === "number" ? status : 500,
    title: String(title ?? ""),
    detail: String(detail ?? ""),
    members,
    ...(seconds === undefined ? {} : { retry_after_s: seconds }),
  });
}
