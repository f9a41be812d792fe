/** Checks that a graph makes sense and stays within a ceiling. Pure. */
import * as z from "zod/mini";
import { once } from "../../memo.ts";
import { counted } from "../../plural.ts";
import { isObject, objectOf, own, withoutNulls } from "../../skill/json.ts";
import { schemaFaults } from "../../skill/json-schema.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { compactionMembers } from "../agent/compaction-members.ts";
import { droppedTools } from "../agent/policy.ts";
import { shapeErrors } from "../fault.ts";
import { readTools } from "../tools.ts";
import type { GraphFinding, Validation } from "./answers.ts";
import { exceeds } from "./ceiling.ts";
import type { Edge, Graph, Node } from "./graph.ts";

/** A finding names its node, or its edge by its place in `edges`. @param ceiling limits every node; absent: none */
export function validateGraph(graph: Graph, ceiling?: JsonObject): Validation {
  const all = Object.values(graph.nodes);
  const reachable_nodes = reachable(graph);
  const errors = [
    ...entryErrors(graph),
    ...edgeErrors(graph),
    ...all.flatMap((node) =>
      findings(node, [...nodeErrors(node, graph), ...ceilingErrors(node, graph, ceiling)]),
    ),
  ];
  const warnings = [
    ...all.flatMap((node) => findings(node, nodeWarnings(node, graph))),
    ...Object.keys(graph.nodes)
      .filter((id) => !reachable_nodes.includes(id))
      .map((id) => ({
        path: `nodes.${id}`,
        node: id,
        message: `No path leads from the entry to the node "${id}".`,
      })),
  ];
  const distinct = [...new Map(errors.map((error) => [JSON.stringify(error), error])).values()];
  return { valid: distinct.length === 0, errors: distinct, warnings, reachable_nodes };
}

function entryErrors({ entry, nodes }: Graph): GraphFinding[] {
  if (Object.hasOwn(nodes, entry)) return [];
  const known = Object.keys(nodes).join(", ") || "none";
  return [{ path: "entry", message: `The entry "${entry}" is not a node. There are: ${known}.` }];
}

function edgeErrors({ nodes, edges }: Graph): GraphFinding[] {
  return edges.flatMap((edge, i) =>
    (["from", "to"] as const)
      .filter((end) => !Object.hasOwn(nodes, edge[end]))
      .map((end) => ({
        path: `edges.${i}.${end}`,
        message: `The edge ${edge.from} → ${edge.to} names "${edge[end]}", which is not a node.`,
      })),
  );
}

/** What is said of a node, at a place below it. */
interface Said {
  at: string;
  message: string;
}

const findings = ({ id }: Node, said: readonly Said[]): GraphFinding[] =>
  said.map(({ at, message }) => ({ path: `nodes.${id}.${at}`, node: id, message }));

function nodeErrors(node: Node, { nodes, edges }: Graph): Said[] {
  return [
    ...kindErrors(
      node,
      edges.filter(({ from }) => from === node.id),
    ),
    ...compensationErrors(node, nodes),
    ...schemaErrors(node),
    ...toolErrors(node),
    ...compactionErrors(node),
  ];
}

function ceilingErrors(node: Node, graph: Graph, ceiling: JsonObject | undefined): Said[] {
  if (ceiling === undefined) return [];
  return [node.capability_policy, graph.capability_policy].flatMap((policy) =>
    exceeds(ceiling, objectOf(policy ?? {}), toolNames(node)).map((message) => ({
      at: "capability_policy",
      message: `The node "${node.id}" asks for more than the ceiling: ${message}.`,
    })),
  );
}

/** Contracts whose schema says what JSON Schema does not know. */
function schemaErrors(node: Node): Said[] {
  return (["input_contract", "output_contract"] as const).flatMap((contract) =>
    schemaFaults(node[contract]?.schema ?? {}).map((pointer) => ({
      at: [contract, "schema", ...pointer.split("/").slice(1)].join("."),
      message: `The node "${node.id}" has a schema that is not a JSON Schema 2020-12: see ${pointer} in its ${contract}.`,
    })),
  );
}

/** Definitions of tools that no run could have. */
function toolErrors({ id, tools = [] }: Node): Said[] {
  const places = tools.flatMap((tool, n) => (isObject(tool) ? [n] : []));
  const read = readTools(tools.filter(isObject));
  if (!("faults" in read)) return [];
  const inNode = (text: string): string =>
    text.replace(/^options\.tools\.(\d+)/, (_, n) => `tools.${places[Number(n)]}`);
  return read.faults.map(({ path, message }) => ({
    at: inNode(path),
    message: `The node "${id}" defines a tool that no run can have: ${inNode(message)}.`,
  }));
}

/** The node's run says which strategies there are. */
const compactionShape = once(() =>
  z.strictObject({ enabled: z.exactOptional(z.boolean()), ...compactionMembers(z.unknown()) }),
);

function compactionErrors({ id, auto_compact = {} }: Node): Said[] {
  const { success, error } = compactionShape().safeParse(withoutNulls(auto_compact));
  if (success) return [];
  return shapeErrors(error).map(({ path, message }) => ({
    at: `auto_compact.${path}`,
    message: `The node "${id}" has auto_compact.${path}, which cannot be used: ${message}.`,
  }));
}

