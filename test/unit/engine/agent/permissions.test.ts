/** What is granted to a call, and what a grant does not reach. */
import { describe, expect, it } from "vitest";
import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import type { AgentSpec, RunPolicies } from "../../../../src/engine/agent/spec.ts";
import type { AgentState } from "../../../../src/engine/agent/state.ts";
import type { Json, JsonObject } from "../../../../src/skill/manifest.ts";
import { goOn, type Played, play, type Reply, SPEC, tool, toolTexts } from "./harness.ts";

const edit = tool("edit");
const policies = (given: Partial<RunPolicies>) => ({ policies: { ...SPEC.policies, ...given } });
const refused = (answers: JsonObject = {}): Partial<RunPolicies> => ({
  permissions: { deny: ["edit"], on_escalation: "ask" },
  ...answers,
});
const call = (args: JsonObject = {}): Reply => ({ calls: [["edit", args]] });
const asks = (answer: Json) => ({ ask: () => answer });
const becomes = ({ executed, step, run }: Played): string =>
  step.type === "wait" ? step.status : executed.length > 0 ? "runs" : run.rejected_tools.join();

describe("what an escalation grants still passes the approvals", () => {
  it.each<[string, JsonObject, string]>([
    ["denied beforehand", { auto_deny: ["edit"] }, "edit"],
    ["a person has to approve", { require_approval: ["edit"] }, "awaiting_approval"],
    ["a path outside of the list", { write_path_allowlist: ["out/*"] }, "edit"],
    ["approved beforehand", { auto_approve: ["*"] }, "runs"],
  ])("%s", async (_, approval_policy, expected) => {
    const spec = { tools: [edit], ...policies(refused({ approval_policy })) };
    const played = await play({ spec, replies: [call({ path: "etc/x" }), "end"], hooks: asks("session") });
    expect(becomes(played)).toBe(expected);
  });
});

