/** Editing operations on graphs: each answers a new graph, whose audit log records the change. Pure. */
import * as z from "zod/mini";
import { maybe } from "../../answer-shape.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import { asJson, textOf } from "../../skill/json.ts";
import { jsonObject } from "../../skill/json-shape.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { intersectPolicies } from "../agent/policy.ts";
import { type Fault, faultsBelow } from "../fault.ts";
import { type Graph, readGraph } from "./graph.ts";
import { toolNames, validateGraph } from "./validate.ts";

/** The input of an operation besides the graph. */
type EditInput = z.infer<ReturnType<typeof editInput>>;
export const editInput = () =>
  z.object({
    node_id: maybe(z.string()),
    node: maybe(jsonObject()),
    edge: maybe(jsonObject()),
    from: maybe(z.string()),
    to: maybe(z.string()),
    /** A text for `set_output_visibility`, else an object. */
    policy: maybe(z.union([z.string().check(z.minLength(1)), jsonObject()], "must be an object")),
    reason: maybe(z.string()),
  });

/** Provides ids and the time. */
interface EditSource {
  /** RFC 3339. */
  now: string;
  newId: () => string;
}

type Edited = { answer: Json } | { faults: Fault[] };
type Operation = (graph: Graph, input: EditInput, source: EditSource) => Edited;

/** The graph after a change. It is read again, so an edit cannot create a graph that a request could not bring. */
function changed(
  graph: Graph,
  change: JsonObject,
  op: string,
  input: EditInput,
  { now, newId }: EditSource,
): Edited {
  const { node_id, from, to, reason } = input;
  const entry = {
    op,
    at: now,
    ...(node_id === undefined ? {} : { node_id }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(reason === undefined ? {} : { reason }),
  };
  const whole: JsonObject = { ...asJson(graph), ...change, audit_log: [...graph.audit_log, entry] };
  const read = readGraph(whole, newId);
  return "faults" in read ? read : { answer: asJson(read.graph) };
}

const fault = (path: string, message: string): Edited => ({ faults: [{ path, message }] });

const onNode =
  (op: string, change: (node: JsonObject, input: EditInput) => JsonObject | Fault): Operation =>
  (graph, input, source) => {
    const { node_id = "" } = input;
    const node = graph.nodes[node_id];
    if (node === undefined) return fault("node_id", unknownNode(graph, node_id));
    const next = change(asJson(node), input);
    if ("path" in next && "message" in next && typeof next.path === "string")
      return { faults: [{ path: next.path, message: String(next.message) }] };
    return changed(
      graph,
      { nodes: { ...asJson<JsonObject>(graph.nodes), [node_id]: asJson(next) } },
      op,
      input,
      source,
    );
  };

const unknownNode = ({ nodes }: Graph, id: string): string =>
  `there is no node "${id}"; the graph has ${Object.keys(nodes).join(", ") || "none"}`;

/** A change that puts the input's `policy` into a field of a node. */
const setting = (op: string, field: string): Operation =>
  onNode(op, (node, { policy }) => {
    if (policy === undefined) return { path: "policy", message: "is missing" };
    return typeof policy === "string"
      ? { path: "policy", message: "must be an object" }
      : { ...node, [field]: policy };
  });

/** The operations by name, as `POST /workflows/{operation}` takes them. */
export const EDIT_OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["graph", (graph) => ({ answer: asJson(graph) })],
  [
    "insert_node",
    (graph, input, source) => {
      const id = input.node_id ?? textOf(input.node?.id);
      if (id === "") return fault("node_id", "is missing: what is the node called?");
      if (input.node === undefined) return fault("node", "is missing");
      if (Object.hasOwn(graph.nodes, id)) return fault("node_id", `there is a node "${id}" already`);
      const { id: _, ...node } = input.node;
      const edges = input.edge === undefined ? graph.edges : [...graph.edges, input.edge];
      const change = { nodes: { ...asJson(graph.nodes), [id]: node }, edges: asJson<Json[]>(edges) };
      return changed(graph, change, "insert_node", { ...input, node_id: id }, source);
    },
  ],
  [
    "replace_node",
    onNode("replace_node", (_, { node, node_id = "" }) =>
      node === undefined ? { path: "node", message: "is missing" } : { ...node, id: node_id },
    ),
  ],
  [
    "rewire",
    (graph, input, source) => {
      const { from, to, edge } = input;
      if (from === undefined) return fault("from", "is missing: which node does the edge leave?");
      if (to === undefined) return fault("to", "is missing: where does it lead?");
      const branch = textOf(edge?.branch);
      const kept = graph.edges.filter((one) => one.from !== from || (one.branch ?? "") !== branch);
      const added = { ...edge, from, to };
      const edges = asJson<Json[]>([...kept, added]);
      return changed(graph, { edges }, "rewire", { ...input, node_id: from }, source);
    },
  ],
  ["set_model_policy", setting("set_model_policy", "model_policy")],
  ["set_context_policy", setting("set_context_policy", "context_policy")],
  ["set_auto_compact", setting("set_auto_compact", "auto_compact")],
  [
    "set_output_visibility",
    onNode("set_output_visibility", (node, { policy }) => {
      const visibility =
        typeof policy === "string" ? policy : textOf(policy?.output_visibility ?? policy?.visibility);
      return visibility === ""
        ? { path: "policy", message: "is missing: who sees what the node says?" }
        : { ...node, output_visibility: visibility };
    }),
  ],
  [
    "clone",
    (graph, input, source) =>
      changed(graph, { id: `${graph.id}_clone`, version: graph.version + 1 }, "clone", input, source),
  ],
  [
    "commit",
    (graph, input, source) => {
      const { valid, errors } = validateGraph(graph);
      if (!valid) return { faults: errors.map(({ path, message }) => ({ path: `graph.${path}`, message })) };
      return changed(graph, { version: graph.version + 1 }, "commit", input, source);
    },
  ],
  [
    "validate",
    (graph, { policy }) => {
      const result = validateGraph(graph, typeof policy === "string" ? undefined : policy);
      return { answer: asJson(result) };
    },
  ],
  [
    "inspect",
    (graph) => {
      const { valid, errors, warnings, reachable_nodes } = validateGraph(graph);
      const nodes = Object.values(graph.nodes).map((node) => ({
        id: node.id,
        kind: node.kind,
        mode: node.mode ?? null,
        tools: toolNames(node) ?? [],
        outgoing: graph.edges
          .filter(({ from }) => from === node.id)
          .map(({ to, branch = null }) => ({ to, branch })),
        incoming: graph.edges
          .filter(({ to }) => to === node.id)
          .map(({ from, branch = null }) => ({ from, branch })),
      }));
      const { id, name, version, entry } = graph;
      return {
        answer: asJson({
          id,
          name,
          version,
          entry,
          node_count: nodes.length,
          edge_count: graph.edges.length,
          nodes,
          valid,
          errors,
          warnings,
          reachable_nodes,
        }),
      };
    },
  ],
  ["policy_report", (graph) => ({ answer: asJson(policyReport(graph)) })],
]);