function kindErrors(node: Node, outgoing: readonly Edge[]): Said[] {
  const said: Said[] = [];
  const { id, kind, input_contract: input, wait } = node;
  const branches = new Set(outgoing.map(({ branch }) => branch));
  if (kind === "condition") {
    const missing = ["true", "false"].filter((branch) => !branches.has(branch));
    if (missing.length > 0)
      said.push({
        at: "kind",
        message: `The condition "${id}" has no edge for the branch ${missing.join(" and ")}.`,
      });
  }
  if (kind === "fork" && outgoing.length < 2)
    said.push({
      at: "kind",
      message: `The fork "${id}" has ${counted(outgoing.length, "outgoing edge")}, and needs two or more.`,
    });
  if (kind === "map") {
    const { items, item_artifact_kind } = node.map_policy ?? {};
    if (items === undefined && item_artifact_kind === undefined && (input?.input_kinds ?? []).length === 0)
      said.push({
        at: "map_policy",
        message: `The map "${id}" has no items: give map_policy.items, map_policy.item_artifact_kind or input_contract.input_kinds.`,
      });
  }
  const { min_inputs = 0, max_inputs = Number.POSITIVE_INFINITY } = input ?? {};
  if (min_inputs > max_inputs)
    said.push({
      at: "input_contract.min_inputs",
      message: `The node "${id}" has min_inputs ${min_inputs}, which is more than its max_inputs ${max_inputs}.`,
    });
  const { strategy = "all", min_completed } = node.join_policy ?? {};
  if (strategy === "quorum" && min_completed === undefined)
    said.push({ at: "join_policy", message: `The node "${id}" joins by quorum, and has no min_completed.` });
  if (kind === "wait") {
    const ways = [wait?.sleep_ms, wait?.until, wait?.event, wait?.approval].filter(
      (way) => way !== undefined,
    );
    if (ways.length !== 1)
      said.push({
        at: "wait",
        message: `The node "${id}" waits for one thing: give one of wait.sleep_ms, wait.until, wait.event, wait.approval.`,
      });
  } else if (wait !== undefined) {
    said.push({
      at: "wait",
      message: `Only a node of kind wait has this field; "${id}" is of kind ${kind}.`,
    });
  }
  return said;
}

/** The kinds of nodes that may compensate: they make one attempt with an effect. */
const COMPENSATES: ReadonlySet<string> = new Set(["stage", "verify", "subagent"]);

function compensationErrors({ id, compensation }: Node, nodes: Graph["nodes"]): Said[] {
  if (compensation === undefined) return [];
  const by = own(nodes, compensation);
  const message =
    by === undefined
      ? `The node "${id}" names the compensation "${compensation}", which is not a node.`
      : by.id === id
        ? `The node "${id}" cannot undo itself.`
        : COMPENSATES.has(by.kind)
          ? null
          : `The node "${id}" names the compensation "${compensation}" of kind ${by.kind}; it must be of kind stage, verify or subagent.`;
  return message === null ? [] : [{ at: "compensation", message }];
}

function nodeWarnings(node: Node, { edges, capability_policy }: Graph): Said[] {
  const said: Said[] = [];
  for (const policy of [node.capability_policy, capability_policy]) {
    const lost = droppedTools({ tools: toolNames(node) ?? [] }, objectOf(policy));
    if (lost.length > 0)
      said.push({
        at: "tools",
        message: `The node "${node.id}" may not use ${lost.join(", ")}: its capability_policy, or the graph's, does not allow it. Name it in the tools of the policy, or leave it out here.`,
      });
  }
  const incoming = edges.filter(({ to }) => to === node.id);
  if (node.kind === "join" && incoming.length < 2)
    said.push({
      at: "kind",
      message: `The join "${node.id}" has ${counted(incoming.length, "incoming edge")}: there is nothing to join.`,
    });
  if (node.kind === "reduce" && (node.input_contract?.input_kinds ?? []).length === 0)
    said.push({
      at: "input_contract",
      message: `The node "${node.id}" reduces all artifacts, since input_contract.input_kinds names none.`,
    });
  const { command, ...expected } = node.verify ?? {};
  if (
    node.kind === "verify" &&
    node.mode !== "agent" &&
    command === undefined &&
    Object.keys(expected).length > 0
  )
    said.push({
      at: "verify",
      message: `The node "${node.id}" has no text to check: give verify.command, or mode "agent".`,
    });
  return said;
}

/** Names of the tools that a node declares; `undefined`: it declares none. */
export function toolNames({ tools }: Node): string[] | undefined {
  return tools?.map((tool) => (typeof tool === "string" ? tool : String(tool.name ?? "")));
}

function reachable({ entry, nodes, edges }: Graph): string[] {
  if (!Object.hasOwn(nodes, entry)) return [];
  const met = [entry];
  const known = new Set(met);
  for (const id of met) {
    const next = edges.filter(({ from }) => from === id).map(({ to }) => to);
    for (const to of [...next, nodes[id]?.compensation ?? ""]) {
      if (known.has(to) || !Object.hasOwn(nodes, to)) continue;
      known.add(to);
      met.push(to);
    }
  }
  return met;
}
