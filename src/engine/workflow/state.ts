/** The state of a workflow run, folded from its journal one record at a time. Pure. */
import { memo } from "../../memo.ts";
import { own } from "../../skill/json.ts";
import { afterShare, type Shared } from "../shares.ts";
import { sumUsd } from "../usd.ts";
import type { Attempt, CrashPoint, Stage, StageError, Transition, Usage } from "./answers.ts";
import type { WorkflowArtifact } from "./artifacts.ts";
import { type Graph, MAX_WAIT_MS, type Node } from "./graph.ts";
import { type HeldMock, holdMock, releaseMock, type UsedMock } from "./mock-script.ts";
import { traversed } from "./origin.ts";
import {
  COMPENSATION_MS,
  type FinalStatus,
  NO_USAGE,
  OUTCOME_UNKNOWN,
  type Outcome,
  type WorkflowRecord,
  type WorkflowSpec,
} from "./records.ts";
import { addAttempt, type TraceParts } from "./trace.ts";

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
  /** The artifacts that it got when it began. */
  inputs: WorkflowArtifact[];
  /** Id of the stage that it undoes; `null`: it is not a compensation. */
  compensates: string | null;
  /** For a map: the outcome of each item that has ended, and the items that run. */
  items: { [item: string]: ItemOutcome };
  running_items: { [item: string]: number };
  /** How many items have ended, and how many of them well. */
  ended_items: { all: number; completed: number };
  /** Of a wait node. `until` as in its record. */
  wait: { until: number | null; approval: { question: string } | null; answer: Answer | null } | null;
}

/**
 * The part of an item's outcome that a map needs. The journal has the whole outcome; those of many items together would
 * be too large for the memory.
 */
export type ItemOutcome = Pick<Outcome, "status" | "text" | "artifacts" | "usage">;

interface Answer {
  granted: boolean;
  by: string;
  reason: string | null;
}

/** An event that nobody has taken yet. */
export type EarlyEvent = Omit<Extract<WorkflowRecord, { type: "event" }>, "type">;

export interface WorkflowState extends Shared {
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
  /** What its attempts did. */
  trace: TraceParts;
  /** What its own attempts took, and items of maps. */
  used: Usage;
  /** Compensations that have ended; their `metadata.compensates` names what they undo. */
  compensations: Stage[];
  events: EarlyEvent[];
  /** The mocks of its options that ended attempts used up. Absent: none. */
  mocks_used?: UsedMock[];
  /** What the attempts that run hold of the mocks of its options. Absent: nothing. */
  mocks_held?: HeldMock[];
  /** How far its time is ahead of the clock, in ms. */
  ahead: number;
  /** Crash points at which its process has died. */
  crashed: CrashPoint[];
  paused: boolean;
  /** The journal has records that cannot be read, or that only a later version of Hull knows. Absent: it has none. */
  unreadable?: true;
  stopped: { kill: boolean; reason: string; at: number; lost: boolean } | null;
  finished: { status: FinalStatus; error: StageError | null; at: number } | null;
}

/**
 * The state after a record. Collections that only grow (stages, transitions, artifacts, counts, a map's items, the
 * trace) grow in place, since a run may have many thousands of entries. Do not read them from an earlier state.
 * @throws nothing: a record that does not fit the state is a fault of the driver, and changes nothing
 */
export function applyRecord(state: WorkflowState | null, record: WorkflowRecord): WorkflowState | null {
  return advanced(state === null ? null : { ...state }, record);
}

/**
 * Like `applyRecord`, but changes the given state itself, for callers that no longer need the state before the record.
 */
export function advanced(state: WorkflowState | null, record: WorkflowRecord): WorkflowState | null {
  if (record.type === "begun") return begun(record.spec, record.at);
  if (state !== null) advance(state, record);
  return state;
}

