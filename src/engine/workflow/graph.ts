/** A workflow graph: its shape, its shorthand, its defaults. Pure. */
import * as z from "zod/mini";
import { once } from "../../memo.ts";
import { MAX_AHEAD_MS } from "../../skill/field-kinds.ts";
import { defined, isObject, withoutNulls } from "../../skill/json.ts";
import { anyJson, jsonObject } from "../../skill/json-shape.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { approvalPolicyShape, policyShape } from "../../skill/policy.ts";
import { type Fault, shapeErrors } from "../fault.ts";
import { contextPolicyShape } from "./select-artifacts.ts";

const maybe = z.exactOptional;

const NODE_KINDS = [
  "stage",
  "verify",
  "condition",
  "fork",
  "join",
  "map",
  "reduce",
  "escalation",
  "subagent",
  "wait",
] as const;
export type NodeKind = (typeof NODE_KINDS)[number];

/** The form of a node's id, which is part of the ids of stages and events. */
const NODE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** Nodes and edges of one graph. */
const MAX_NODES = 500;
const MAX_EDGES = 2_000;
/** A year, in ms. */
export const MAX_WAIT_MS = 366 * 24 * 3_600_000;

const shapes = once(() => {
  const text = z.string();
  const texts = z.array(text);
  const count = z.int().check(z.nonnegative());
  const positive = z.int().check(z.positive());
  const object = jsonObject();
  const json = anyJson();
  const wait = z.strictObject({
    sleep_ms: maybe(count.check(z.lte(MAX_WAIT_MS))),
    until: maybe(z.iso.datetime({ offset: true, error: "must be a time as RFC 3339" })),
    event: maybe(text.check(z.minLength(1), z.maxLength(256))),
    key: maybe(text.check(z.maxLength(256))),
    approval: maybe(text.check(z.minLength(1))),
    timeout_ms: maybe(positive.check(z.lte(MAX_WAIT_MS))),
  });
  const node = z.strictObject({
    id: maybe(text.check(z.regex(NODE_ID, "must be an id of 1 to 128 characters A-Za-z0-9._-"))),
    kind: maybe(z.enum(NODE_KINDS)),
    mode: maybe(z.enum(["llm", "agent"])),
    prompt: maybe(text),
    system: maybe(text),
    task_label: maybe(text),
    done_sentinel: maybe(text),
    tools: maybe(z.array(z.union([text, object], "must be a tool's name or declaration"))),
    model_policy: maybe(object),
    auto_compact: maybe(object),
    output_visibility: maybe(text),
    context_policy: maybe(contextPolicyShape()),
    retry_policy: maybe(
      z.strictObject({
        max_attempts: maybe(positive.check(z.lte(100))),
        verify: maybe(z.boolean()),
        repair: maybe(z.boolean()),
        backoff_ms: maybe(count.check(z.lte(MAX_WAIT_MS))),
        backoff_multiplier: maybe(z.number().check(z.gte(1), z.lte(100))),
        retry_on: maybe(texts),
      }),
    ),
    timeout_ms: maybe(positive.check(z.lte(MAX_AHEAD_MS))),
    total_timeout_ms: maybe(positive.check(z.lte(MAX_AHEAD_MS))),
    capability_policy: maybe(policyShape),
    approval_policy: maybe(approvalPolicyShape),
    input_contract: maybe(
      z.strictObject({
        input_kinds: maybe(texts),
        min_inputs: maybe(count),
        max_inputs: maybe(count),
        require_transcript: maybe(z.boolean()),
        schema: maybe(object),
      }),
    ),
    output_contract: maybe(z.strictObject({ output_kinds: maybe(texts), schema: maybe(object) })),
    branch_semantics: maybe(json),
    map_policy: maybe(
      z.strictObject({
        items: maybe(z.array(json).check(z.maxLength(10_000))),
        item_artifact_kind: maybe(text),
        output_kind: maybe(text),
        max_items: maybe(positive),
        max_concurrent: maybe(positive.check(z.lte(100))),
      }),
    ),
    join_policy: maybe(
      z.strictObject({
        strategy: maybe(z.enum(["all", "first", "quorum"])),
        require_all_inputs: maybe(z.boolean()),
        min_completed: maybe(positive),
      }),
    ),
    reduce_policy: maybe(
      z.strictObject({
        strategy: maybe(z.enum(["concat"])),
        separator: maybe(text),
        output_kind: maybe(text),
      }),
    ),
    escalation_policy: maybe(z.strictObject({ level: maybe(text), queue: maybe(text), reason: maybe(text) })),
    verify: maybe(
      z.strictObject({
        command: maybe(text),
        assert_text: maybe(text),
        expect_status: maybe(z.int()),
        expect_text: maybe(text),
      }),
    ),
    wait: maybe(wait),
    exit_when_verified: maybe(z.boolean()),
    compensation: maybe(text),
    metadata: maybe(object),
  });
  const edge = z.strictObject({
    from: text,
    to: text,
    branch: maybe(text),
    label: maybe(text),
    max_traversals: maybe(positive),
  });
  const graph = z.strictObject({
    _type: maybe(z.literal("workflow_graph")),
    /** `wf_…`, or as given. */
    id: maybe(text),
    name: maybe(text),
    version: maybe(positive),
    entry: maybe(text),
    nodes: z
      .record(text.check(z.regex(NODE_ID, "must be an id of 1 to 128 characters A-Za-z0-9._-")), node)
      .check(
        z.refine((nodes) => Object.keys(nodes).length <= MAX_NODES, `must be at most ${MAX_NODES} nodes`),
      ),
    edges: maybe(z.array(edge).check(z.maxLength(MAX_EDGES))),
    capability_policy: maybe(policyShape),
    approval_policy: maybe(approvalPolicyShape),
    metadata: maybe(object),
    /** One entry for each change by an editing operation: `{op, at, reason?, …}`. */
    audit_log: maybe(z.array(json)),
  });
  return { node, edge, graph };
});

