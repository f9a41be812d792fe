/** Checks a graph before anything begins, with the options of its nodes' runs, which the engine does not know. */
import type { Fault } from "../../engine/fault.ts";
import type { GraphFinding, Validation } from "../../engine/workflow/answers.ts";
import type { Graph, Node } from "../../engine/workflow/graph.ts";
import { validateGraph } from "../../engine/workflow/validate.ts";
import { WorkflowInvalid } from "../../errors/workflow.ts";
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
  const faultsOf = await optionFaults(context);
  const wrong = Object.values(graph.nodes).flatMap((node) => modelFaults(node, faultsOf));
  const errors = [...validation.errors, ...wrong];
  return { ...validation, valid: errors.length === 0, errors };
}

/** @throws WorkflowInvalid */
export async function checkValid(context: RunContext, graph: Graph): Promise<void> {
  const { valid, errors } = await checkGraph(context, graph);
  if (!valid) throw new WorkflowInvalid({ errors });
}

type FaultsOf = Awaited<ReturnType<typeof optionFaults>>;

function modelFaults({ id, model_policy = {} }: Node, faultsOf: FaultsOf): GraphFinding[] {
  return policyFaults(model_policy, faultsOf).map(({ path, message }) => ({
    path: `nodes.${id}.${path}`,
    node: id,
    message: `The node "${id}" has an option that cannot be used: ${message.replace(/\.$/, "")}.`,
  }));
}

/**
 * What is wrong with the options in the `model_policy` of a node that stands alone: paths within the node, which the
 * messages do not repeat.
 */
export async function nodeFaults(
  context: RunContext,
  { model_policy = {} }: Pick<Node, "model_policy">,
): Promise<Fault[]> {
  const faults = policyFaults(model_policy, await optionFaults(context));
  return faults.map(({ path, message }) => ({ path, message: message.replace(`${path}: `, "") }));
}

const policyFaults = (model_policy: JsonObject, faultsOf: FaultsOf): Fault[] =>
  faultsOf(model_policy)
    .flat()
    .map(({ path, message }) => ({ path: inPolicy(path), message: inPolicy(message) }));

/** Readers of options name them by their path in a request; here they are in `model_policy`. */
const inPolicy = (text: string): string => text.replace(/^options\./, "model_policy.");
