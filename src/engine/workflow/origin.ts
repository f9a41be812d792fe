/** What a workflow run takes over from an earlier one: to continue, to begin again from a node, to repeat it. Pure. */

import { fromJson, isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { RunDocument, Transition } from "./answers.ts";
import type { WorkflowArtifact } from "./artifacts.ts";
import type { Graph } from "./graph.ts";
import type { Origin } from "./records.ts";

/** Members that records of earlier versions lack. */
type Later = "skills" | "compensations" | "origin";
/** A run's record, as `runDocument` makes it; a request may bring one. */
export type RunRecord = Omit<RunDocument, "graph" | Later> & { graph: Json } & Partial<
    Pick<RunDocument, Later>
  >;

/**
 * The path by which requests may name a run's record if the run has no path of its own. There is no such file; the record
 * comes from the journal.
 */
export const recordPath = (run: string): string => `runs/${run}.json`;

/** The run whose record has this path; `null`: it is not such a path. */
export const runAt = (path: string): string | null => /^runs\/([^/]+)\.json$/.exec(path)?.[1] ?? null;

/** Reads a record that a request brings; `null`: it is not one. */
export function readRecord(given: Json): RunRecord | null {
  const record = objectOf(given);
  const { _type, id, stages, transitions, pending_nodes, artifacts, compensations = [] } = record;
  if (_type !== "run_record" || typeof id !== "string") return null;
  const { undone = [] } = objectOf(record.origin);
  if (!isList(transitions) || !isList(pending_nodes) || !isList(artifacts) || !isList(undone)) return null;
  if (!isList(stages) || !stages.every(isStage)) return null;
  if (!isList(compensations) || !compensations.every((one) => isObject(objectOf(one).metadata))) return null;
  return fromJson(record);
}

const isList = (value: Json | undefined): value is Json[] => Array.isArray(value);
const isStage = (value: Json): boolean =>
  isObject(value) && typeof value.id === "string" && typeof value.node_id === "string";

/** Whether a compensation of the run has undone something, or tried to. A run that continues it begins at the entry. */
export const wasUndone = ({ compensations = [] }: RunRecord): boolean => compensations.length > 0;

/** Continues where the record ends; at the entry if the run was undone. */
export function resumed(record: RunRecord, graph: Graph): Origin {
  if (wasUndone(record)) {
    const pending = [graph.entry];
    return { run_id: record.id, how: "resume", stages: [], transitions: [], pending, traversals: {} };
  }
  return {
    run_id: record.id,
    how: "resume",
    stages: record.stages,
    transitions: record.transitions,
    pending: record.pending_nodes.filter((id) => Object.hasOwn(graph.nodes, id)),
    traversals: traversed(graph, record.transitions),
    undone: leftAlone(record),
  };
}

/** Ids of the stages that the run itself must not undo: those undone before it began, and those that a fork took over. */
function leftAlone({ id: run, origin, stages }: RunRecord): string[] {
  const others = stages.filter(({ id }) => !id.startsWith(`${run}:`)).map(({ id }) => id);
  return origin?.how === "fork" ? others : (origin?.undone ?? []);
}

/** Begins again from a node: leaves out what this node and later ones made, and takes over the rest. */
export function forkedFrom(record: RunRecord, graph: Graph, node: string): Origin {
  const after = downstream(graph, node);
  const stages = record.stages.filter(({ node_id }) => !after.has(node_id));
  const transitions = record.transitions.filter(({ from }) => !after.has(from));
  const pending = [
    node,
    ...record.pending_nodes.filter((id) => !after.has(id) && Object.hasOwn(graph.nodes, id)),
  ];
  return {
    run_id: record.id,
    how: "fork",
    stages,
    transitions,
    pending,
    traversals: traversed(graph, transitions),
  };
}

/** Repeats a run from its record, without models and tools. */
export function repeated(record: RunRecord, graph: Graph): Origin {
  return {
    run_id: record.id,
    how: "replay",
    stages: [],
    transitions: [],
    pending: [graph.entry],
    recorded: record.stages,
    traversals: {},
  };
}

/** The artifacts that came with a run's request, not from its stages. */
export function givenArtifacts({ artifacts, stages }: RunRecord): WorkflowArtifact[] {
  const made = new Set(stages.flatMap(({ produced_artifact_ids }) => produced_artifact_ids));
  return artifacts.filter(({ id }) => !made.has(id));
}

/** The node and all nodes after it. */
function downstream({ edges }: Graph, node: string): Set<string> {
  const found = new Set([node]);
  for (const id of found) for (const { from, to } of edges) if (from === id) found.add(to);
  return found;
}

/** The place of the edge that a transition took; -1: the graph has no such edge. */
export function edgeTaken(edges: Graph["edges"], { from, to, branch }: Transition): number {
  return edges.findIndex((edge) => edge.from === from && edge.to === to && (edge.branch ?? null) === branch);
}

/** How often each edge of a graph was taken, by its place. */
export function traversed({ edges }: Graph, transitions: readonly Transition[]): { [edge: string]: number } {
  const counts: { [edge: string]: number } = {};
  for (const transition of transitions) {
    const place = edgeTaken(edges, transition);
    if (place !== -1) counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts;
}

/** The record in a run's document. */
export const recordOf = (document: JsonObject): RunRecord => fromJson(document);