export const nodeShape = () => shapes().node;
const edgeShape = () => shapes().edge;
export const graphShape = () => shapes().graph;

/** A node as it is given, without its defaults. */
type GivenNode = z.infer<ReturnType<typeof nodeShape>>;
export type Edge = z.infer<ReturnType<typeof edgeShape>>;
type GivenGraph = z.infer<ReturnType<typeof graphShape>>;

export interface Node extends GivenNode {
  id: string;
  kind: NodeKind;
}

/** A graph with its defaults. */
export interface Graph
  extends Pick<GivenGraph, "capability_policy" | "approval_policy">,
    Required<Omit<GivenGraph, "nodes" | "capability_policy" | "approval_policy">> {
  nodes: { [id: string]: Node };
}

/** Edges of the shorthand. A graph gets those between the nodes that it has. */
const SHORTHAND_EDGES: readonly Edge[] = [
  { from: "act", to: "verify" },
  { from: "verify", to: "repair", branch: "failed" },
  { from: "repair", to: "verify", max_traversals: 3 },
];

/**
 * Reads a graph: `{nodes, edges, …}`, or the shorthand `{act, verify?, repair?}`, whose nodes take their kind from their
 * name.
 * @param newId makes the id of a graph without one
 * @returns if the shape is wrong, the faults with their dotted paths; `validateGraph` checks the meaning
 */
export function readGraph(given: Json, newId: () => string): { graph: Graph } | { faults: Fault[] } {
  const bare = isObject(given) ? expand(given) : given;
  const parsed = graphShape().safeParse(clean(bare));
  if (!parsed.success) return { faults: shapeErrors(parsed.error) };
  const {
    nodes,
    edges = [],
    id,
    name = "workflow",
    version = 1,
    metadata = {},
    audit_log = [],
  } = parsed.data;
  const { capability_policy, approval_policy } = parsed.data;
  const wrong = Object.entries(nodes).find(([key, node]) => node.id !== undefined && node.id !== key);
  if (wrong !== undefined) {
    const [key, node] = wrong;
    return {
      faults: [{ path: `nodes.${key}.id`, message: `the node is called ${key}, and its id says ${node.id}` }],
    };
  }
  const entry = parsed.data.entry ?? Object.keys(nodes).toSorted()[0] ?? "";
  return {
    graph: {
      _type: "workflow_graph",
      id: id ?? newId(),
      name,
      version,
      entry,
      nodes: Object.fromEntries(
        Object.entries(nodes).map(([key, node]) => [key, { ...node, id: key, kind: node.kind ?? "stage" }]),
      ),
      edges,
      ...defined({ capability_policy, approval_policy }),
      metadata,
      audit_log,
    },
  };
}

/** The kind of artifact that a node makes. */
export function outputKind(
  node: Pick<Node, "kind" | "output_contract" | "map_policy" | "reduce_policy">,
): string {
  const named =
    node.output_contract?.output_kinds?.[0] ??
    node.map_policy?.output_kind ??
    node.reduce_policy?.output_kind;
  if (named !== undefined) return named;
  switch (node.kind) {
    case "verify":
      return "verification_result";
    case "reduce":
      return "summary";
    case "escalation":
      return "plan";
    default:
      return "artifact";
  }
}

function expand(given: JsonObject): JsonObject {
  if (given.nodes !== undefined || given.act === undefined) return given;
  const { act, verify, repair, ...rest } = given;
  const named: JsonObject = {};
  for (const [id, node] of Object.entries({ act, verify, repair })) {
    if (node === undefined || node === null) continue;
    named[id] = isObject(node) ? { kind: id === "verify" ? "verify" : "stage", ...node } : node;
  }
  const edges = SHORTHAND_EDGES.filter(({ from, to }) => from in named && to in named);
  return { entry: "act", ...rest, nodes: named, edges: edges.map((edge) => ({ ...edge })) };
}

/** `null` means absent, in the graph, its nodes and its edges. */
function clean(given: Json): Json {
  const graph = withoutNulls(given);
  if (!isObject(graph)) return graph;
  const { nodes, edges } = graph;
  return {
    ...graph,
    ...(isObject(nodes)
      ? { nodes: Object.fromEntries(Object.entries(nodes).map(([id, node]) => [id, withoutNulls(node)])) }
      : {}),
    ...(Array.isArray(edges) ? { edges: withoutNulls(edges) } : {}),
  };
}
