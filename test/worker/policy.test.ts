/** Policies of runs below the deployment's own, through POST /runs. */

import { beforeAll, describe, expect, it } from "vitest";
import { detachedContext } from "../../src/run/context.ts";
import { RunArtifacts } from "../../src/run/handler/artifacts.ts";
import { handlerEnvironment } from "../../src/run/handler/environment.ts";
import type { JsonObject } from "../../src/skill/manifest.ts";
import { Client, mockSkill } from "./served.ts";

const client = (policy: object | null) =>
  new Client({
    HULL_ENV: "local",
    ...(policy === null ? {} : { HULL_CONFIG: JSON.stringify({ policy }) }),
  });
const HOOKED = "export const act = ({ path }) => 'acted on ' + path;";

interface Asked {
  tools?: string[];
  calls?: [string, object?][];
  options?: object;
  under?: object | null;
}

async function run({ tools = ["read", "exec"], calls = [["exec"]], options = {}, under = null }: Asked) {
  const asked = client(under);
  const mock = [
    { tool_calls: calls.map(([name, args]) => ({ name, arguments: args ?? {} })) },
    { text: "end" },
  ];
  const declared = tools.map((name) => ({
    name,
    description: name,
    parameters: { path: { type: "string", required: false } },
    handler: "act",
  }));
  const response = await asked.fetch("/runs", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      prompt: "go",
      options: { skills: ["hooked"], tools: declared, mock, ...options },
    }),
  });
  return { status: response.status, body: await response.json<Record<string, unknown>>() };
}

beforeAll(async () => {
  await client(null).publish(
    { hooked: mockSkill("hooked") },
    { "hooks.js": new TextEncoder().encode(HOOKED) },
  );
});

