/** MCP servers that skills bind while they are active or loaded. */
import { expect, test } from "vitest";
import { fold } from "../../../../src/engine/agent/apply.ts";
import { allTools } from "../../../../src/engine/agent/session-tools.ts";
import { skillChanges } from "../../../../src/engine/agent/skill-changes.ts";
import { bindingWarnings } from "../../../../src/engine/agent/skill-servers.ts";
import type { AgentTool } from "../../../../src/engine/agent/spec.ts";
import { eventsOf } from "../../../../src/run/agent/events.ts";
import { goOn, offered, type Played, play, received, says, skill, started, tool } from "./harness.ts";

const DOCS = skill("docs", { mcp: ["wiki"] });
const remote = (name: string): AgentTool => ({ ...tool(name), executor: "mcp", handler: { server: "wiki" } });
const BOUND = { servers: ["wiki"], tools: [remote("wiki__find")], failed: [] };
const FAILED = { servers: [], tools: [], failed: [{ server: "wiki", message: "It is gone." }] };

/** Names of the events about skills, in order, with what they are about. */
function told({ records }: Played, spec: Parameters<typeof started>[0]): string[] {
  return [...fold([started(spec), ...records])]
    .flatMap(eventsOf)
    .filter(({ event }) => event.startsWith("skill_") && event !== "skill_matched")
    .map(({ event, data }) => [event, Reflect.get(data, "name"), Reflect.get(data, "server")])
    .map((words) => words.filter((word) => word !== undefined).join(" "));
}
const binds = ({ records }: Played) => records.filter(({ type }) => type === "skill_mcp_bound").length;

test("a matched skill binds its servers before the model is called, and once", async () => {
  const spec = { skills: [DOCS], prompt: says("the docs") };
  const played = await play({ spec, replies: [{ calls: [["wiki__find", {}]] }, "ok"], bind: () => BOUND });
  expect(played.requests.map((request) => offered(request)[0])).toEqual(["wiki__find", "wiki__find"]);
  expect([played.executed.map(({ name }) => name), binds(played)]).toEqual([["wiki__find"], 1]);
  expect(told(played, spec)).toEqual(["skill_activated docs", "skill_mcp_bound docs wiki"]);
});

test.each<[string, Parameters<typeof play>[0]]>([
  ["loads", { replies: [{ calls: [["load_skill", { name: "docs" }]] }, "ok"], spec: { prompt: says("hm") } }],
  ["sees because a message names it", { replies: ["ok"], spec: { prompt: says("/docs now") } }],
])("a skill that the model %s binds its servers too", async (_, { replies, spec }) => {
  const played = await play({ spec: { ...spec, skills: [DOCS] }, replies, bind: () => BOUND });
  expect(offered(played.requests.at(-1) ?? expect.fail())).toContain("wiki__find");
  expect(binds(played)).toBe(1);
});

test("a skill that is not active binds no server", async () => {
  const played = await play({ spec: { skills: [DOCS], prompt: says("hm") }, replies: ["ok"] });
  expect([offered(played.requests[0] ?? expect.fail()), binds(played)]).toEqual([["load_skill"], 0]);
});

test("a deactivated skill unbinds its servers, and binds them again with its next activation", async () => {
  const other = skill("cooking");
  const spec = {
    skills: [DOCS, other],
    prompt: says("docs"),
    tools: [tool("work")],
    skill_match: { strategy: "metadata", top_n: 1, sticky: false },
  };
  const played = await play({
    spec,
    replies: [
      { calls: [["work", {}]] },
      { calls: [["wiki__find", {}]] },
      { calls: [["work", { n: 1 }]] },
      "ok",
    ],
    incoming: { 1: [received("cooking")], 3: [received("docs")] },
    bind: () => BOUND,
  });
  expect(played.requests.map((request) => offered(request).includes("wiki__find"))).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect(played.run.rejected_tools).toEqual(["wiki__find"]);
  expect(binds(played)).toBe(2);
});

