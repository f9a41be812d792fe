/** Graphs over HTTP: what is valid, the operations that change a copy, and the graphs that Hull stores. */
import { describe, expect, it, vi } from "vitest";
import { edge, said } from "../support/workflow-graphs.ts";
import { Client } from "./served.ts";
import { type Body, codeOf, get, post, send } from "./session-client.ts";
import { executed, type Run } from "./workflow-client.ts";

describe("POST /workflows/validate", () => {
  const valid = { nodes: { a: { kind: "stage" } } };
  it.each<[what: string, graph: object, path: string, ceiling?: object]>([
    ["an entry that is no node", { ...valid, entry: "x" }, "entry"],
    ["an edge to nowhere", { ...valid, edges: [edge("a", "x")] }, "edges.0.to"],
    ["an edge from nowhere", { ...valid, edges: [edge("x", "a")] }, "edges.0.from"],
    [
      "a condition with one branch",
      { nodes: { a: { kind: "condition" }, b: {} }, edges: [edge("a", "b", "true")] },
      "nodes.a.kind",
    ],
    [
      "a fork with one way",
      { nodes: { a: { kind: "fork" }, b: {} }, edges: [edge("a", "b")] },
      "nodes.a.kind",
    ],
    ["a map over nothing", { nodes: { a: { kind: "map" } } }, "nodes.a.map_policy"],
    [
      "more inputs wanted than allowed",
      { nodes: { a: { input_contract: { min_inputs: 2, max_inputs: 1 } } } },
      "nodes.a.input_contract.min_inputs",
    ],
    [
      "a contract whose schema names a type that does not exist",
      {
        nodes: {
          a: { output_contract: { schema: { type: "object", properties: { n: { type: "objekt" } } } } },
        },
      },
      "nodes.a.output_contract.schema.properties.n.type",
    ],
    [
      "an option that no run has",
      { nodes: { a: { model_policy: { max_tokenss: 1 } } } },
      "nodes.a.model_policy.max_tokenss",
    ],
    [
      "an option of another type",
      { nodes: { a: { model_policy: { max_iterations: "x" } } } },
      "nodes.a.model_policy.max_iterations",
    ],
    [
      "a tool that no provider takes",
      { nodes: { a: { tools: ["Read", { name: "BAD NAME", description: "x" }] } } },
      "nodes.a.tools.1.name",
    ],
    ["a tool without a name", { nodes: { a: { tools: [{ description: "x" }] } } }, "nodes.a.tools.0.name"],
    [
      "an unknown way to compact",
      { nodes: { a: { auto_compact: { bogus: 1 } } } },
      "nodes.a.auto_compact.bogus",
    ],
    [
      "a way to compact of another type",
      { nodes: { a: { auto_compact: { enabled: true, threshold: "low" } } } },
      "nodes.a.auto_compact.threshold",
    ],
    ["a wait without time, event or person", { nodes: { a: { kind: "wait", wait: {} } } }, "nodes.a.wait"],
    [
      "a tool above the ceiling",
      { nodes: { a: { tools: ["exec"] } } },
      "nodes.a.capability_policy",
      { tools: ["read"] },
    ],
    [
      "side effects above the ceiling",
      { nodes: { a: { capability_policy: { side_effect_level: "network" } } } },
      "nodes.a.capability_policy",
      { side_effect_level: "read_only" },
    ],
  ])("names the place of %s", async (_, graph, path, ceiling) => {
    const answer = await (await post("/workflows/validate", { graph, ceiling })).json<Body>();
    expect(answer).toMatchObject({ valid: false, errors: [{ path, message: expect.stringMatching(/\.$/) }] });
    if (ceiling === undefined) expect(await codeOf(await executed(graph))).toEqual([422, "workflow_invalid"]);
  });

  it("reads the tenant's model registry once, however many nodes there are", async () => {
    const isolate = new Client();
    const read = vi.spyOn(isolate.env.DB, "prepare");
    const nodes = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`n${n}`, {}]));
    const edges = Array.from({ length: 19 }, (_, n) => edge(`n${n}`, `n${n + 1}`));
    const answer = await isolate.post("/workflows/validate", { graph: { entry: "n0", nodes, edges } });
    expect(await answer.json()).toMatchObject({ valid: true });
    const rules = read.mock.calls.filter(([statement]) => statement.startsWith("SELECT rules"));
    read.mockRestore();
    expect(rules).toHaveLength(1);
  });

  it("warns of what has no effect, and lists the nodes that can be reached", async () => {
    const graph = {
      entry: "a",
      nodes: {
        a: { kind: "join" },
        b: { kind: "reduce" },
        c: {},
        d: { kind: "verify", verify: { expect_text: "Dear" } },
        e: { kind: "verify", mode: "agent", verify: { expect_text: "Dear" } },
        f: {
          tools: ["look", { name: "peek", description: "Peeks.", parameters: {} }],
          capability_policy: { tools: ["look"] },
        },
      },
      edges: [edge("a", "b"), edge("b", "d"), edge("d", "e"), edge("e", "f")],
    };
    expect(await (await post("/workflows/validate", { graph })).json()).toEqual({
      valid: true,
      errors: [],
      warnings: ["nodes.a.kind", "nodes.b.input_contract", "nodes.d.verify", "nodes.f.tools", "nodes.c"].map(
        (path) => expect.objectContaining({ path }),
      ),
      reachable_nodes: ["a", "b", "d", "e", "f"],
    });
  });

  it.each([
    [{ nodes: { a: { kind: "dance" } } }, "graph.nodes.a.kind"],
    [{ nodes: { a: { colour: 1 } } }, "graph.nodes.a.colour"],
    [{ nodes: { a: { id: "b" } } }, "graph.nodes.a.id"],
    [{}, "graph.nodes"],
  ])("refuses %j with its path", async (graph, path) => {
    const response = await post("/workflows/validate", { graph });
    expect([response.status, await response.json()]).toMatchObject([422, { errors: [{ path }] }]);
  });
});