/** Replaces lists and visits instead of changing them, except for those that grow in place. */
function advance(state: WorkflowState, record: Exclude<WorkflowRecord, { type: "begun" }>): void {
  switch (record.type) {
    case "started":
      start(state, record);
      break;
    case "ended":
      end(state, record);
      break;
    case "waits": {
      const visit = visitOf(state, record);
      const wait = { until: record.until, approval: record.approval ?? null, answer: null };
      if (visit !== undefined) replace(state, visit, { ...visit, wait });
      break;
    }
    case "event": {
      const { id, name, key, payload, at } = record;
      state.events = [...state.events, { id, name, key, payload, at }];
      break;
    }
    case "answered": {
      const { granted, by, reason } = record;
      const visit = visitOf(state, record);
      if (visit === undefined || visit.wait === null) break;
      replace(state, visit, { ...visit, wait: { ...visit.wait, answer: { granted, by, reason } } });
      break;
    }
    case "skipped":
      state.ahead += record.by;
      break;
    case "crashed":
      state.crashed = [...state.crashed, record.point];
      break;
    case "share_taken":
    case "share_returned":
      Object.assign(state, afterShare(state, record));
      break;
    case "paused":
      state.paused = state.stopped === null;
      break;
    case "resumed":
      state.paused = false;
      break;
    case "migrated":
      migrate(state, record);
      break;
    case "stopped": {
      const { kill, reason, lost = false } = record;
      state.paused = false;
      // A stopped run that is killed later keeps the time at which it was stopped.
      state.stopped = { kill, reason, at: state.stopped?.at ?? record.at, lost };
      break;
    }
    case "finished":
      state.finished = { status: record.status, error: record.error, at: record.at };
      break;
    default:
      // After a rollback, storage may hold records of a later version of Hull.
      state.unreadable = true;
  }
}

/** The state of a run whose journal has lost its beginning: what the run was asked for is unknown, so it cannot continue. */
export function lostBeginning(run_id: string, at: number): WorkflowState {
  const graph: Graph = {
    _type: "workflow_graph",
    id: "",
    name: "workflow",
    version: 1,
    entry: "",
    nodes: {},
    edges: [],
    metadata: {},
    audit_log: [],
  };
  const spec: WorkflowSpec = {
    run_id,
    workflow: null,
    graph,
    task: "",
    max_steps: 0,
    options: {},
    policy: null,
    artifacts: [],
    deadline: null,
    parent_run_id: null,
    root_run_id: run_id,
    metadata: {},
  };
  return { ...begun(spec, at), ready: [], unreadable: true };
}

function begun(spec: WorkflowSpec, at: number): WorkflowState {
  const { graph, origin, artifacts } = spec;
  const stages = origin?.stages ?? [];
  const completed = [...new Set(stages.map(({ node_id }) => node_id))];
  const counts: { [node: string]: number } = {};
  for (const { node_id } of stages) counts[node_id] = (own(counts, node_id) ?? 0) + 1;
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
    traversals: { ...origin?.traversals },
    artifacts: [...artifacts, ...stages.flatMap((stage) => stage.artifacts)],
    stages: [...stages],
    transitions: [...(origin?.transitions ?? [])],
    trace: { spans: [], recordings: [], left_out: { spans: 0, recordings: 0 } },
    used: { ...NO_USAGE, models: [] },
    compensations: [],
    events: [],
    ahead: 0,
    crashed: [],
    paused: false,
    stopped: null,
    finished: null,
  };
}

function migrate(
  state: WorkflowState,
  { graph, workflow, skills }: Extract<WorkflowRecord, { type: "migrated" }>,
): void {
  const { skills: _, ...spec } = state.spec;
  state.spec = { ...spec, graph, workflow, ...(skills === undefined ? {} : { skills }) };
  state.traversals = traversed(graph, state.transitions);
  state.arrived = arrivals(graph, state.transitions);
}

function arrivals({ nodes }: Graph, transitions: readonly Transition[]): { [join: string]: string[] } {
  const arrived: { [join: string]: string[] } = {};
  for (const { from, to } of transitions)
    if (nodes[to]?.kind === "join") arrived[to] = [...new Set([...(own(arrived, to) ?? []), from])];
  return arrived;
}

export const visitOf = (
  state: WorkflowState,
  { node, visit }: { node: string; visit: number },
): Visit | undefined => state.visits.find((one) => one.node === node && one.visit === visit);

function replace(state: WorkflowState, visit: Visit, by: Visit): void {
  state.visits = state.visits.with(state.visits.indexOf(visit), by);
}

function start(state: WorkflowState, key: Extract<WorkflowRecord, { type: "started" }>): void {
  const { node, visit, attempt, item, at, input_digest, consumed, compensates = null } = key;
  const open = visitOf(state, key);
  holdMock(state, key);
  if (item !== undefined) {
    if (open !== undefined) open.running_items[item] = at;
    return;
  }
  const running = { attempt, began: at };
  const inputs = artifactsIn(state, consumed);
  if (open !== undefined) {
    // In a new attempt, a map processes all of its items again.
    const again = { running, retry_at: null, input_digest, consumed, inputs, ...noItems() };
    replace(state, open, { ...open, ...again });
    return;
  }
  const fresh: Visit = {
    node,
    visit,
    began: at,
    attempts: [],
    running,
    retry_at: null,
    input_digest,
    consumed,
    inputs,
    compensates,
    ...noItems(),
    wait: null,
  };
  state.counts[node] = visit;
  state.visits = [...state.visits, fresh];
  if (compensates !== null) return;
  state.steps += 1;
  state.ready = without(state.ready, node);
  if (state.spec.graph.nodes[node]?.kind === "join") state.joined = [...state.joined, node];
}

