/** The state of a workflow run, folded from its journal one record at a time. Pure. */
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { WorkflowArtifact } from "./artifacts.ts";
import type { Edge, Graph, Node } from "./graph.ts";
import { traversed } from "./origin.ts";
import {
  type Attempt,
  type AttemptKey,
  COMPENSATION_MS,
  type FinalStatus,
  NO_USAGE,
  type Outcome,
  type Stage,
  type StageError,
  type Transition,
  type Usage,
  type WorkflowRecord,
  type WorkflowSpec,
} from "./records.ts";

/** A visit of a node that has begun and not ended. */
export interface Visit {
  node: string;
  visit: number;
  began: number;
  attempts: Attempt[];
  /** The attempt that runs; `null`: it waits for the next one, or for what its node waits for. */
  running: { attempt: number; began: number } | null;
  /** When the next attempt may begin, Unix ms. */
  retry_at: number | null;
  input_digest: string;
  consumed: string[];
  /** Id of the stage that it undoes; `null`: it is no compensation. */
  compensates: string | null;
  /** Of a map: the outcome of each item's attempt, and the items that run. */
  items: { [item: string]: Outcome };
  running_items: { [item: string]: number };
  /** Of a wait node. `until` as in its record. */
  wait: { until: number | null; approval: JsonObject | null; answer: Answer | null } | null;
}

interface Answer {
  granted: boolean;
  by: string;
  reason: string | null;
}

/** An event that nobody has taken yet. */
export interface EarlyEvent {
  id: string;
  name: string;
  key: string | null;
  payload: Json;
  at: number;
}

export interface WorkflowState {
  spec: WorkflowSpec;
  began: number;
  steps: number;
  /** Nodes to visit next, in their order. */
  ready: string[];
  visits: Visit[];
  /** How often each node was visited. */
  counts: { [node: string]: number };
  completed: string[];
  /** Joins that ran: later arrivals change nothing. */
  joined: string[];
  /** Nodes that led into each join, by the join. */
  arrived: { [join: string]: string[] };
  traversals: { [edge: string]: number };
  artifacts: WorkflowArtifact[];
  stages: Stage[];
  transitions: Transition[];
  /** Compensations that have ended; their `metadata.compensates` names what they undo. */
  compensations: Stage[];
  events: EarlyEvent[];
  /** How far its time is ahead of the clock, in ms. */
  ahead: number;
  paused: boolean;
  stopped: { kill: boolean; reason: string; at: number } | null;
  finished: { status: FinalStatus; error: StageError | null; at: number } | null;
}

/**
 * The state after a record. What only ever grows (stages, transitions, artifacts, a map's items) grows in place, since a run may
 * have many thousands of them: do not read these in an earlier state.
 * @throws nothing: a record that does not fit the state is a fault of the driver, and changes nothing
 */
export function applyRecord(state: WorkflowState | null, record: WorkflowRecord): WorkflowState | null {
  if (record.type === "begun") return begun(record.spec, record.at);
  if (state === null) return null;
  switch (record.type) {
    case "started":
      return started(state, record);
    case "ended":
      return ended(state, record, record.outcome, record.at);
    case "waits":
      return withVisit(state, record, (visit) => ({
        ...visit,
        wait: { until: record.until, approval: record.approval ?? null, answer: null },
      }));
    case "event": {
      const { id, name, key, payload, at } = record;
      return { ...state, events: [...state.events, { id, name, key, payload, at }] };
    }
    case "answered": {
      const { granted, by, reason } = record;
      return withVisit(state, record, (visit) =>
        visit.wait === null ? visit : { ...visit, wait: { ...visit.wait, answer: { granted, by, reason } } },
      );
    }
    case "skipped":
      return { ...state, ahead: state.ahead + record.by };
    case "paused":
      return { ...state, paused: state.stopped === null };
    case "resumed":
      return { ...state, paused: false };
    case "migrated":
      return migrated(state, record);
    case "stopped":
      // A run that is stopped and then killed was stopped when it was.
      return {
        ...state,
        paused: false,
        stopped: { kill: record.kill, reason: record.reason, at: state.stopped?.at ?? record.at },
      };
    case "finished":
      return { ...state, finished: { status: record.status, error: record.error, at: record.at } };
  }
}

function begun(spec: WorkflowSpec, at: number): WorkflowState {
  const { graph, origin, artifacts } = spec;
  const stages = origin?.stages ?? [];
  const completed = [...new Set(stages.map(({ node_id }) => node_id))];
  const counts: { [node: string]: number } = {};
  for (const { node_id } of stages) counts[node_id] = (counts[node_id] ?? 0) + 1;
  return {
    spec,
    began: at,
    steps: 0,
    ready: origin?.pending ?? [graph.entry],
    visits: [],
    counts,
    completed,
    joined: completed.filter((id) => graph.nodes[id]?.kind === "join"),
    arrived: arrivals(graph, origin?.transitions ?? []),
    traversals: origin?.traversals ?? {},
    artifacts: [...artifacts, ...stages.flatMap((stage) => stage.artifacts)],
    stages: [...stages],
    transitions: [...(origin?.transitions ?? [])],
    compensations: [],
    events: [],
    ahead: 0,
    paused: false,
    stopped: null,
    finished: null,
  };
}

