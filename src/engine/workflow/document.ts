/** A workflow run as its routes show it, with the reason why it does not continue. Pure. */
import { counted } from "../../plural.ts";
import { asJson, own } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { ActiveVisit, RunDocument, Stage, TraceSpan } from "./answers.ts";
import { uncompensated } from "./compensation.ts";
import { recordPath } from "./origin.ts";
import { requiredInputs, time, totalOutcomes, type Visit, type WorkflowState } from "./state.ts";
import type { WorkflowStatus } from "./status.ts";
import { visitId } from "./trace.ts";
import { trialOf } from "./trial.ts";

export function statusOf(state: WorkflowState): WorkflowStatus {
  if (state.finished !== null) return state.finished.status;
  if (state.stopped !== null) return "running";
  if (state.paused) return "paused";
  const { visits } = state;
  return visits.length > 0 && visits.every(({ wait, retry_at }) => wait !== null || retry_at !== null)
    ? "waiting"
    : "running";
}

/** The session of a stage's run under way. */
export interface ChildSession {
  session: string;
  /** What it waits for, as the end of a sentence: `for somebody to approve …`; `null`: it continues by itself. */
  awaits: string | null;
}

/** The sessions of the attempts under way, by `visitName`. */
export type ActiveStages = ReadonlyMap<string, readonly ChildSession[]>;

export const visitName = ({ node, visit }: { node: string; visit: number }): string => `${node}:${visit}`;

/** The run's record. */
export function runDocument(state: WorkflowState, active: ActiveStages): JsonObject {
  const { spec, finished, stages, transitions, visits, ready, completed, artifacts } = state;
  const usage = totalOutcomes([...stages, ...state.compensations]);
  const document: RunDocument = {
    _type: "run_record",
    id: spec.run_id,
    workflow_id: spec.graph.id,
    workflow_name: spec.workflow?.name ?? spec.graph.name,
    workflow: spec.workflow,
    skills: spec.skills ?? null,
    graph: spec.graph,
    options: spec.options,
    task: spec.task,
    status: statusOf(state),
    explanation: explain(state, active),
    started_at: time(state.began),
    finished_at: finished === null ? null : time(finished.at),
    parent_run_id: spec.parent_run_id,
    root_run_id: spec.root_run_id,
    origin: originOf(spec),
    stages,
    compensations: state.compensations,
    uncompensated: uncompensated(state).map(({ id }) => id),
    transitions,
    // What was under way when the run was ended is not under way any more.
    active:
      finished === null ? visits.map((visit) => activeVisit(visit, active.get(visitName(visit)) ?? [])) : [],
    checkpoints: [
      { kind: "start", at: time(state.began) },
      ...stages.map((stage) => ({
        kind: "stage_complete" as const,
        at: stage.finished_at,
        stage_id: stage.id,
      })),
      ...(finished === null ? [] : [{ kind: "finalize" as const, at: time(finished.at) }]),
    ],
    pending_nodes: [...visits.map(({ node }) => node), ...ready],
    completed_nodes: completed,
    failed_stages: stages.filter(({ status }) => status === "failed").map(({ id }) => id),
    child_runs: stages.flatMap(({ id, attempts }) =>
      attempts.flatMap(({ child_run_id }) =>
        child_run_id === null ? [] : [{ stage_id: id, run_id: child_run_id }],
      ),
    ),
    artifacts,
    policy: spec.policy,
    usage,
    transcript: stages.findLast(({ transcript }) => transcript !== null)?.transcript ?? null,
    error: finished?.error ?? null,
    steps: state.steps,
    max_steps: spec.max_steps,
    replay_fixture: null,
    ...traceMembers(state),
    virtual_time_ms: state.ahead,
    test: trialOf(state),
    metadata: spec.metadata,
    persisted_path: spec.persist_path ?? recordPath(spec.run_id),
  };
  return asJson(document);
}

/** The result of an execution: the run's record, and those of its members that clients use most. */
export function runResult(record: JsonObject): JsonObject {
  const { id, status, artifacts, transcript, persisted_path } = record;
  return {
    id: id ?? null,
    status: status ?? null,
    run: record,
    artifacts: artifacts ?? [],
    transcript: transcript ?? null,
    path: persisted_path ?? null,
  };
}

