/** Decides the next steps of a workflow run from its journal's state and the time. Pure. */

import { memo } from "../../memo.ts";
import { counted } from "../../plural.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import { own } from "../../skill/json.ts";
import { least } from "../least.ts";
import { sha256 } from "../sha256.ts";
import type { AttemptKey, Stage, StageError } from "./answers.ts";
import { sizeOf, type WorkflowArtifact } from "./artifacts.ts";
import { uncompensated, undoes } from "./compensation.ts";
import type { Node } from "./graph.ts";
import { callsModel } from "./mock-script.ts";
import { failed, type IdSource, instantOutcome, mapOutcome, waitOutcome, waitsUntil } from "./outcomes.ts";
import type { Outcome, WorkflowRecord } from "./records.ts";
import { recordedPlace, replayed, suffix } from "./replay.ts";
import { selectArtifacts } from "./select-artifacts.ts";
import { requiredInputs, time, undoUntil, type Visit, visitOf, type WorkflowState } from "./state.ts";

/** Most branches that run at once if the run's options set no limit, and most items of a map. */
const MAX_CONCURRENT = 8;

interface Decision {
  /** Must be stored, in this order, before anything else is done. */
  records: WorkflowRecord[];
  /** When the next decision is due by time alone, Unix ms; `null`: never. */
  wake: number | null;
}

/** Most bytes of artifacts that a run holds after a node that passes them on. */
const MAX_PASSED_ON_BYTES = 32 * 1024 * 1024;

/** Kinds of nodes that end without an effect, as soon as they begin. */
const INSTANT: ReadonlySet<string> = new Set(["condition", "fork", "join", "reduce", "escalation"]);

/** @param now Unix ms */
export function decide(state: WorkflowState, now: number, newId: IdSource): Decision {
  if (state.finished !== null) return { records: [], wake: null };
  const mismatch =
    state.spec.origin?.how === "replay" &&
    state.stages.find(({ error }) => error?.code === "replay_mismatch");
  if (mismatch)
    return { records: [{ type: "finished", at: now, status: "failed", error: mismatch.error }], wake: null };
  const stop = stopping(state, now, newId);
  if (stop !== null) return stop;
  const records: WorkflowRecord[] = [
    ...takenOnce(state.visits.flatMap((visit) => continued(state, visit, now, newId))),
    ...(state.paused ? [] : startable(state).flatMap((id) => begin(state, id, now, newId))),
  ];
  if (records.length > 0) return { records, wake: null };
  if (state.visits.length === 0 && !state.paused) return { records: [ending(state, now)], wake: null };
  return { records: [], wake: wakeOf(state) };
}

/**
 * Without the ends of waits for an event that an earlier one of these takes: those nodes wait for the next event. So
 * whether an event came before or after the nodes began to wait makes no difference.
 */
function takenOnce(records: readonly WorkflowRecord[]): WorkflowRecord[] {
  const taken = new Set<unknown>();
  return records.filter((record) => {
    const event = record.type === "ended" ? record.outcome.metadata.event_id : undefined;
    if (event === undefined) return true;
    const first = !taken.has(event);
    taken.add(event);
    return first;
  });
}

/** Attempts that have begun and not ended, which a new process takes up again. A replayed run makes none. */
export function openAttempts(state: WorkflowState): AttemptKey[] {
  if (state.finished !== null || state.spec.origin?.recorded !== undefined) return [];
  return state.visits.flatMap((visit): AttemptKey[] => {
    const node = state.spec.graph.nodes[visit.node];
    if (node === undefined || visit.running === null || node.kind === "wait") return [];
    const key = { node: visit.node, visit: visit.visit, attempt: visit.running.attempt };
    if (node.kind !== "map") return [key];
    return Object.keys(visit.running_items).map((item) => ({ ...key, item: Number(item) }));
  });
}

/**
 * How many attempts share what is left of the run's budgets: those under way, and those that only wait for room. Nodes
 * that call no model need no share.
 */
export function sharersOf(state: WorkflowState): number {
  const { spec, visits, ready, stopped } = state;
  const spending = (id: string): Node | null => {
    const node = spec.graph.nodes[id];
    return node !== undefined && (node.kind === "map" || callsModel(node)) ? node : null;
  };
  const waiting = stopped === null ? ready.filter((id) => visits.every(({ node }) => node !== id)) : [];
  return visits.reduce(
    (sum, visit) => {
      const node = visit.running === null ? null : spending(visit.node);
      return node === null ? sum : sum + (node.kind === "map" ? openItems(node, visit) : 1);
    },
    waiting.filter((id) => spending(id) !== null).length,
  );
}

