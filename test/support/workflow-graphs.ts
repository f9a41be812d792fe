/** Graphs of workflows for tests, and the input of their runs. */
import { type Graph, readGraph } from "../../src/engine/workflow/graph.ts";
import type { WorkflowSpec } from "../../src/engine/workflow/records.ts";
import type { Json } from "../../src/skill/manifest.ts";

/** A node whose mock model says this. */
export const said = (text: string) => ({ model_policy: { provider: "mock", mock: [{ text }] } });

export const edge = (from: string, to: string, branch?: string) => ({
  from,
  to,
  ...(branch === undefined ? {} : { branch }),
});

/** @throws TypeError with the faults of an invalid graph */
export function graphOf(given: Json): Graph {
  const read = readGraph(given, () => "wf_1");
  if ("faults" in read) throw new TypeError(JSON.stringify(read.faults));
  return read.graph;
}

/** What a run begins with. */
export const specOf = (run_id: string, graph: Json, more: Partial<WorkflowSpec> = {}): WorkflowSpec => ({
  run_id,
  workflow: null,
  graph: graphOf(graph),
  task: "the task",
  max_steps: 100,
  options: {},
  policy: null,
  artifacts: [],
  deadline: null,
  parent_run_id: null,
  root_run_id: run_id,
  metadata: {},
  ...more,
});