describe("a capability policy", () => {
  it.each<[string, Asked, string[], string[]]>([
    ["tools: only those", { options: { policy: { tools: ["read"] } } }, [], ["exec"]],
    ["tools: []: none", { calls: [["read"]], options: { policy: { tools: [] } } }, [], ["read"]],
    ["absent: all", {}, ["exec"], []],
    [
      "roots that do not meet: nothing may be touched",
      {
        calls: [
          ["read", { path: "b/x" }],
          ["read", { path: "a/x" }],
        ],
        under: { workspace_roots: ["a/"] },
        options: { policy: { workspace_roots: ["b/"] } },
      },
      [],
      ["read"],
    ],
    [
      "a root excludes absolute paths and those above it",
      {
        calls: ["a/x", "/a/x", "../a/x", "/etc/passwd"].map((path) => ["read", { path }]),
        options: { policy: { workspace_roots: ["."] } },
      },
      ["read"],
      ["read"],
    ],
    [
      "absolute roots allow only absolute paths",
      { calls: [["read", { path: "/a/../a/x" }]], options: { policy: { workspace_roots: ["/a"] } } },
      ["read"],
      [],
    ],
    [
      "what may be written is in the workspace, however wide the glob",
      {
        calls: ["../x", "/x"].map((path) => ["exec", { path }]),
        options: { approval_policy: { write_path_allowlist: ["**"] } },
      },
      [],
      ["exec"],
    ],
    [
      "what a run says of its tools does not lift the deployment's ceiling",
      {
        under: { side_effect_level: "read_only", capabilities: {} },
        options: {
          policy: { tool_annotations: { exec: { side_effect_level: "none", capabilities: {} } } },
        },
      },
      [],
      ["exec"],
    ],
    [
      "a constraint checks the first parameter that is declared as a text, also if its argument is a list",
      {
        calls: [["read", { path: ["b"], further: "ax" }]],
        options: { policy: { tool_arg_constraints: [{ tool: "read", arg_patterns: ["a*"] }] } },
      },
      [],
      ["read"],
    ],
    [
      "constraints of both hold",
      {
        calls: [
          ["read", { path: "ax" }],
          ["exec", { path: "ab" }],
        ],
        under: { tool_arg_constraints: [{ tool: "read", arg_key: "path", arg_patterns: ["a*"] }] },
        options: {
          policy: { tool_arg_constraints: [{ tool: "read", arg_key: "path", arg_patterns: ["*b"] }] },
        },
      },
      ["exec"],
      ["read"],
    ],
    [
      "a constraint without a name checks the first parameter that the tool declares, whichever argument comes first",
      {
        calls: [["read", { before: "a", path: "zz" }]],
        options: { policy: { tool_arg_constraints: [{ tool: "read", arg_patterns: ["a*"] }] } },
      },
      [],
      ["read"],
    ],
    [
      "two lists permit the tools that are in both",
      { under: { tools: ["read", "exec"] }, options: { policy: { tools: ["read"] } } },
      [],
      ["exec"],
    ],
    [
      "an empty list below a list permits nothing",
      { calls: [["read"]], under: { tools: ["read"] }, options: { policy: { tools: [] } } },
      [],
      ["read"],
    ],
    ["the deployment's list alone", { under: { tools: ["read"] } }, [], ["exec"]],
  ])("%s", async (_, asked, successful_tools, rejected_tools) => {
    const { status, body } = await run(asked);
    expect([status, body.status]).toEqual([200, "done"]);
    expect(body).toMatchObject({ successful_tools, rejected_tools });
  });

  it("a request for more than the ceiling is narrowed, and the answer says what was dropped", async () => {
    const policy = { tools: ["read", "exec"] };
    const asked = { calls: [["read"] as [string]], under: { tools: ["read"] }, options: { policy } };
    const { body } = await run(asked);
    expect(body).toMatchObject({ policy_dropped: ["exec"], successful_tools: ["read"] });
    const none = await run({ ...asked, options: { policy: { tools: ["exec"] } } });
    expect([none.status, none.body.code, none.body.tools]).toEqual([403, "tool_rejected", ["exec"]]);
    const blocking = { ...asked, under: { blocked_tools: ["ex*"] } };
    expect((await run(blocking)).body).toMatchObject({
      policy_dropped: ["exec"],
      successful_tools: ["read"],
    });
    const blocked = await run({ ...blocking, options: { policy: { tools: ["exec"] } } });
    expect([blocked.status, blocked.body.tools]).toEqual([403, ["exec"]]);
  });

  it.each([
    [{ policy: { tool: ["read"] } }, "options.policy.tool"],
    [{ approval_policy: { require_aproval: ["*"] } }, "options.approval_policy.require_aproval"],
    [{ permissions: { denies: [] } }, "options.permissions.denies"],
    [{ policy: { side_effect_level: "all" } }, "options.policy.side_effect_level"],
  ])("a misspelt key is reported, since it would mean no limit: %j", async (options, path) => {
    const { status, body } = await run({ options });
    expect(status).toBe(422);
    expect(body.errors).toContainEqual(expect.objectContaining({ path }));
  });

  it("of the deployment holds below a workflow whose graph says that a tool has no side effects", async () => {
    const asked = client({ side_effect_level: "read_only" });
    const post = async (path: string, body: object): Promise<JsonObject> => {
      const headers = { "content-type": "application/json" };
      const response = await asked.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
      return response.json<JsonObject>();
    };
    const graph = {
      entry: "wait",
      nodes: { wait: { kind: "wait", wait: { event: "go" } } },
      edges: [],
      capability_policy: { tool_annotations: { exec: { side_effect_level: "none" } } },
    };
    const { id } = await post("/workflows/execute?wait=none", { task: "Wait.", graph });
    const tools = [{ name: "exec", description: "exec", parameters: {}, handler: "act" }];
    const mock = [{ tool_calls: [{ name: "exec", arguments: {} }] }, { text: "##DONE##" }];
    const node = { mode: "agent", done_sentinel: "##DONE##" };
    const options = { skills: ["hooked"], tools, mock };
    const task = { task: "Go.", node, options, parent_session_id: id, wait: true };
    expect(await post("/tasks", task)).toMatchObject({
      status: "completed",
      result: { rejected_tools: ["exec"], successful_tools: [] },
    });
  });
});

it.each<[JsonObject | null, boolean]>([
  [null, true],
  [{}, true],
  [{ side_effect_level: "workspace_write" }, false],
  [{ side_effect_level: "process_exec" }, true],
  [{ side_effect_level: "network" }, true],
])("under the ceiling %j handlers in isolates may start processes: %s", (policy, processes) => {
  const origin = { requestId: "r", tenant: "acme", startedAt: 0 };
  const environment = handlerEnvironment(
    detachedContext(new Client().deployment, origin, () => {}),
    {
      emit: () => {},
      known: null,
      workspace: null,
      choice: { bot: null, perCall: null },
      policy,
      artifacts: new RunArtifacts(() => null).call("e"),
    },
  );
  expect(environment.processes).toBe(processes);
});