/** The items of a map that run, or that it still needs. */
function openItems(node: Node, visit: Visit): number {
  const needed = wantedItems(node, itemCount(node, visit)) - visit.ended_items.all;
  return Math.max(Object.keys(visit.running_items).length, needed);
}

/**
 * A stopped run waits for its attempts to end, compensates its stages, then ends. Also stops a run that is past its
 * deadline, or whose journal is unreadable.
 */
function stopping(state: WorkflowState, now: number, newId: IdSource): Decision | null {
  const { stopped, spec } = state;
  if (state.unreadable === true && stopped?.kill !== true)
    return { records: [unreadable(state, now)], wake: null };
  if (stopped === null) {
    if (spec.deadline === null || now < spec.deadline) return null;
    const reason = `The run's time ended at ${time(spec.deadline)}.`;
    return { records: [{ type: "stopped", at: now, kill: false, reason }], wake: null };
  }
  const undoing = state.visits.find((visit) => undoes(state, visit));
  const open = openAttempts(state).filter(
    ({ node, visit }) => node !== undoing?.node || visit !== undoing.visit,
  );
  if (open.length > 0) return { records: [], wake: null };
  const until = undoUntil(state);
  if (undoing !== undefined) {
    const records = now < until ? continued(state, undoing, now, newId) : [outOfTime(undoing, now)];
    return { records, wake: records.length > 0 ? null : least(until, timeOf(state, undoing)) };
  }
  const [next] = now < until ? uncompensated(state) : [];
  if (next !== undefined) return { records: compensate(state, next, now), wake: null };
  const late = spec.deadline !== null && stopped.at >= spec.deadline;
  const code = stopped.lost ? "run_lost" : late ? "deadline_exceeded" : "cancelled";
  const status = code === "cancelled" ? "cancelled" : "failed";
  const error: StageError = { code, message: stopped.reason };
  return { records: [{ type: "finished", at: now, status, error }], wake: null };
}

/**
 * Gives up an attempt that broke off too often, and the run with it. The run is not compensated, since its stages would
 * break off like this one; a later run can continue it. A run that is being stopped only loses the attempt.
 */
export function givenUp({ spec, stopped }: WorkflowState, key: AttemptKey, at: number): WorkflowRecord[] {
  const reason = `Its stage "${key.node}" broke off repeatedly without progress, so Hull gave up on it; whether it took effect is unknown. The log says why it broke off (attempt_broke_off). A run with the option resume_run: "${spec.run_id}" continues from there.`;
  const ended: WorkflowRecord = { type: "ended", at, ...key, outcome: failed("error", "run_lost", reason) };
  return stopped === null ? [{ type: "stopped", at, kill: true, reason, lost: true }, ended] : [ended];
}

/** Gives up a run of which Hull cannot know how far it got. It is not compensated, since that could be wrong too. */
function unreadable({ spec }: WorkflowState, at: number): WorkflowRecord {
  const reason = `Its journal has a record that this version of Hull cannot read; a later version may have written it. So what it did is not known in full: look at its stages before a run with the option resume_run: "${spec.run_id}" continues from there.`;
  return { type: "stopped", at, kill: true, reason, lost: true };
}

/**
 * Gives up a run in whose next step the engine itself failed, as a mistake in Hull. It is not compensated, since that
 * could fail in the same way. If it fails again, the run ends without waiting for its attempts.
 * @param cause the exception
 */
export function broken({ stopped, spec }: WorkflowState, cause: string, at: number): WorkflowRecord {
  const reason = `Hull failed at its next step: ${cause}. The log has more (workflow_step_failed). A run with the option resume_run: "${spec.run_id}" continues from there.`;
  if (stopped?.kill !== true) return { type: "stopped", at, kill: true, reason, lost: true };
  return { type: "finished", at, status: "failed", error: { code: "run_lost", message: stopped.reason } };
}

/** Ends a compensation whose time is over, with the attempt that runs or would come next. */
function outOfTime({ node, visit, attempts, running }: Visit, at: number): WorkflowRecord {
  const attempt = running?.attempt ?? attempts.length + 1;
  const message = `The compensation "${node}" ran out of time.`;
  const outcome = failed("error", "timed_out", message);
  return { type: "ended", at, node, visit, attempt, outcome };
}