describe("POST /workflows/{operation}", () => {
  const graph = { id: "g", entry: "a", nodes: { a: {}, b: {} }, edges: [edge("a", "b")] };
  const edited = async (operation: string, body: object) =>
    (await post(`/workflows/${operation}`, { graph, ...body })).json<Body>();

  it("changes a copy, and records it in its audit log", async () => {
    const inserted = await edited("insert_node", {
      node_id: "c",
      node: { kind: "verify" },
      edge: edge("b", "c"),
      reason: "check",
    });
    expect(inserted).toMatchObject({
      nodes: { c: { id: "c", kind: "verify" } },
      edges: [{}, edge("b", "c")],
      audit_log: [{ op: "insert_node", node_id: "c", reason: "check" }],
    });
    expect(await edited("replace_node", { node_id: "b", node: { kind: "join" } })).toMatchObject({
      nodes: { b: { kind: "join" } },
    });
    expect(await edited("rewire", { from: "a", to: "a" })).toMatchObject({
      edges: [edge("a", "a")],
      audit_log: [{ op: "rewire", from: "a", to: "a" }],
    });
    expect(await edited("set_model_policy", { node_id: "a", policy: { model: "m" } })).toMatchObject({
      nodes: { a: { model_policy: { model: "m" } } },
    });
    expect(await edited("set_output_visibility", { node_id: "a", policy: "internal" })).toMatchObject({
      nodes: { a: { output_visibility: "internal" } },
    });
    expect(await edited("clone", {})).toMatchObject({ id: "g_clone", version: 2 });
    expect(await edited("inspect", {})).toMatchObject({ node_count: 2, valid: true });
    const right = { ...graph, nodes: { ...graph.nodes, b: { kind: "join" }, c: {} } };
    expect(await (await post("/workflows/diff", { left: graph, right })).json()).toMatchObject({
      added_nodes: ["c"],
      changed_nodes: [{ id: "b", fields: ["kind"] }],
    });
  });

  it("names the fault", async () => {
    expect(await edited("replace_node", { node_id: "x", node: {} })).toMatchObject({
      errors: [{ path: "node_id" }],
    });
    expect(await edited("insert_node", { node_id: "c", node: { kind: "dance" } })).toMatchObject({
      errors: [{ path: "nodes.c.kind" }],
    });
    expect(await edited("replace_node", { node_id: "b", node: { path: "x", message: "y" } })).toMatchObject({
      errors: [{ path: "nodes.b.path" }, { path: "nodes.b.message" }],
    });
    expect(await edited("replace_node", { node_id: "constructor", node: {} })).toMatchObject({
      errors: [{ path: "node_id" }],
    });
    const at = async (path: string, body: object) => (await post(path, body)).json();
    const empty = [{ path: "left", message: expect.any(String) }];
    expect(await at("/workflows/inspect", {})).toMatchObject({ detail: "graph is required" });
    expect(await at("/workflows/diff", { right: {} })).toMatchObject({ detail: "left is required" });
    expect(await at("/workflows/diff", { left: [], right: {} })).toMatchObject({ errors: empty });
    expect(await edited("polish", {})).toMatchObject({
      code: "operation_not_found",
      detail: expect.stringContaining("on workflows"),
    });
  });
});

describe("stored workflows", () => {
  it("have versions by their digest; a run keeps the version that it began with", async () => {
    const graph = (text: string) => ({ nodes: { a: said(text) } });
    const put = async (text: string) => {
      const response = await send("PUT", "/workflows/flow", { graph: graph(text) });
      return [response.status, (await response.json<{ version: number }>()).version];
    };
    expect([await put("1"), await put("1"), await put("2")]).toEqual([
      [201, 1],
      [200, 1],
      [201, 2],
    ]);
    const ran = async (workflow: string) => {
      const response = await post("/workflows/execute", { task: "t", workflow });
      const { run: whole } = await response.json<{ run: Run }>();
      return [whole.workflow_name, whole.artifacts[0]?.text];
    };
    expect([await ran("flow"), await ran("flow@1")]).toEqual([
      ["flow", "2"],
      ["flow", "1"],
    ]);
    expect((await get<{ data: Body[] }>("/workflows")).data).toMatchObject([{ name: "flow", version: 2 }]);
    expect(await get("/workflows/flow")).toMatchObject({ version: 2, graph: { nodes: { a: {} } } });
    expect((await send("DELETE", "/workflows/flow")).status).toBe(204);
    expect(await codeOf(await post("/workflows/execute", { task: "t", workflow: "flow" }))).toEqual([
      404,
      "not_found",
    ]);
    expect((await send("PUT", "/workflows/runs", { graph: graph("x") })).status).toBe(405);
    expect((await send("PUT", "/workflows/clone", { graph: graph("x") })).status).toBe(400);
  });
});
