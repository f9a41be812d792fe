/** Checks a graph before anything begins, with the options of its nodes' runs, which the engine does not know. */
import type { Graph, Node } from "../../engine/workflow/graph.ts";
import { type GraphFinding, type Validation, validateGraph } from "../../engine/workflow/validate.ts";
import { readOptions } from "../../llm/options.ts";
import { canonicalProvider } from "../../model/registry/registry.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { divide, readRunOptions, runOptionNames } from "../agent/option-shapes.ts";
import type { RunContext } from "../context.ts";

/** @param ceiling a capability policy that limits every node; absent: none */
export async function checkGraph(
  { deployment, tenant, background }: RunContext,
  graph: Graph,
  ceiling?: JsonObject,
): Promise<Validation> {
  const validation = validateGraph(graph, ceiling);
  const registry = await deployment.tenantRules.registryOf(tenant, background);
  const isProvider = (name: string): boolean => registry.providers.has(canonicalProvider(registry, name));
  const wrong = Object.values(graph.nodes).flatMap((node) => modelFaults(node, isProvider));
  const errors = [...validation.errors, ...wrong];
  return { ...validation, valid: errors.length === 0, errors };
}

/** What is wrong with the options in a node's `model_policy`. */
function modelFaults({ id, model_policy = {} }: Node, isProvider: (name: string) => boolean): GraphFinding[] {
  const { run, call } = divide(model_policy);
  return [readRunOptions(run), readOptions(call, isProvider, runOptionNames())].flatMap((read) =>
    "faults" in read
      ? read.faults.map(({ path, message }) => ({
          path: `nodes.${id}.${inPolicy(path)}`,
          node: id,
          message: `The node "${id}" has an option that cannot be used: ${inPolicy(message).replace(/\.$/, "")}.`,
        }))
      : [],
  );
}

/** Readers of options name them as a request has them. */
const inPolicy = (text: string): string => text.replace(/^options\./, "model_policy.");