/** Begins the node that undoes a stage; it reads the stage's artifacts. */
function compensate(state: WorkflowState, stage: Stage, at: number): WorkflowRecord[] {
  const node = state.spec.graph.nodes[stage.node_id]?.compensation ?? "";
  const visit = (own(state.counts, node) ?? 0) + 1;
  const input_digest = sha256(canonicalJson({ task: state.spec.task, node, compensates: stage.id }));
  const consumed = stage.produced_artifact_ids;
  return [{ type: "started", at, node, visit, attempt: 1, input_digest, consumed, compensates: stage.id }];
}

function ending(state: WorkflowState, at: number): WorkflowRecord {
  const { origin } = state.spec;
  const unused = (origin?.recorded ?? []).filter(
    ({ id }) => !state.stages.some((stage) => suffix(stage.id) === suffix(id)),
  );
  if (origin?.how === "replay" && state.ready.length === 0 && unused.length > 0) {
    const message = `The recorded run has the stage ${unused[0]?.id}, which this graph does not reach.`;
    return { type: "finished", at, status: "failed", error: { code: "replay_mismatch", message } };
  }
  return { type: "finished", at, status: state.ready.length === 0 ? "completed" : "paused", error: null };
}

const wakeOf = (state: WorkflowState): number | null =>
  least(state.spec.deadline, ...state.visits.map((visit) => timeOf(state, visit)));

/**
 * The next time, in Unix ms, at which a test run continues by time alone; `null`: there is none, or its time is not
 * virtual.
 */
export function nextVirtualTime(state: WorkflowState): number | null {
  const { spec, visits, paused, finished } = state;
  if (spec.test?.virtual_time !== true || paused || finished !== null || visits.length === 0) return null;
  if (openAttempts(state).length > 0) return null;
  const times = visits.map((visit) => timeOf(state, visit));
  return times.includes(null) ? null : least(...times);
}

/** The next time at which a decision about a visit becomes due by time alone, Unix ms; `null`: there is none. */
function timeOf({ spec }: WorkflowState, { retry_at, wait, node, began, running }: Visit): number | null {
  const { timeout_ms, total_timeout_ms, kind } = spec.graph.nodes[node] ?? {};
  // A wait node's own time limits are in `until`.
  if (kind === "wait") return least(retry_at, wait?.until);
  return least(retry_at, after(running?.began, timeout_ms), after(began, total_timeout_ms));
}

/** When a time limit that begins then is over; `null`: it has not begun, or there is none. */
const after = (began: number | undefined, limit_ms: number | undefined): number | null =>
  began === undefined || limit_ms === undefined ? null : began + limit_ms;

/** The nodes of `ready` that may begin now, within the limit of branches at once; in a replay the recorded one. */
function startable(state: WorkflowState): string[] {
  const { spec, steps, visits, ready, arrived, counts } = state;
  const most = spec.options.max_concurrent;
  const free = (typeof most === "number" ? most : MAX_CONCURRENT) - visits.filter(isBusy).length;
  const able = ready.filter((id) => {
    const node = spec.graph.nodes[id];
    if (node === undefined || visits.some((visit) => visit.node === id)) return false;
    return node.kind !== "join" || (own(arrived, id) ?? []).length >= requiredInputs(spec.graph, node);
  });
  const room = Math.max(0, Math.min(free, spec.max_steps - steps));
  const recorded = spec.origin?.recorded;
  if (recorded === undefined) return able.slice(0, room);
  const place = (id: string): number => recordedPlace(recorded, id, (own(counts, id) ?? 0) + 1);
  return able.toSorted((one, other) => place(one) - place(other)).slice(0, Math.min(1, room));
}

const isBusy = ({ wait, retry_at }: Visit): boolean => wait === null && retry_at === null;

/** The records of a visit's first attempt. */
function begin(state: WorkflowState, id: string, at: number, newId: IdSource): WorkflowRecord[] {
  const node = state.spec.graph.nodes[id];
  if (node === undefined) return [];
  const key = { node: id, visit: (own(state.counts, id) ?? 0) + 1, attempt: 1 };
  return attempt(state, node, key, at, newId);
}

