/** What a test run reports: where its process died, and what its author provided without need. Pure. */
import { own } from "../../skill/json.ts";
import type { AttemptKey, Trial } from "./answers.ts";
import { unmetCrashes } from "./crash.ts";
import type { WorkflowState } from "./state.ts";

/** `null`: the run is not a test run. */
export function trialOf(state: WorkflowState): Trial | null {
  const { test } = state.spec;
  if (test === undefined) return null;
  const { mocks = {}, commands = {}, approvals = {}, signals = [] } = test;
  const answers = Object.entries({ ...mocks, ...commands });
  const unused = answers.flatMap(([node, list]) => {
    const made = attemptsOf(state, node);
    return list.flatMap((_, index) => (index < made ? [] : [{ node, attempt: index + 1 }]));
  });
  return {
    crashed: state.crashed,
    unmet: {
      crashes: unmetCrashes(state),
      mocks: unused,
      approvals: Object.keys(approvals).filter((node) => attemptsOf(state, node) === 0),
      signals: signals
        .filter(({ name, key }) => state.events.some((left) => left.name === name && left.key === key))
        .map(({ name, key }) => ({ name, key })),
    },
  };
}

/** What the author provided for an attempt of a node: the last entry also holds for all further attempts. */
export function providedFor<T>(
  lists: { [node: string]: T[] } = {},
  { node, attempt }: AttemptKey,
): T | undefined {
  const list = own(lists, node);
  return list?.[attempt - 1] ?? list?.at(-1);
}

/** The most attempts that a visit of the node has had in this run. */
function attemptsOf({ spec, stages, compensations, visits }: WorkflowState, node: string): number {
  const own = [...stages, ...compensations].filter(
    ({ id, node_id }) => node_id === node && id.startsWith(`${spec.run_id}:`),
  );
  const open = visits.filter((visit) => visit.node === node);
  const made = [
    ...own.map(({ attempts }) => attempts.length),
    ...open.map(({ attempts, running }) => running?.attempt ?? attempts.length),
  ];
  return Math.max(0, ...made);
}
