/** Checks a graph before anything begins, with the options of its nodes' runs, which the engine does not know. */
import type { Fault } from "../../engine/fault.ts";
import type { GraphFinding, Validation } from "../../engine/workflow/answers.ts";
import type { Graph, Node } from "../../engine/workflow/graph.ts";
import { validateGraph } from "../../engine/workflow/validate.ts";
import { readOptions } from "../../llm/options.ts";
import { canonicalProvider } from "../../model/registry/registry.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { divide, readRunOptions, runOptionNames } from "../agent/option-shapes.ts";
import type { RunContext } from "../context.ts";

/** @param ceiling a capability policy that limits every node; absent: none */
export async function checkGraph(
  context: RunContext,
  graph: Graph,
  ceiling?: JsonObject,
): Promise<Validation> {
  const validation = validateGraph(graph, ceiling);
  const isProvider = await providersOf(context);
  const wrong = Object.values(graph.nodes).flatMap((node) => modelFaults(node, isProvider));
  const errors = [...validation.errors, ...wrong];
  return { ...validation, valid: errors.length === 0, errors };
}

/** What is wrong with the options in the `model_policy` of a node that stands alone: paths within the node. */
export async function nodeFaults(
  context: RunContext,
  { model_policy = {} }: Pick<Node, "model_policy">,
): Promise<Fault[]> {
  return policyFaults(model_policy, await providersOf(context));
}

async function providersOf({
  deployment,
  tenant,
  background,
}: RunContext): Promise<(name: string) => boolean> {
  const registry = await deployment.tenantRules.registryOf(tenant, background);
  return (name) => registry.providers.has(canonicalProvider(registry, name));
}

function modelFaults({ id, model_policy = {} }: Node, isProvider: (name: string) => boolean): GraphFinding[] {
  return policyFaults(model_policy, isProvider).map(({ path, message }) => ({
    path: `nodes.${id}.${path}`,
    node: id,
    message: `The node "${id}" has an option that cannot be used: ${message.replace(/\.$/, "")}.`,
  }));
}

function policyFaults(model_policy: JsonObject, isProvider: (name: string) => boolean): Fault[] {
  const { run, call } = divide(model_policy);
  return [readRunOptions(run), readOptions(call, isProvider, runOptionNames())].flatMap((read) =>
    "faults" in read
      ? read.faults.map(({ path, message }) => ({ path: inPolicy(path), message: inPolicy(message) }))
      : [],
  );
}

/** Readers of options name them by their path in a request; here they are in `model_policy`. */
const inPolicy = (text: string): string => text.replace(/^options\./, "model_policy.");
