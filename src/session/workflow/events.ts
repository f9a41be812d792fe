/** The events that tell watchers of a workflow run about its records. Pure. */
import type { WorkflowRecord } from "../../engine/workflow/records.ts";
import { visitOf, type WorkflowState } from "../../engine/workflow/state.ts";
import { visitId } from "../../engine/workflow/trace.ts";
import type { RunEvent } from "../../run/events.ts";

/** The events for a record. @param state the state with the record applied */
export function eventsOf(record: WorkflowRecord, state: WorkflowState | null): RunEvent[] {
  if (state === null) return [];
  const { spec } = state;
  switch (record.type) {
    case "begun":
      return [{ event: "start", data: { run_id: spec.run_id, operation: "workflows" } }];
    case "started":
    case "ended": {
      const { node, attempt, item } = record;
      const data = {
        stage_id: visitId(spec.run_id, record),
        node_id: node,
        attempt,
        ...(item === undefined ? {} : { item }),
        ...compensating(record, state),
      };
      if (record.type === "started") return [{ event: "stage", data: { ...data, status: "running" } }];
      const { status, outcome, branch } = record.outcome;
      return [{ event: "stage", data: { ...data, status, outcome, branch } }];
    }
    case "waits": {
      const { node, until } = record;
      const data = { stage_id: visitId(spec.run_id, record), node_id: node, attempt: 1 };
      const waits_until = until === null ? {} : { waits_until: new Date(until).toISOString() };
      return [{ event: "stage", data: { ...data, status: "waiting", ...waits_until } }];
    }
    case "finished": {
      const { status } = record;
      return [
        {
          event: "done",
          data: { ok: status === "completed" || status === "paused", run_id: spec.run_id, status },
        },
      ];
    }
    default:
      return [];
  }
}

/** The stage that an attempt compensates, if any. */
function compensating(
  record: Extract<WorkflowRecord, { type: "started" | "ended" }>,
  state: WorkflowState,
): { compensates?: string } {
  if (record.type === "started")
    return record.compensates === undefined ? {} : { compensates: record.compensates };
  // After the last attempt, the state no longer contains the visit.
  const id = visitId(state.spec.run_id, record);
  const compensates =
    visitOf(state, record)?.compensates ??
    state.compensations.find((stage) => stage.id === id)?.metadata.compensates;
  return typeof compensates === "string" ? { compensates } : {};
}