function migrated(
  state: WorkflowState,
  { graph, workflow, skills }: Extract<WorkflowRecord, { type: "migrated" }>,
): WorkflowState {
  const { skills: _, ...spec } = state.spec;
  return {
    ...state,
    spec: { ...spec, graph, workflow, ...(skills === undefined ? {} : { skills }) },
    traversals: traversed(graph, state.transitions),
    arrived: arrivals(graph, state.transitions),
  };
}

function arrivals({ nodes }: Graph, transitions: readonly Transition[]): { [join: string]: string[] } {
  const arrived: { [join: string]: string[] } = {};
  for (const { from, to } of transitions)
    if (nodes[to]?.kind === "join") arrived[to] = [...new Set([...(arrived[to] ?? []), from])];
  return arrived;
}

export const visitOf = (
  state: WorkflowState,
  { node, visit }: { node: string; visit: number },
): Visit | undefined => state.visits.find((one) => one.node === node && one.visit === visit);

function withVisit(
  state: WorkflowState,
  key: { node: string; visit: number },
  change: (visit: Visit) => Visit,
): WorkflowState {
  return {
    ...state,
    visits: state.visits.map((one) => (one.node === key.node && one.visit === key.visit ? change(one) : one)),
  };
}

function started(state: WorkflowState, key: Extract<WorkflowRecord, { type: "started" }>): WorkflowState {
  const { node, visit, attempt, item, at, input_digest, consumed, compensates = null } = key;
  if (item !== undefined) {
    return withVisit(state, key, (one) => ({
      ...one,
      running_items: { ...one.running_items, [item]: at },
    }));
  }
  const running = { attempt, began: at };
  if (visitOf(state, key) !== undefined)
    return withVisit(state, key, (one) => ({ ...one, running, retry_at: null, input_digest, consumed }));
  const fresh: Visit = {
    node,
    visit,
    began: at,
    attempts: [],
    running,
    retry_at: null,
    input_digest,
    consumed,
    compensates,
    items: {},
    running_items: {},
    wait: null,
  };
  const counts = { ...state.counts, [node]: visit };
  if (compensates !== null) return { ...state, counts, visits: [...state.visits, fresh] };
  return {
    ...state,
    steps: state.steps + 1,
    ready: without(state.ready, node),
    counts,
    visits: [...state.visits, fresh],
    joined: state.spec.graph.nodes[node]?.kind === "join" ? [...state.joined, node] : state.joined,
  };
}

function grown<T>(list: T[], more: readonly T[]): T[] {
  for (const one of more) list.push(one);
  return list;
}

function without(list: readonly string[], item: string): string[] {
  const at = list.indexOf(item);
  return at === -1 ? [...list] : list.toSpliced(at, 1);
}

function ended(state: WorkflowState, key: AttemptKey, outcome: Outcome, at: number): WorkflowState {
  const visit = visitOf(state, key);
  const node = state.spec.graph.nodes[key.node];
  if (visit === undefined || node === undefined) return state;
  if (key.item !== undefined) {
    const { [String(key.item)]: _, ...running_items } = visit.running_items;
    visit.items[String(key.item)] = outcome;
    return withVisit(state, key, (one) => ({ ...one, running_items }));
  }
  const finished_at = time(at);
  const attempt: Attempt = {
    attempt: key.attempt,
    status: outcome.status,
    outcome: outcome.outcome,
    branch: outcome.branch,
    error: outcome.error,
    started_at: time(visit.running?.began ?? at),
    finished_at,
    child_run_id: outcome.child_run_id,
    usage: outcome.usage,
  };
  const attempts = [...visit.attempts, attempt];
  const again = retryAt(node, visit, outcome, attempts.length, at);
  if (again !== null && again < (visit.compensates === null ? startUntil(state) : undoUntil(state)))
    return withVisit(state, key, (one) => ({ ...one, attempts, running: null, retry_at: again }));
  return settled(state, node, { ...visit, attempts }, outcome, finished_at);
}

/** Until when attempts may begin, Unix ms. */
const startUntil = ({ stopped }: WorkflowState): number => (stopped === null ? Number.POSITIVE_INFINITY : 0);

/** Until when a run may undo what it did, Unix ms; 0: it may not. */
export const undoUntil = ({ stopped, spec }: WorkflowState): number =>
  stopped === null || stopped.kill ? 0 : stopped.at + (spec.compensation_ms ?? COMPENSATION_MS);

/** When a failed attempt is repeated, Unix ms; `null`: never. */
function retryAt(node: Node, visit: Visit, outcome: Outcome, made: number, at: number): number | null {
  const { max_attempts = 1, backoff_ms = 0, backoff_multiplier = 2, retry_on } = node.retry_policy ?? {};
  if (outcome.branch !== "failed" && outcome.branch !== "error") return null;
  if (made >= max_attempts) return null;
  const said = [outcome.branch, outcome.outcome, outcome.error?.code ?? ""];
  if (retry_on !== undefined && !retry_on.some((word) => said.includes(word))) return null;
  const next = at + backoff_ms * backoff_multiplier ** (made - 1);
  return node.total_timeout_ms !== undefined && next >= visit.began + node.total_timeout_ms ? null : next;
}

