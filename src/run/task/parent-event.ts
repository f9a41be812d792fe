/** Turns a delegated run's event into the form that the session above shows. Pure. */
import { fromJson, objectOf } from "../../skill/json.ts";
import type { RunEvent } from "../events.ts";

/** The delegated run. */
export interface ChildRun {
  run_id: string;
  parent_run_id: string | null;
  session_id: string;
  name: string;
  task: string;
  sub_agent: boolean;
}

/**
 * In a child's log `start` and `done` are those of its own run: above they become `sub_agent_start` and
 * `sub_agent_result`. Its `error` is part of the latter. Events from further below keep their ids.
 */
export function parentEvents({ event, data }: RunEvent, run: ChildRun): RunEvent[] {
  const { run_id, parent_run_id, session_id, name, task } = run;
  const of = { run_id, parent_run_id };
  switch (event) {
    case "start":
      return run.sub_agent ? [{ event: "sub_agent_start", data: { ...of, session_id, name, task } }] : [];
    case "done":
      return run.sub_agent
        ? [{ event: "sub_agent_result", data: { ...of, session_id, name, ...resultOf(data) } }]
        : [];
    case "error":
      return [];
    default:
      return [fromJson({ event, data: { ...of, ...data } })];
  }
}

/** The members of a run's result that watchers of its parent see. */
function resultOf(data: unknown): { ok: boolean; status: string; cost_usd: number } {
  const { ok, status, cost_usd } = objectOf(data);
  return {
    ok: ok === true,
    status: typeof status === "string" ? status : "error",
    cost_usd: typeof cost_usd === "number" ? cost_usd : 0,
  };
}
