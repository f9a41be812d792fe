/** Selects what a stopped run undoes: its finished stages whose nodes name a compensation, the last one first. Pure. */
import type { Stage } from "./answers.ts";
import type { Visit, WorkflowState } from "./state.ts";

/**
 * The stages that must still be compensated, in order. A killed run and a replay compensate none. A run that resumes
 * another one also compensates the stages that it took over; a fork does not.
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

/** Whether the visit compensates a stage, and still should. */
export const undoes = ({ stopped }: WorkflowState, visit: Visit | undefined): boolean =>
  visit !== undefined && visit.compensates !== null && stopped !== null && !stopped.kill;
