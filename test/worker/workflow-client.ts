/** A client of workflows, and graphs for tests. */
import { expect } from "vitest";
import { type Body, post } from "./session-client.ts";

interface Stage extends Body {
  id: string;
  produced_artifact_ids: string[];
  node_id: string;
  branch: string;
  attempts: Body[];
  artifacts: { id: string; kind: string; text: string }[];
}
export interface Run extends Body {
  id: string;
  status: string;
  stages: Stage[];
  compensations: (Stage & { metadata: Body })[];
  uncompensated: string[];
  child_runs: { run_id: string }[];
  artifacts: { kind: string; text: string }[];
}

export const fails = {
  model_policy: { provider: "mock", mock: [{ error: { category: "auth", message: "no" } }] },
};
export const executed = (graph: object, more: object = {}, headers: Record<string, string> = {}) =>
  post("/workflows/execute", { task: "the task", graph, ...more }, headers);
export async function run(graph: object, more: object = {}): Promise<Run> {
  const response = await executed(graph, more);
  const body = await response.json<{ run: Run }>();
  expect([response.status, body]).toMatchObject([200, { run: { _type: "run_record" } }]);
  return body.run;
}
export async function started(graph: object, more: object = {}): Promise<string> {
  const response = await executed(graph, more, { prefer: "respond-async" });
  const { id } = await response.json<{ id: string }>();
  const location = response.headers.get("location") ?? "";
  expect([response.status, location]).toEqual([202, `/workflows/runs/${id}`]);
  return location;
}

/** The stages of a run, each with its branch. */
export const visited = ({ stages }: Run): string[] =>
  stages.map(({ node_id, branch }) => `${node_id}:${branch}`);
