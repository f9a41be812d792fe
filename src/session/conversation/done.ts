/** The last events of a run, from which its result and its error can be read later. */
import type { AgentState } from "../../engine/agent/state.ts";
import { type ErrorData, HullError, toProblem } from "../../errors.ts";
import type { RunEvent } from "../../run/events.ts";
import { objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RunRow } from "./run-rows.ts";
import type { ConversationStore } from "./store.ts";

/** `error` if the run failed, then `done` with the result. @param resultOf creates the result's document */
export function doneEvents(state: AgentState, row: RunRow, resultOf: () => JsonObject): RunEvent[] {
  const error = state.run?.error ?? null;
  const result = made(resultOf, { run_id: row.id, status: state.run?.status ?? "error" });
  const done: RunEvent = { event: "done", data: { ok: error === null, ...result } };
  return error === null ? [done] : [errorEvent(row, error), done];
}

/** The same events for a run of which only the row is known. */
export function lostEvents(
  row: RunRow,
  facts: { run_id: string; session_id: string },
  error: ErrorData,
): RunEvent[] {
  return [errorEvent(row, error), { event: "done", data: { ok: false, status: "error", ...facts } }];
}

/** Calls `resultOf`. If it throws, returns `otherwise`: a run must be able to end even without a result. */
function made(resultOf: () => JsonObject, otherwise: JsonObject): JsonObject {
  try {
    return resultOf();
  } catch (error) {
    console.error(JSON.stringify({ event: "result_not_made", ...otherwise, error: String(error) }));
    return otherwise;
  }
}

function errorEvent(row: RunRow, error: ErrorData): RunEvent {
  return { event: "error", data: toProblem(error, row.request_id) };
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
  const { type: _, instance: __, request_id: ___, code, status, title, detail, ...members } = problem;
  return new HullError({
    code: String(code ?? "internal"),
    status: typeof status === "number" ? status : 500,
    title: String(title ?? ""),
    detail: String(detail ?? ""),
    members,
  });
}
