/** Editing operations on graphs: each answers a new graph, whose audit log records the change. Pure. */
import * as z from "zod/mini";
import { maybe } from "../../answer-shape.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import { asJson, own, textOf } from "../../skill/json.ts";
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

type Refused = { faults: Fault[] };
type Edited = { answer: Json } | Refused;
/** The members of the graph that change, and the node that the audit log names if it is not that of the input. */
type Changed = { change: Partial<Record<keyof Graph, unknown>>; node_id?: string };
type Operation = (graph: Graph, input: EditInput) => Changed | Edited;

const fault = (path: string, message: string): Refused => ({ faults: [{ path, message }] });

const onNode =
  (change: (node: JsonObject, input: EditInput) => { node: JsonObject } | Refused): Operation =>
  (graph, input) => {
    const { node_id = "" } = input;
    const node = own(graph.nodes, node_id);
    if (node === undefined) {
      const known = Object.keys(graph.nodes).join(", ") || "none";
      return fault("node_id", `there is no node "${node_id}"; the graph has ${known}`);
    }
    const next = change(asJson(node), input);
    if ("faults" in next) return next;
    return { change: { nodes: { ...graph.nodes, [node_id]: next.node } } };
  };

/** A change that puts the input's `policy` into a field of a node. */
const setting = (field: string): Operation =>
  onNode((node, { policy }) => {
    if (policy === undefined) return fault("policy", "is missing");
    return typeof policy === "string"
      ? fault("policy", "must be an object")
      : { node: { ...node, [field]: policy } };
  });

const OPERATIONS: Readonly<Record<string, Operation>> = {
  graph: (graph) => ({ answer: asJson(graph) }),
  insert_node: (graph, { node_id, node: given, edge }) => {
    const id = node_id ?? textOf(given?.id);
    if (id === "") return fault("node_id", "is missing: what is the node called?");
    if (given === undefined) return fault("node", "is missing");
    if (Object.hasOwn(graph.nodes, id)) return fault("node_id", `there is a node "${id}" already`);
    const { id: _, ...node } = given;
    const edges = edge === undefined ? graph.edges : [...graph.edges, edge];
    return { change: { nodes: { ...graph.nodes, [id]: node }, edges }, node_id: id };
  },
  replace_node: onNode((_, { node, node_id = "" }) =>
    node === undefined ? fault("node", "is missing") : { node: { ...node, id: node_id } },
  ),
  rewire: (graph, { from, to, edge }) => {
    if (from === undefined) return fault("from", "is missing: which node does the edge leave?");
    if (to === undefined) return fault("to", "is missing: where does it lead?");
    const branch = textOf(edge?.branch);
    const kept = graph.edges.filter((one) => one.from !== from || (one.branch ?? "") !== branch);
    return { change: { edges: [...kept, { ...edge, from, to }] }, node_id: from };
  },
  set_model_policy: setting("model_policy"),
  set_context_policy: setting("context_policy"),
  set_auto_compact: setting("auto_compact"),
  set_output_visibility: onNode((node, { policy }) => {
    const visibility =
      typeof policy === "string" ? policy : textOf(policy?.output_visibility ?? policy?.visibility);
    return visibility === ""
      ? fault("policy", "is missing: who sees what the node says?")
      : { node: { ...node, output_visibility: visibility } };
  }),
  clone: ({ id, version }) => ({ change: { id: `${id}_clone`, version: version + 1 } }),
  commit: (graph) => {
    const { valid, errors } = validateGraph(graph);
    if (valid) return { change: { version: graph.version + 1 } };
    return { faults: errors.map(({ path, message }) => ({ path: `graph.${path}`, message })) };
  },
  validate: (graph, { policy }) => ({
    answer: asJson(validateGraph(graph, typeof policy === "string" ? undefined : policy)),
  }),
  inspect: (graph) => {
    const { id, name, version, entry, edges } = graph;
    const nodes = Object.values(graph.nodes).map((node) => ({
      id: node.id,
      kind: node.kind,
      mode: node.mode ?? null,
      tools: toolNames(node) ?? [],
      outgoing: edges.filter(({ from }) => from === node.id).map(({ to, branch = null }) => ({ to, branch })),
      incoming: edges.filter(({ to }) => to === node.id).map(({ from, branch = null }) => ({ from, branch })),
    }));
    const counts = { node_count: nodes.length, edge_count: edges.length };
    return { answer: asJson({ id, name, version, entry, ...counts, nodes, ...validateGraph(graph) }) };
  },
  policy_report: (graph) => ({ answer: asJson(policyReport(graph)) }),
};

/** The operations by name, as `POST /workflows/{operation}` takes them. */
export const EDIT_OPERATIONS: ReadonlyMap<
  string,
  (graph: Graph, input: EditInput, source: EditSource) => Edited
> = new Map(
  Object.entries(OPERATIONS).map(([op, operation]) => [
    op,
    (graph, input, source) => {
      const edited = operation(graph, input);
      return "change" in edited ? changed(graph, op, { ...input, ...edited }, source) : edited;
    },
  ]),
);

/** The graph after a change. It is read again, so an edit cannot create a graph that a request could not bring. */
function changed(
  graph: Graph,
  op: string,
  { change, node_id, from, to, reason }: EditInput & Changed,
  { now, newId }: EditSource,
): Edited {
  const entry = { op, at: now, node_id, from, to, reason };
  const whole = { ...graph, ...change, audit_log: [...graph.audit_log, entry] };
  const read = readGraph(asJson(whole), newId);
  return "faults" in read ? read : { answer: asJson(read.graph) };
}

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