test("a failing server is reported, costs only its own tools, and is not asked in every turn", async () => {
  const spec = { skills: [DOCS], prompt: says("the docs"), tools: [tool("work")] };
  const played = await play({ spec, replies: [{ calls: [["work", {}]] }, "ok"], bind: () => FAILED });
  expect([played.run.status, binds(played)]).toEqual(["done", 1]);
  expect(told(played, spec)).toEqual(["skill_activated docs", "skill_mcp_bind_failed docs wiki"]);
  const warned = played.records.flatMap((record) =>
    record.type === "skill_mcp_bound" ? bindingWarnings(record) : [],
  );
  expect(warned).toEqual([
    {
      code: "mcp_server_unavailable",
      message: expect.stringContaining("wiki. It is gone."),
      option: "skills",
    },
  ]);
});

test("the run's own tools win; policies and scopes hold for what was bound", async () => {
  const own = tool("wiki__find");
  const both = { ...BOUND, tools: [remote("wiki__find"), remote("wiki__edit")] };
  const base = { prompt: says("the docs"), tools: [own] };
  const policies = {
    policy: { tools: ["wiki__find"] },
    approval_policy: null,
    permissions: null,
    approval_timeout_s: 1,
  };
  const ruled = await play({
    spec: { ...base, skills: [DOCS], policies },
    replies: [{ calls: [["wiki__edit", {}]] }, "ok"],
    bind: () => both,
  });
  expect([ruled.run.rejected_tools, ruled.executed]).toEqual([["wiki__edit"], []]);
  expect(ruled.requests[0]?.tools.filter(({ name }) => name === "wiki__find")).toEqual([own.definition]);
  const scoped = skill("docs", { mcp: ["wiki"], allowed_tools: ["wiki__edit"] });
  const { requests } = await play({ spec: { ...base, skills: [scoped] }, replies: ["ok"], bind: () => both });
  expect(offered(requests[0] ?? expect.fail())).toEqual(["wiki__edit", "load_skill"]);
});

test("the session's next run has the skill active from the start, and binds the servers again", async () => {
  const first = await play({
    spec: { skills: [DOCS], prompt: says("the docs") },
    replies: ["ok"],
    bind: () => BOUND,
  });
  const state = goOn(first, { run_id: "run_2", skills: [DOCS], prompt: says("hm") });
  const second = await play({ state, replies: ["ok"], bind: () => BOUND });
  expect([offered(second.requests[0] ?? expect.fail())[0], binds(second)]).toEqual(["wiki__find", 1]);
});

test("a skill that is also loaded keeps its servers when it is deactivated", async () => {
  const { run, state } = await play({ spec: { skills: [DOCS], prompt: says("the docs") }, replies: ["ok"] });
  const bound = [{ skill: "docs", servers: ["wiki"], tools: [remote("wiki__find")] }];
  const changes = (loaded: string[]) => {
    const before = { ...state, run: { ...run, active: ["docs"], loaded, bound } };
    const at = { v: 1 as const, at: 0, run: "run_1", iteration: 1 };
    const record = {
      ...at,
      type: "skills_matched" as const,
      strategy: "metadata",
      reassess: true,
      candidates: [],
      active: [],
      warnings: [],
    };
    return skillChanges({ record, before, after: before }).map(({ event }) => event);
  };
  expect(changes(["docs"])).toEqual(["skill_deactivated"]);
  expect(changes([])).toEqual(["skill_deactivated", "skill_mcp_unbound"]);
});

test("of tools with one name that of the run counts, then that of the session", async () => {
  const spec = { tools: [tool("a")] };
  const { run } = await play({ spec, replies: ["ok"] });
  const [a, b] = [tool("a", { kind: "edit" }), tool("b", { kind: "edit" })];
  const bound = [{ skill: "docs", servers: ["wiki"], tools: [remote("a"), remote("b"), remote("c")] }];
  const all = allTools({ ...run, tools: [a, b], bound });
  expect(all).toEqual([...spec.tools, b, remote("c")]);
});