/** The records of an attempt; a node without an effect ends at once. */
function attempt(
  state: WorkflowState,
  node: Node,
  key: AttemptKey,
  at: number,
  newId: IdSource,
): WorkflowRecord[] {
  const inputs = inputsOf(state, node);
  const instant = INSTANT.has(node.kind);
  const ended = (outcome: Outcome, last?: true): WorkflowRecord[] => [
    started,
    { type: "ended", at, ...key, outcome, ...(last && { last }) },
  ];
  const input_digest = sha256(
    canonicalJson({
      task: state.spec.task,
      node: node.id,
      // Nodes without an effect may follow each other by the thousand, so their digest does not read whole texts.
      inputs: inputs.map((one) => (instant ? [one.id] : [one.id, one.text, one.data])),
    }),
  );
  const started: WorkflowRecord = {
    type: "started",
    at,
    ...key,
    input_digest,
    consumed: inputs.map((artifact) => artifact.id),
  };
  const repeated = replayed(state, node, key.visit);
  if (repeated !== null) return ended(repeated, true);
  const missing = brokenContract(node, inputs, state);
  if (missing !== null) return ended(failed("error", "input_contract", missing));
  const made = { newId, now: time(at) };
  const large = tooMuch(state, node, inputs);
  if (large !== null) return ended(failed("error", "output_too_large", large));
  if (instant) return ended(instantOutcome(node, inputs, made));
  if (node.kind === "wait") {
    const { began } = visitOf(state, key) ?? { began: at };
    return [started, waits(node, key, at, began), ...answers(state, node, key, at)];
  }
  if (node.kind === "map" && !isMapWork(node)) {
    const given = itemsOf(node, inputs);
    return ended(mapOutcome(node, given.slice(0, wantedItems(node, given.length)), null, made));
  }
  return [started];
}

/**
 * Why a node that only passes artifacts on may not do so; `null`: it may. Otherwise such nodes, which take no time of
 * their own, could double what a run holds with every step.
 */
function tooMuch(
  { artifacts }: WorkflowState,
  node: Node,
  inputs: readonly WorkflowArtifact[],
): string | null {
  if (node.kind !== "reduce" && (node.kind !== "map" || isMapWork(node))) return null;
  if (sizeOf(artifacts) + sizeOf(inputs) <= MAX_PASSED_ON_BYTES) return null;
  const most = `${MAX_PASSED_ON_BYTES / 1024 / 1024} MiB`;
  return `With the artifacts of the node "${node.id}" the run would hold more than ${most}; choose fewer with context_policy or input_contract.input_kinds.`;
}

/** The decision that a test run provides for a node. */
function answers({ spec }: WorkflowState, node: Node, { visit }: AttemptKey, at: number): WorkflowRecord[] {
  const decision = own(spec.test?.approvals ?? {}, node.id);
  if (decision === undefined || node.wait?.approval === undefined) return [];
  const granted = decision === "approve";
  return [{ type: "answered", at, node: node.id, visit, granted, by: "test", reason: null }];
}

/** @param began when the visit began, which `total_timeout_ms` counts from */
function waits(node: Node, { node: id, visit }: AttemptKey, at: number, began: number): WorkflowRecord {
  const { approval, timeout_ms } = node.wait ?? {};
  const limits = [after(at, timeout_ms), after(at, node.timeout_ms), after(began, node.total_timeout_ms)];
  const until = least(waitsUntil(node, at), ...limits);
  const asked = approval === undefined ? {} : { approval: { question: approval } };
  return { type: "waits", at, node: id, visit, until, ...asked };
}

/** The next records of a visit that began earlier. */
function continued(state: WorkflowState, visit: Visit, at: number, newId: IdSource): WorkflowRecord[] {
  const node = state.spec.graph.nodes[visit.node];
  if (node === undefined) return [];
  const key = { node: visit.node, visit: visit.visit };
  if (visit.running === null) {
    if (visit.retry_at === null || visit.retry_at > at || state.paused) return [];
    const again = { ...key, attempt: visit.attempts.length + 1 };
    if (visit.compensates === null) return attempt(state, node, again, at, newId);
    const { input_digest, consumed, compensates } = visit;
    return [{ type: "started", at, ...again, input_digest, consumed, compensates }];
  }
  const { attempt: number } = visit.running;
  const repeated = replayed(state, node, visit.visit);
  if (repeated !== null)
    return [{ type: "ended", at, ...key, attempt: number, outcome: repeated, last: true }];
  const outcome =
    node.kind === "wait"
      ? waitOutcome(node, visit, state.events, at, { newId, now: time(at) })
      : overTime(node, visit, at);
  if (outcome !== null) return [{ type: "ended", at, ...key, attempt: number, outcome }];
  return node.kind === "map" ? mapGoesOn(node, visit, number, at, newId) : [];
}