/** The capabilities of each node: the graph's policy and its own, intersected, with the tools that it declares. */
function policyReport(graph: Graph) {
  const outer = graph.capability_policy === undefined ? null : asJson(graph.capability_policy);
  return {
    workflow: outer,
    nodes: Object.values(graph.nodes).map((node) => {
      const own = node.capability_policy === undefined ? null : asJson(node.capability_policy);
      return {
        node_id: node.id,
        own,
        effective: intersectPolicies(outer, own),
        tools: toolNames(node) ?? [],
      };
    }),
  };
}

/** The differences of two graphs. @throws nothing: a graph that cannot be read is a fault */
export function diffGraphs(left: Json, right: Json, newId: () => string): Edited {
  const [a, b] = [readGraph(left, newId), readGraph(right, newId)];
  if ("faults" in a) return { faults: faultsBelow("left", a.faults) };
  if ("faults" in b) return { faults: faultsBelow("right", b.faults) };
  const [from, to] = [a.graph, b.graph];
  const same = (x: unknown, y: unknown): boolean => canonicalJson(x) === canonicalJson(y);
  const ids = (graph: Graph): string[] => Object.keys(graph.nodes);
  const edge = ({ from: start, to: end, branch }: Graph["edges"][number]): string =>
    `${start} → ${end}${branch === undefined ? "" : ` (${branch})`}`;
  const edges = { left: from.edges.map(edge), right: to.edges.map(edge) };
  return {
    answer: {
      added_nodes: ids(to).filter((id) => !Object.hasOwn(from.nodes, id)),
      removed_nodes: ids(from).filter((id) => !Object.hasOwn(to.nodes, id)),
      changed_nodes: ids(from)
        .filter((id) => Object.hasOwn(to.nodes, id) && !same(from.nodes[id], to.nodes[id]))
        .map((id) => ({
          id,
          fields: changedFields(asJson(from.nodes[id] ?? {}), asJson(to.nodes[id] ?? {})),
        })),
      added_edges: edges.right.filter((one) => !edges.left.includes(one)),
      removed_edges: edges.left.filter((one) => !edges.right.includes(one)),
      entry: from.entry === to.entry ? null : { left: from.entry, right: to.entry },
      capability_policy_changed: !same(from.capability_policy ?? null, to.capability_policy ?? null),
    },
  };
}

function changedFields(a: JsonObject, b: JsonObject): string[] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return names.filter((name) => canonicalJson(a[name] ?? null) !== canonicalJson(b[name] ?? null)).toSorted();
}
