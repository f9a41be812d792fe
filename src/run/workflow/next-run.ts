/** The next workflow run of the same task. Pure. */

import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import { runDocument } from "../../engine/workflow/document.ts";
import { mocksLeft, withMocks } from "../../engine/workflow/mock-script.ts";
import { recordOf, resumed, wasUndone } from "../../engine/workflow/origin.ts";
import type { WorkflowSpec } from "../../engine/workflow/records.ts";
import type { WorkflowState } from "../../engine/workflow/state.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { policyOf } from "./stage.ts";

/**
 * Continues where the previous run stopped, if it stopped early and nothing was compensated. Otherwise begins at the
 * entry. Nobody delegates this run again, so the previous run's time limit counts from now.
 * @param artifacts the artifacts of a run from the entry
 * @param at Unix ms
 */
export function nextRun(
  state: WorkflowState,
  next: {
    run_id: string;
    task: string;
    artifacts: WorkflowArtifact[];
    policy: JsonObject | null;
    resumes: boolean;
  },
  at: number,
): WorkflowSpec {
  const { origin: _, above, ...before } = state.spec;
  const record = recordOf(runDocument(state, new Map()));
  const goesOn = next.resumes && record.pending_nodes.length > 0 && !wasUndone(record);
  const { run_id, task } = next;
  const mock = mocksLeft(state);
  return {
    ...before,
    run_id,
    task,
    ...(mock === null ? {} : { options: { ...before.options, mock } }),
    artifacts: goesOn ? before.artifacts : next.artifacts,
    policy: policyOf([before.policy, next.policy]),
    deadline: before.deadline === null ? null : at + Math.max(0, before.deadline - state.began),
    parent_run_id: before.run_id,
    ...(above === undefined ? {} : { above: { ...above, run_id: null, deadline: null } }),
    ...(goesOn ? { origin: withMocks(record, resumed(record, before.graph)) } : {}),
  };
}