function originOf({ origin }: WorkflowState["spec"]): RunDocument["origin"] {
  if (origin === undefined) return null;
  const { run_id, how, undone = [] } = origin;
  return { run_id, how, ...(undone.length === 0 ? {} : { undone }) };
}

function activeVisit(active: Visit, children: readonly ChildSession[]): ActiveVisit {
  const { node, visit, began, running, retry_at, attempts, wait, running_items, compensates } = active;
  return {
    node_id: node,
    visit,
    started_at: time(began),
    attempt: running?.attempt ?? attempts.length,
    ...(compensates === null ? {} : { compensates }),
    ...(children.length === 0 ? {} : { child_session_ids: children.map(({ session }) => session) }),
    ...(retry_at === null ? {} : { retry_at: time(retry_at) }),
    ...(wait === null ? {} : { waits_until: wait.until === null ? null : time(wait.until) }),
    ...(wait?.approval == null ? {} : { approval: wait.approval }),
    ...(Object.keys(running_items).length === 0 ? {} : { items: Object.keys(running_items).map(Number) }),
  };
}

/** One sentence: what the run does, or why it does not continue. */
function explain(state: WorkflowState, active: ActiveStages): string {
  const { finished, paused, visits, ready, spec, arrived, steps, stopped } = state;
  if (finished !== null) {
    if (finished.status === "completed") return "The run has completed.";
    if (finished.error !== null) return `The run ended as ${finished.status}: ${finished.error.message}`;
    if (steps >= spec.max_steps)
      return `The run paused after ${counted(steps, "step")}, its max_steps; ${ready.join(", ")} would come next.`;
    return `The run paused: ${ready.map((id) => joinWaits(state, id)).join("; ")}.`;
  }
  if (stopped !== null) {
    const undoing = visits.find(({ compensates }) => compensates !== null);
    const now = undoing === undefined ? "" : ` ${undoing.node} undoes ${undoing.compensates}.`;
    const reason = now === "" || /[.!?]$/.test(stopped.reason) ? stopped.reason : `${stopped.reason}.`;
    return `The run is being stopped: ${reason}${now}`;
  }
  if (paused) return "The run is paused: POST …/resume continues it.";
  const said = visits.map((visit) => {
    const { wait, node, retry_at } = visit;
    const asked = spec.graph.nodes[node]?.wait;
    if (wait !== null) {
      const until = wait.until === null ? "" : ` until ${time(wait.until)}`;
      if (asked?.event !== undefined) return `${node} waits for the event ${asked.event}${until}`;
      if (asked?.approval !== undefined) return `${node} waits for somebody to approve${until}`;
      return `${node} waits${until}`;
    }
    if (retry_at !== null) return `${node} is tried again at ${time(retry_at)}`;
    const awaited = (active.get(visitName(visit)) ?? []).flatMap(({ session, awaits }) =>
      awaits === null ? [] : [`${awaits} in the session ${session}`],
    );
    return awaited.length === 0 ? `${node} runs` : `${node} waits ${awaited.join(" and ")}`;
  });
  const joins = ready.filter((id) => Object.hasOwn(arrived, id)).map((id) => joinWaits(state, id));
  return `${[...said, ...joins].join("; ") || "The run begins"}.`;
}

function joinWaits({ spec, arrived }: WorkflowState, id: string): string {
  const node = spec.graph.nodes[id];
  if (node?.kind !== "join") return `${id} has not begun`;
  return `the join ${id} has ${(own(arrived, id) ?? []).length} of ${requiredInputs(spec.graph, node)} branches`;
}

type TraceMembers = Pick<
  RunDocument,
  "trace_spans" | "tool_recordings" | "trace_spans_left_out" | "tool_recordings_left_out"
>;

/** The trace: the spans of the run, of its stages, and of what they did. */
function traceMembers(state: WorkflowState): TraceMembers {
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
  const ended = [...stages, ...compensations].filter(({ id }) => id.startsWith(`${run_id}:`));
  const open = finished === null ? visits.map((visit) => openSpan(state, visit)) : [];
  const { spans, recordings } = trace.left_out;
  return {
    trace_spans: [root, ...ended.map((stage) => stageSpan(state, stage)), ...open, ...trace.spans],
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