function artifactsIn({ artifacts }: WorkflowState, ids: readonly string[]): WorkflowArtifact[] {
  if (ids.length === 0) return [];
  const known = new Map(artifacts.map((artifact) => [artifact.id, artifact]));
  return ids.flatMap((id) => known.get(id) ?? []);
}

const noItems = () => ({ items: {}, running_items: {}, ended_items: { all: 0, completed: 0 } });

function without<T>(list: readonly T[], item: T): T[] {
  const at = list.indexOf(item);
  return at === -1 ? [...list] : list.toSpliced(at, 1);
}

function end(state: WorkflowState, ended: Extract<WorkflowRecord, { type: "ended" }>): void {
  const { outcome, at, last = false, ...key } = ended;
  const visit = visitOf(state, key);
  const node = state.spec.graph.nodes[key.node];
  if (visit === undefined || node === undefined) return;
  releaseMock(state, key, outcome.mocks_used);
  if (key.item !== undefined) {
    addAttempt(state, key, outcome, { from: visit.running_items[key.item] ?? at, until: at });
    delete visit.running_items[key.item];
    visit.items[key.item] = itemOutcome(outcome);
    visit.ended_items.all += 1;
    if (outcome.status === "completed") visit.ended_items.completed += 1;
    addUsage(state.used, outcome.usage);
    return;
  }
  // What the items of a map took is counted.
  if (visit.ended_items.all === 0) addUsage(state.used, outcome.usage);
  const began = visit.running?.began ?? at;
  addAttempt(state, key, outcome, { from: began, until: at });
  const finished_at = time(at);
  const attempt: Attempt = {
    attempt: key.attempt,
    status: outcome.status,
    outcome: outcome.outcome,
    branch: outcome.branch,
    error: outcome.error,
    started_at: began === at ? finished_at : time(began),
    finished_at,
    child_run_id: outcome.child_run_id,
    child_session_id: outcome.child_session_id,
    usage: outcome.usage,
  };
  const attempts = [...visit.attempts, attempt];
  const again = last ? null : retryAt(node, visit, outcome, attempts.length, at);
  if (again !== null && again < (visit.compensates === null ? startUntil(state) : undoUntil(state))) {
    replace(state, visit, { ...visit, attempts, running: null, retry_at: again });
    return;
  }
  state.visits = without(state.visits, visit);
  const stage = stageOf(state, node, visit, attempts, outcome);
  if (visit.compensates !== null) state.compensations.push(stage);
  else settle(state, node, stage, outcome);
}

/** The text is mostly that of the artifact: where it is, both are one string. */
function itemOutcome({ status, text, artifacts, usage }: Outcome): ItemOutcome {
  const same = artifacts.find((artifact) => artifact.text === text);
  return { status, text: same?.text ?? text, artifacts, usage };
}

/** Until when attempts may begin, Unix ms. */
const startUntil = ({ stopped }: WorkflowState): number => (stopped === null ? Number.POSITIVE_INFINITY : 0);

/** Until when a run may compensate, Unix ms; 0: it may not. */
export const undoUntil = ({ stopped, spec }: WorkflowState): number =>
  stopped === null || stopped.kill ? 0 : stopped.at + (spec.compensation_ms ?? COMPENSATION_MS);

/** When a failed attempt is repeated, Unix ms; `null`: never. */
function retryAt(node: Node, visit: Visit, outcome: Outcome, made: number, at: number): number | null {
  const { max_attempts = 1, backoff_ms = 0, backoff_multiplier = 2, retry_on } = node.retry_policy ?? {};
  if (outcome.branch !== "failed" && outcome.branch !== "error") return null;
  if (made >= max_attempts) return null;
  const { code = "", category = "" } = outcome.error ?? {};
  const said = [outcome.branch, outcome.outcome, code, category];
  // Repeating it could make it take effect twice.
  if (code === OUTCOME_UNKNOWN && retry_on?.includes(code) !== true) return null;
  if (retry_on !== undefined && !retry_on.some((word) => said.includes(word))) return null;
  const next = at + Math.ceil(Math.min(backoff_ms * backoff_multiplier ** (made - 1), MAX_WAIT_MS));
  return node.total_timeout_ms !== undefined && next >= visit.began + node.total_timeout_ms ? null : next;
}

