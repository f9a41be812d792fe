/** The end of a run as its last event, from which its result and its error can be read again. */
import type { AgentState } from "../../engine/agent/state.ts";
import { type ErrorData, HullError, toProblem } from "../../errors.ts";
import type { RunEvent } from "../../run/events.ts";
import { objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RunRow } from "./run-rows.ts";
import type { ConversationStore } from "./store.ts";

/** `error` if the run failed, and `done` with the result. @param resultOf makes the result's document */
export function doneEvents(state: AgentState, row: RunRow, resultOf: () => JsonObject): RunEvent[] {
  const error = state.run?.error ?? null;
  const result = made(resultOf, { run_id: row.id, status: state.run?.status ?? "error" });
  const done: RunEvent = { event: "done", data: { ok: error === null, ...result } };
  return error === null ? [done] : [errorEvent(row, error), done];
}

/** The same for a run of which only the row is known. */
export function lostEvents(
  row: RunRow,
  facts: { run_id: string; session_id: string },
  error: ErrorData,
): RunEvent[] {
  return [errorEvent(row, error), { event: "done", data: { ok: false, status: "error", ...facts } }];
}

/** A run must be able to end even if its result cannot be made. */
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

/** Result and error of a run that has ended. */
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

/** The error of a problem document, to throw to the waiting caller. */
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