it("the hook's reason for a refusal reaches the model, after that of the rule", async () => {
  const hooks = asks({ grant: false, reason: "Not on Fridays.", approver: "ada" });
  const spec = { tools: [edit], ...policies(refused()) };
  const { requests } = await play({ spec, replies: [call(), "end"], hooks });
  const [shown = ""] = requests[1] === undefined ? [] : toolTexts(requests[1]);
  expect(JSON.parse(shown).reason).toMatch(/denied by the run's permissions\. Not on Fridays\.$/);
});

it.each<[string, Json, JsonObject[], number]>([
  ["once for what the session's grant covers", "session", [{}, {}, {}], 1],
  ["for each call of which the answer holds once", "once", [{}, {}, {}], 3],
  ["for each refusal", false, [{}, {}], 2],
  ["for other arguments", "session", [{}, { n: 1 }, {}], 2],
])("identical calls of one turn: a hook is asked %s", async (_, answer, args, times) => {
  const calls = args.map((each): [string, JsonObject] => ["edit", each]);
  const spec = { tools: [edit], ...policies(refused()) };
  const { executed, hooks } = await play({ spec, replies: [{ calls }, "end"], hooks: asks(answer) });
  expect([hooks.length, executed.length]).toEqual([times, answer === false ? 0 : args.length]);
});

it.each<[becomes: string, permissions: JsonObject, args: JsonObject]>([
  ["edit", { deny: { edit: true } }, {}],
  ["runs", { deny: { edit: false, "*": ["/etc/*"] } }, { path: "/src/a" }],
  ["edit", { deny: { edit: false, "e*": ["/etc/*"] } }, { path: "/etc/a" }],
  ["edit", { deny: { edit: ["*[7]*"] } }, { lines: [7] }],
  ["edit", { deny: { edit: ["caf\u00e9*"] } }, { path: "cafe\u0301.txt" }],
  ["edit", { deny: { edit: "yes" } }, {}],
  ["runs", { deny: { edit: "no", other: "yes" } }, {}],
  ["edit", { deny: { edit: "no" }, allow: { edit: "no" } }, {}],
  ["runs", { deny: { edit: "no" }, allow: { edit: "yes" } }, {}],
  ["edit", { deny: { edit: "yes" }, allow: { edit: "yes" } }, {}],
  ["edit", { allow: ["other", 7] }, {}],
  ["runs", { allow: ["e*"] }, {}],
  ["runs", { allow: [], deny: [] }, {}],
  ["runs", { allow: {}, deny: {} }, {}],
])("%s: a call under the permissions %j with the arguments %j", async (expected, permissions, args) => {
  const spec = { tools: [edit], ...policies({ permissions }) };
  const hooks = { yes: () => true, no: () => false };
  expect(becomes(await play({ spec, replies: [call(args), "end"], hooks }))).toBe(expected);
});

it.each<[becomes: string, answer: Json]>([
  ["runs", true],
  ["runs", "once"],
  ["runs", "session"],
  ["runs", { grant: true }],
  ["runs", { grant: "once" }],
  ["runs", { grant: "session" }],
  ["edit", false],
  ["edit", "yes"],
  ["edit", null],
  ["edit", { grant: false, reason: "" }],
  ["edit", { grant: "for ever", reason: 7 }],
  ["edit", [true]],
])("%s: a refused call whose escalation is answered %j", async (expected, answer) => {
  const spec = { tools: [edit], ...policies(refused()) };
  const played = await play({ spec, replies: [call(), "end"], hooks: asks(answer) });
  expect(becomes(played)).toBe(expected);
  const [shown = ""] = played.requests[1] === undefined ? [] : toolTexts(played.requests[1]);
  expect(shown).toMatch(expected === "runs" ? /^ok$/ : /denied by the run's permissions\."/);
});

it("identical calls of one turn: the host is asked once for what its grant covers", async () => {
  const host = () => ({ decision: "approve", scope: "session" });
  const spec = {
    tools: [edit],
    ...policies({ host: true, approval_policy: { require_approval: ["edit"] } }),
  };
  const calls: [string, JsonObject][] = [
    ["edit", {}],
    ["edit", {}],
  ];
  const { executed, hooks } = await play({ spec, replies: [{ calls }, "end"], hooks: { "": host } });
  expect([hooks.length, executed.length]).toEqual([1, 2]);
});

it("an approval that nobody gives waits until its time, and is refused at that moment", async () => {
  const spec = { tools: [edit], ...policies({ approval_policy: { require_approval: ["edit"] } }) };
  const asked = await play({ spec, replies: [call()] });
  const until = asked.step.type === "wait" ? (asked.step.until ?? 0) : 0;
  const later = (now: number) => play({ spec, replies: ["end"], state: asked.state, now: () => now });
  const [early, late] = [await later(until - 1), await later(until)];
  expect([becomes(early), becomes(late)]).toEqual(["awaiting_approval", "edit"]);
  expect(late.requests[0] && toolTexts(late.requests[0])).toEqual([
    expect.stringContaining("Nobody approved it in time."),
  ]);
});

describe("a grant for the session is of its own kind", () => {
  const approved = (state: AgentState): AgentState => {
    const asked = state.run?.calls[0]?.approval?.id ?? "";
    const decided = { decision: "approve" as const, scope: "session" as const, reason: null };
    return applyAgentRecord(state, {
      v: 1,
      at: 1,
      type: "approval_decided",
      run: "run_1",
      approval: asked,
      ...decided,
    });
  };
  const further = async (before: Played, given: Partial<RunPolicies>, answer: Json): Promise<Played> => {
    const spec = { run_id: "run_2", tools: [edit], ...policies(given) };
    return play({ spec, replies: [call(), "end"], hooks: asks(answer), state: goOn(before, spec) });
  };
  const needsPerson = { approval_policy: { require_approval: ["edit"] } };

  it("a person's approval does not replace a hook's permission", async () => {
    const spec = { tools: [edit], ...policies(needsPerson) };
    const waiting = await play({ spec, replies: [call()] });
    const first = await play({ spec, replies: ["end"], state: approved(waiting.state) });
    expect(becomes(await further(first, needsPerson, false))).toBe("runs");
    expect(becomes(await further(first, refused(), false))).toBe("edit");
  });

  it("a hook's permission does not replace a person's approval", async () => {
    const spec = { tools: [edit], ...policies(refused()) };
    const first = await play({ spec, replies: [call(), "end"], hooks: asks("session") });
    expect(becomes(await further(first, refused(), false))).toBe("runs");
    expect(becomes(await further(first, needsPerson, false))).toBe("awaiting_approval");
  });

  it("holds for arguments that a hook of the deployment put in place", async () => {
    const tool_hooks = [{ pattern: "edit", pre: "change", post: null, deny: null, max_output: null }];
    const spec: Partial<AgentSpec> = {
      tools: [edit],
      tool_hooks,
      ...policies({ permissions: { deny: { edit: ["changed"] }, on_escalation: "ask" } }),
    };
    const hooks = { ...asks("session"), change: () => ({ args: { text: "changed" } }) };
    const played = await play({ spec, replies: [call({ n: 1 }), call({ n: 2 }), "end"], hooks });
    expect(played.executed.map(({ args }) => args)).toEqual([{ text: "changed" }, { text: "changed" }]);
    expect(played.hooks.filter(({ hook }) => hook === "ask")).toHaveLength(1);
  });
});

describe("a capability policy", () => {
  const judged = async (policy: JsonObject, args: JsonObject): Promise<string> =>
    becomes(await play({ spec: { tools: [edit], ...policies({ policy }) }, replies: [call(args), "end"] }));
  const constraint = (tool: string, more: JsonObject = {}): JsonObject => ({
    tool_arg_constraints: [{ tool, arg_patterns: ["test-*"], ...more }],
  });
  const nested = constraint("edit", { arg_key: "to.stage" });

  it.each<[string, JsonObject, JsonObject, string]>([
    ["a constraint names tools by a glob", constraint("ed*"), { text: "prod" }, "edit"],
    ["a constraint of other tools has no effect", constraint("x*"), { text: "prod" }, "runs"],
    ["a name with dots leads into an argument", nested, { to: { stage: "test-1" } }, "runs"],
    [
      "a name with dots leads to an argument that breaks the constraint",
      nested,
      { to: { stage: "prod" } },
      "edit",
    ],
    [
      "an argument with the dotted name does not replace it",
      nested,
      { to: { stage: "prod" }, "to.stage": "test-1" },
      "edit",
    ],
    ["an absent argument breaks the constraint too", nested, { to: 7 }, "edit"],
    ["tools are blocked by globs", { blocked_tools: ["e*"] }, {}, "edit"],
    [
      "its own annotations say which arguments are paths",
      { workspace_roots: ["a/"], tool_annotations: { edit: { arg_schema: { path_params: ["to"] } } } },
      { to: "b/x" },
      "edit",
    ],
  ])("%s", async (_, policy, args, expected) => {
    expect(await judged(policy, args)).toBe(expected);
  });

  it.each<[string, string, "runs" | "edit"]>([
    ["src/**", "src/a/b", "runs"],
    ["src/**", "src/../etc/passwd", "edit"],
    ["src/**", "src/a/../b", "runs"],
    ["src/*", "src/..", "edit"],
    ["src/**", "x/../src/a", "edit"],
    ["../shared/*", "../shared/a", "runs"],
    ["../shared/*", "../shared/../../etc", "edit"],
    ["/data/**", "/data/../etc/passwd", "edit"],
    ["src/**", "src/a..b", "runs"],
    ["*", "src/../etc", "runs"],
  ])("where .. leads: the globs %j of constraint and permission, for %j", async (glob, path, expected) => {
    const tool_arg_constraints = [{ tool: "edit", arg_patterns: [glob] }];
    expect(await judged({ tool_arg_constraints }, { path })).toBe(expected);
    const permitted = { tools: [edit], ...policies({ permissions: { allow: { edit: [glob] } } }) };
    expect(becomes(await play({ spec: permitted, replies: [call({ path }), "end"] }))).toBe(expected);
  });

  it.each(["etc/passwd", "src/../etc/passwd", "./etc//passwd"])(
    "the denied etc/** holds for %j",
    async (path) => {
      const spec = { tools: [edit], ...policies({ permissions: { deny: { edit: ["etc/**"] } } }) };
      expect(becomes(await play({ spec, replies: [call({ path }), "end"] }))).toBe("edit");
    },
  );
});

it.each<["once" | "session", number]>([
  ["once", 0],
  ["session", 1],
])("an approval for the scope %s grants later calls: %i", async (scope, grants) => {
  const spec = { tools: [edit], ...policies({ approval_policy: { require_approval: ["edit"] } }) };
  const { run, state } = await play({ spec, replies: [call()] });
  const approval = run.calls[0]?.approval?.id ?? expect.fail();
  const of = { v: 1, at: 0, run: "run_1", approval, scope } as const;
  const decided = { ...of, type: "approval_decided", decision: "approve", reason: null } as const;
  const after = applyAgentRecord(state, decided);
  expect([after.grants.length, after.run?.calls[0]?.approval?.decision]).toEqual([grants, "approve"]);
});
