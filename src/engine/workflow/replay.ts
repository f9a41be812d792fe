/** A run that repeats a recorded one takes the outcome of each visit from there. Pure. */
import type { Stage } from "./answers.ts";
import type { Node } from "./graph.ts";
import { failed } from "./outcomes.ts";
import type { Outcome } from "./records.ts";
import type { WorkflowState } from "./state.ts";

/** `<node>:<visit>` of a stage's id. */
export const suffix = (id: string): string => id.split(":").slice(-2).join(":");

/** The place of a visit among the recorded stages; after all of them if it is not there. */
export function recordedPlace(recorded: readonly Stage[], node: string, visit: number): number {
  const place = recorded.findIndex(({ id }) => suffix(id) === `${node}:${visit}`);
  return place === -1 ? recorded.length : place;
}

/** The outcome of the same visit in the recorded run; `null`: this run repeats none. */
export function replayed(
  { spec }: Pick<WorkflowState, "spec">,
  { id: name, kind }: Node,
  visit: number,
): Outcome | null {
  const recorded = spec.origin?.recorded;
  if (recorded === undefined) return null;
  const stage = recorded[recordedPlace(recorded, name, visit)];
  if (stage?.kind !== kind) {
    const found = stage === undefined ? "has no stage" : `has a ${stage.kind} as the stage`;
    const message = `The recorded run ${found} ${name}:${visit}; the graph of ${spec.run_id} reaches a ${kind}.`;
    return failed("error", "replay_mismatch", message);
  }
  const { id, status, outcome, branch, visible_text: text, private_reasoning: reasoning } = stage;
  const { artifacts, usage, verification, transcript, error, metadata } = stage;
  return {
    status: status === "failed" || status === "partial" ? status : "completed",
    outcome,
    branch,
    text,
    reasoning,
    artifacts,
    usage,
    verification,
    transcript,
    error,
    child_run_id: null,
    child_session_id: null,
    metadata: { ...metadata, replayed: id },
  };
}
