/** The trace in a workflow run's record: the spans of the run, of its stages, and of what they did. Pure. */
import type { RunDocument, Stage, TraceSpan } from "./answers.ts";
import type { Visit, WorkflowState } from "./state.ts";
import { visitId } from "./trace.ts";

type TraceMembers = Pick<
  RunDocument,
  "trace_spans" | "tool_recordings" | "trace_spans_left_out" | "tool_recordings_left_out"
>;

export function traceMembers(state: WorkflowState): TraceMembers {
  const { spec, began, finished, stages, compensations, visits, trace } = state;
  const { run_id } = spec;
  const root: TraceSpan = {
    span_id: run_id,
    parent_id: null,
    kind: "workflow",
    name: spec.workflow?.name ?? spec.graph.name,
    start_ms: 0,
    duration_ms: finished === null ? null : finished.at - began,
    metadata: finished === null ? {} : { status: finished.status },
  };
  const own = [...stages, ...compensations].filter(({ id }) => id.startsWith(`${run_id}:`));
  const open = finished === null ? visits.map((visit) => openSpan(state, visit)) : [];
  const { spans, recordings } = trace.left_out;
  return {
    trace_spans: [root, ...own.map((stage) => stageSpan(state, stage)), ...open, ...trace.spans],
    tool_recordings: trace.recordings,
    ...(spans === 0 ? {} : { trace_spans_left_out: spans }),
    ...(recordings === 0 ? {} : { tool_recordings_left_out: recordings }),
  };
}

function stageSpan({ spec, began }: WorkflowState, stage: Stage): TraceSpan {
  const from = Date.parse(stage.started_at);
  const { kind, status, outcome, branch } = stage;
  return {
    span_id: stage.id,
    parent_id: spec.run_id,
    kind: "stage",
    name: stage.node_id,
    start_ms: from - began,
    duration_ms: Date.parse(stage.finished_at) - from,
    metadata: { kind, status, outcome, branch },
  };
}

function openSpan({ spec, began }: WorkflowState, visit: Visit): TraceSpan {
  return {
    span_id: visitId(spec.run_id, visit),
    parent_id: spec.run_id,
    kind: "stage",
    name: visit.node,
    start_ms: visit.began - began,
    duration_ms: null,
    metadata: { kind: spec.graph.nodes[visit.node]?.kind ?? null },
  };
}