/** The outcome of an attempt past its time limit, or past that of the visit; `null`: it has time left. */
function overTime(
  { id, timeout_ms, total_timeout_ms }: Node,
  { running, began }: Visit,
  at: number,
): Outcome | null {
  const isOver = (end: number | null): boolean => end !== null && at >= end;
  const longer = isOver(after(began, total_timeout_ms))
    ? `The node "${id}" took longer than its total_timeout_ms of ${total_timeout_ms}.`
    : isOver(after(running?.began, timeout_ms))
      ? `An attempt of the node "${id}" took longer than its timeout_ms of ${timeout_ms}.`
      : null;
  return longer === null ? null : failed("error", "timed_out", longer);
}

/** Starts items up to the limit. When the join is satisfied, ends the map and the items that still run. */
function mapGoesOn(node: Node, visit: Visit, attempt: number, at: number, newId: IdSource): WorkflowRecord[] {
  const key = { node: visit.node, visit: visit.visit, attempt };
  const count = itemCount(node, visit);
  const { all, completed } = visit.ended_items;
  const { strategy = "all" } = node.join_policy ?? {};
  if ((strategy === "all" ? all : completed) >= wantedItems(node, count) || all === count) {
    const items = itemsOf(node, visit.inputs);
    const outcome = mapOutcome(node, items, visit.items, { newId, now: time(at) });
    return [{ type: "ended", at, ...key, outcome }];
  }
  const most = node.map_policy?.max_concurrent ?? MAX_CONCURRENT;
  const running = Object.keys(visit.running_items).length;
  // Items begin in their order.
  const next = all + running;
  return Array.from({ length: Math.max(0, Math.min(most, count - all) - running) }, (_, i) => ({
    type: "started" as const,
    at,
    ...key,
    item: next + i,
    input_digest: sha256(canonicalJson([visit.input_digest, next + i])),
    consumed: [],
  }));
}

/** How many items `itemsOf` has. */
function itemCount({ map_policy: { items, max_items } = {} }: Node, { consumed }: Visit): number {
  const { length } = items ?? consumed;
  return Math.min(length, max_items ?? length);
}

/** How many items have to be done until the map's join lets it end. @param of all of them */
function wantedItems({ join_policy: { strategy, min_completed = 1 } = {} }: Node, of: number): number {
  return strategy === "first" ? 1 : strategy === "quorum" ? min_completed : of;
}

/** Whether a map does work on its items. Otherwise it passes on the artifacts as they are. */
function isMapWork({ mode, prompt, system, tools, model_policy }: Node): boolean {
  return [mode, prompt, system, tools, model_policy].some((field) => field !== undefined);
}

/** The artifacts that a stage reads, the most important first. */
function inputsOf(state: WorkflowState, node: Node): WorkflowArtifact[] {
  const { input_kinds } = node.input_contract ?? {};
  const policy = node.context_policy ?? {};
  return selectArtifacts(state.artifacts, {
    ...policy,
    ...(policy.include_kinds === undefined && input_kinds !== undefined
      ? { include_kinds: input_kinds }
      : {}),
    ...(node.kind === "map" && node.map_policy?.item_artifact_kind !== undefined
      ? { include_kinds: [node.map_policy.item_artifact_kind] }
      : {}),
  });
}

/** The items of a map: values of the graph, or artifacts. */
export function itemsOf(
  node: Node,
  inputs: readonly WorkflowArtifact[],
): (WorkflowArtifact | { value: unknown })[] {
  const { items, max_items } = node.map_policy ?? {};
  return items === undefined ? inputs.slice(0, max_items) : valuesOf(items).slice(0, max_items);
}

const valuesOf = memo((items: readonly unknown[]) => items.map((value) => ({ value })));

function brokenContract(
  node: Node,
  inputs: readonly WorkflowArtifact[],
  state: WorkflowState,
): string | null {
  const { min_inputs, max_inputs, require_transcript } = node.input_contract ?? {};
  if (min_inputs !== undefined && inputs.length < min_inputs)
    return `The node "${node.id}" needs at least ${counted(min_inputs, "artifact")}, and has ${inputs.length}.`;
  if (max_inputs !== undefined && inputs.length > max_inputs)
    return `The node "${node.id}" takes at most ${counted(max_inputs, "artifact")}, and has ${inputs.length}.`;
  if (require_transcript === true && !state.stages.some(({ transcript }) => transcript !== null))
    return `The node "${node.id}" needs a transcript, and no stage before it has one.`;
  return null;
}
