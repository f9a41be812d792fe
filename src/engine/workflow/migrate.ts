/** Checks whether a run under way can continue with another graph, which must have all that its journal names. Pure. */

import { canonicalJson } from "../../skill/canonical.ts";
import { own } from "../../skill/json.ts";
import type { GraphFinding } from "./answers.ts";
import type { Graph } from "./graph.ts";
import { edgeTaken } from "./origin.ts";
import type { WorkflowState } from "./state.ts";

/** The places where a graph does not fit a run's journal; empty: it fits. */
export function migrationErrors(state: WorkflowState, graph: Graph): GraphFinding[] {
  const findings: GraphFinding[] = [];
  const reported = new Set<string>();
  const refuse = (node: string, path: string, message: string): void => {
    if (reported.has(path)) return;
    reported.add(path);
    findings.push({ path, node, message });
  };
  const present = (id: string, why: string): boolean => {
    const before = state.spec.graph.nodes[id];
    const after = own(graph.nodes, id);
    if (after === undefined) refuse(id, `nodes.${id}`, `The node "${id}" is missing, and ${why}.`);
    else if (before !== undefined && before.kind !== after.kind)
      refuse(
        id,
        `nodes.${id}.kind`,
        `The node "${id}" is of kind ${after.kind} and was of kind ${before.kind}, and ${why}.`,
      );
    else return true;
    return false;
  };
  for (const { node } of state.visits) {
    if (!present(node, "it is under way")) continue;
    if (canonicalJson(state.spec.graph.nodes[node]) !== canonicalJson(graph.nodes[node]))
      refuse(node, `nodes.${node}`, `The node "${node}" is under way, and the new graph changes it.`);
  }
  for (const id of state.ready) present(id, "it comes next");
  for (const id of state.completed) present(id, "the run has been there");
  for (const transition of state.transitions) {
    const { from, to, branch } = transition;
    const there = edgeTaken(graph.edges, transition) !== -1;
    const on = branch === null ? "" : ` on the branch ${branch}`;
    if (!there && Object.hasOwn(graph.nodes, from) && Object.hasOwn(graph.nodes, to))
      refuse(
        from,
        `edges.${from}.${to}`,
        `The edge ${from} → ${to}${on} is missing, and the run has taken it.`,
      );
  }
  return findings;
}
