/** Checks a graph before anything begins, with the options of its nodes' runs, which the engine does not know. */
import type { Fault } from "../../engine/fault.ts";
import type { GraphFinding, Validation } from "../../engine/workflow/answers.ts";
import type { Graph, Node } from "../../engine/workflow/graph.ts";
import { validateGraph } from "../../engine/workflow/validate.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { optionFaults } from "../agent/options.ts";
import type { RunContext } from "../context.ts";

/** @param ceiling a capability policy that limits every node; absent: none */
export async function checkGraph(
  context: RunContext,
  graph: Graph,
  ceiling?: JsonObject,
): Promise<Validation> {
  const validation = validateGraph(graph, ceiling);
  const wrong = await Promise.all(Object.values(graph.nodes).map((node) => modelFaults(context, node)));
  const errors = [...validation.errors, ...wrong.flat()];
  return { ...validation, valid: errors.length === 0, errors };
}

async function modelFaults(context: RunContext, node: Node): Promise<GraphFinding[]> {
  const { id } = node;
  return (await nodeFaults(context, node)).map(({ path, message }) => ({
    path: `nodes.${id}.${path}`,
    node: id,
    message: `The node "${id}" has an option that cannot be used: ${message.replace(/\.$/, "")}.`,
  }));
}

/** What is wrong with the options in the `model_policy` of a node: paths within the node. */
export async function nodeFaults(
  context: RunContext,
  { model_policy = {} }: Pick<Node, "model_policy">,
): Promise<Fault[]> {
  const faults = (await optionFaults(context, model_policy)).flat();
  return faults.map(({ path, message }) => ({ path: inPolicy(path), message: inPolicy(message) }));
}

/** Readers of options name them by their path in a request; here they are in `model_policy`. */
const inPolicy = (text: string): string => text.replace(/^options\./, "model_policy.");
