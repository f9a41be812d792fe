/** What a stopped run undoes: its finished stages whose nodes name a node for that, the last one first. Pure. */
import type { Stage } from "./records.ts";
import type { Visit, WorkflowState } from "./state.ts";

/**
 * Stages that are still to be undone, in the order in which they are. A run that is killed undoes none, nor one that repeats
 * another. Of stages taken over, those of a run that this one goes on from are its own.
 */
export function uncompensated(state: WorkflowState): Stage[] {
  const { spec, stages, compensations, stopped, visits } = state;
  if (stopped === null || stopped.kill || spec.origin?.how === "replay") return [];
  const undone = new Set<unknown>([
    ...(spec.origin?.undone ?? []),
    ...compensations.map(({ metadata }) => metadata.compensates),
    ...visits.map(({ compensates }) => compensates),
  ]);
  const own = spec.origin?.how === "resume" ? 0 : (spec.origin?.stages.length ?? 0);
  return stages
    .slice(own)
    .filter(
      ({ id, status, node_id }) =>
        status !== "failed" && spec.graph.nodes[node_id]?.compensation !== undefined && !undone.has(id),
    )
    .toReversed();
}

/** Whether the visit undoes a stage, and is still wanted. */
export const undoes = ({ stopped }: WorkflowState, visit: Visit | undefined): boolean =>
  visit !== undefined && visit.compensates !== null && stopped !== null && !stopped.kill;