function stageOf(
  { spec, mocks_used = [] }: WorkflowState,
  node: Node,
  { visit, began, consumed, input_digest, compensates }: Visit,
  attempts: Attempt[],
  outcome: Outcome,
): Stage {
  const [first, second] = attempts;
  const id = `${spec.run_id}:${node.id}:${visit}`;
  const mocks = mocks_used.filter(({ stage }) => stage === id).map(({ place }) => place);
  return {
    id,
    node_id: node.id,
    kind: node.kind,
    status: outcome.status,
    outcome: outcome.outcome,
    branch: outcome.branch,
    started_at: first !== undefined && second === undefined ? first.started_at : time(began),
    finished_at: attempts.at(-1)?.finished_at ?? time(began),
    visible_text: outcome.text,
    private_reasoning: outcome.reasoning,
    transcript: outcome.transcript,
    verification: outcome.verification,
    usage: totalOutcomes(attempts),
    artifacts: outcome.artifacts,
    consumed_artifact_ids: consumed,
    produced_artifact_ids: outcome.artifacts.map(({ id }) => id),
    attempts,
    error: outcome.error,
    input_digest,
    metadata: {
      ...outcome.metadata,
      ...(mocks.length === 0 ? {} : { mocks_used: mocks }),
      ...(compensates === null ? {} : { compensates }),
    },
  };
}

function settle(state: WorkflowState, node: Node, stage: Stage, outcome: Outcome): void {
  if (!state.completed.includes(node.id)) state.completed = [...state.completed, node.id];
  for (const artifact of outcome.artifacts) state.artifacts.push(artifact);
  state.stages.push(stage);
  // No other node takes the event that a wait node took.
  if (node.kind === "wait") state.events = state.events.filter(({ id }) => id !== outcome.metadata.event_id);
  const { stopped } = state;
  // A later run can continue a run that Hull gave up on: it begins with the stages that this run did not finish.
  if (stopped?.lost && outcome.status === "failed") state.ready = [node.id, ...without(state.ready, node.id)];
  else if (stopped === null || stopped.lost) follow(state, node, outcome.branch, stage.finished_at);
}

/** Takes the outgoing edges: those of the branch, or, if none names it, those without a branch. */
function follow(state: WorkflowState, { id }: Node, branch: string, at: string): void {
  const { edges, nodes } = state.spec.graph;
  const named = edges.some((edge) => edge.from === id && edge.branch === branch);
  const wanted = named ? branch : undefined;
  edges.forEach((edge, place) => {
    if (edge.from !== id || edge.branch !== wanted) return;
    const { to, max_traversals = Number.POSITIVE_INFINITY } = edge;
    const before = state.traversals[place] ?? 0;
    if (before >= max_traversals) return;
    state.traversals[place] = before + 1;
    state.transitions.push({ from: id, to, branch: edge.branch ?? null, at });
    if (nodes[to]?.kind === "join") {
      if (state.joined.includes(to)) return;
      const arrived = own(state.arrived, to) ?? [];
      if (!arrived.includes(id)) state.arrived = { ...state.arrived, [to]: [...arrived, id] };
    }
    if (!state.ready.includes(to)) state.ready = [...state.ready, to];
  });
}

/** The nodes from which an edge leads to a node, by that node. */
const sourcesOf = memo(({ edges }: Graph): ReadonlyMap<string, ReadonlySet<string>> => {
  const sources = new Map<string, Set<string>>();
  for (const { from, to } of edges) sources.set(to, (sources.get(to) ?? new Set()).add(from));
  return sources;
});

/** How many of its incoming nodes a join waits for. */
export function requiredInputs(graph: Graph, node: Node): number {
  const { strategy = "all", require_all_inputs, min_completed } = node.join_policy ?? {};
  const incoming = sourcesOf(graph).get(node.id)?.size ?? 0;
  if (min_completed !== undefined && strategy !== "first") return Math.min(min_completed, incoming);
  if (require_all_inputs === true) return incoming;
  return strategy === "all" ? incoming : 1;
}

/** The sum of these usages. */
export function totalOutcomes(list: readonly { usage: Usage }[]): Usage {
  const sum: Usage = { ...NO_USAGE, models: [] };
  for (const { usage } of list) addUsage(sum, usage);
  return sum;
}

function addUsage(sum: Usage, usage: Usage): void {
  sum.input_tokens += usage.input_tokens;
  sum.output_tokens += usage.output_tokens;
  sum.total_duration_ms += usage.total_duration_ms;
  sum.call_count += usage.call_count;
  sum.total_cost = sumUsd(sum.total_cost, usage.total_cost);
  if (usage.price_known === false) sum.price_known = false;
  for (const model of usage.models) if (!sum.models.includes(model)) sum.models.push(model);
}

/** RFC 3339. */
export const time = (at: number): string => new Date(at).toISOString();