function settled(
  state: WorkflowState,
  node: Node,
  visit: Visit,
  outcome: Outcome,
  finished_at: string,
): WorkflowState {
  const { spec } = state;
  const first = visit.attempts[0];
  const began = visit.attempts.length === 1 && first !== undefined ? first.started_at : time(visit.began);
  const stage: Stage = {
    id: `${spec.run_id}:${node.id}:${visit.visit}`,
    node_id: node.id,
    kind: node.kind,
    status: outcome.status,
    outcome: outcome.outcome,
    branch: outcome.branch,
    started_at: began,
    finished_at,
    visible_text: outcome.text,
    private_reasoning: outcome.reasoning,
    transcript: outcome.transcript,
    verification: outcome.verification,
    usage: totalOutcomes(visit.attempts),
    artifacts: outcome.artifacts,
    consumed_artifact_ids: visit.consumed,
    produced_artifact_ids: outcome.artifacts.map(({ id }) => id),
    attempts: visit.attempts,
    error: outcome.error,
    input_digest: visit.input_digest,
    metadata: {
      ...outcome.metadata,
      ...(visit.compensates === null ? {} : { compensates: visit.compensates }),
    },
  };
  const visits = state.visits.filter((one) => one.node !== visit.node || one.visit !== visit.visit);
  if (visit.compensates !== null)
    return { ...state, visits, compensations: grown(state.compensations, [stage]) };
  const next: WorkflowState = {
    ...state,
    visits,
    completed: state.completed.includes(node.id) ? state.completed : [...state.completed, node.id],
    artifacts: grown(state.artifacts, outcome.artifacts),
    stages: grown(state.stages, [stage]),
    events: node.kind === "wait" ? withoutTaken(state.events, outcome) : state.events,
  };
  return state.stopped === null ? followed(next, node, outcome.branch, finished_at) : next;
}

/** The event that a wait node took is not there for another one. */
function withoutTaken(events: readonly EarlyEvent[], { metadata }: Outcome): EarlyEvent[] {
  return events.filter(({ id }) => id !== metadata.event_id);
}

/** Takes the edges that lead on: those of the branch; without one, those that name none. */
function followed(state: WorkflowState, node: Node, branch: string, at: string): WorkflowState {
  const outgoing: [Edge, number][] = [];
  for (const [place, edge] of state.spec.graph.edges.entries())
    if (edge.from === node.id) outgoing.push([edge, place]);
  const named = outgoing.filter(([edge]) => edge.branch === branch);
  const taken = (named.length > 0 ? named : outgoing.filter(([edge]) => edge.branch === undefined)).filter(
    ([edge, place]) => (state.traversals[place] ?? 0) < (edge.max_traversals ?? Number.POSITIVE_INFINITY),
  );
  const ready = [...state.ready];
  const arrived = { ...state.arrived };
  for (const [{ to }] of taken) {
    if (state.spec.graph.nodes[to]?.kind === "join") {
      if (state.joined.includes(to)) continue;
      arrived[to] = [...new Set([...(arrived[to] ?? []), node.id])];
    }
    if (!ready.includes(to)) ready.push(to);
  }
  const traversals = { ...state.traversals };
  for (const [, place] of taken) traversals[place] = (traversals[place] ?? 0) + 1;
  return {
    ...state,
    ready,
    arrived,
    traversals,
    transitions: grown(
      state.transitions,
      taken.map(([edge]) => ({ from: node.id, to: edge.to, branch: edge.branch ?? null, at })),
    ),
  };
}

/** How many of its incoming nodes a join waits for. */
export function requiredInputs(graph: Graph, node: Node): number {
  const { strategy = "all", require_all_inputs, min_completed } = node.join_policy ?? {};
  const incoming = new Set(graph.edges.filter(({ to }) => to === node.id).map(({ from }) => from)).size;
  if (min_completed !== undefined && strategy !== "first") return Math.min(min_completed, incoming);
  if (require_all_inputs === true) return incoming;
  return strategy === "all" ? incoming : 1;
}

/** The usage of all of these together. */
export function totalOutcomes(list: readonly { usage: Usage }[]): Usage {
  return list.reduce(
    (sum, { usage }) => ({
      input_tokens: sum.input_tokens + usage.input_tokens,
      output_tokens: sum.output_tokens + usage.output_tokens,
      total_duration_ms: sum.total_duration_ms + usage.total_duration_ms,
      call_count: sum.call_count + usage.call_count,
      total_cost: sum.total_cost + usage.total_cost,
      models: [...new Set([...sum.models, ...usage.models])],
    }),
    NO_USAGE,
  );
}

/** RFC 3339. */
export const time = (at: number): string => new Date(at).toISOString();
