/** Command hooks of skills around the calls of a run. */
import { describe, expect, it } from "vitest";
import { commandAnswer, hooksNotRun } from "../../../../src/engine/agent/command-hooks.ts";
import type { AgentSkill, AgentTool } from "../../../../src/engine/agent/spec.ts";
import { workspaceTools } from "../../../../src/engine/workspace-tools/definitions.ts";
import { objectOf } from "../../../../src/skill/json.ts";
import type { CommandHook, Json, JsonObject } from "../../../../src/skill/manifest.ts";
import { play, SPEC, skill, toolTexts, userTexts } from "./harness.ts";

const TOOLS: AgentTool[] = workspaceTools(["Bash", "Write"], []);
const hook = (command: string, more: Partial<CommandHook> = {}): CommandHook => ({
  event: "PreToolUse",
  matcher: "Bash",
  command,
  timeout_ms: 60_000,
  ...more,
});
const careful = (command_hooks: CommandHook[], more: Partial<AgentSkill> = {}): AgentSkill =>
  skill("careful", { command_hooks, ...more });
const bash = (command: string): { calls: [string, JsonObject][] } => ({ calls: [["Bash", { command }]] });
const texts = ({ requests }: Awaited<ReturnType<typeof play>>): string[] =>
  toolTexts(requests.at(-1) ?? expect.fail());

/** Answers commands by their text. The host approves what it is asked about. */
const answering = (answers: Record<string, Json>) =>
  new Proxy<Record<string, (payload: Json) => Json>>(
    {},
    {
      get: (_, hook) => (payload: Json) =>
        hook === "" ? { decision: "approve" } : (answers[String(objectOf(payload).command)] ?? {}),
    },
  );

describe("command hooks", () => {
  it("run in their order, each with the arguments that the one before it left", async () => {
    const played = await play({
      spec: { tools: TOOLS, own_skill: careful([hook("a"), hook("b"), hook("c", { matcher: "Write" })]) },
      replies: [bash("one"), "end"],
      hooks: answering({ a: { args: { command: "two" }, context: "changed" }, b: { context: "seen" } }),
    });
    expect(played.hooks).toMatchObject([
      {
        hook: "careful#PreToolUse.0",
        payload: { command: "a", tool_name: "Bash", args: { command: "one" } },
      },
      { hook: "careful#PreToolUse.1", payload: { command: "b", args: { command: "two" } } },
    ]);
    expect(played.executed).toMatchObject([{ args: { command: "two" } }]);
    expect(texts(played).at(-1)).toBe(
      "ok\n[hook careful#PreToolUse.0: changed]\n[hook careful#PreToolUse.1: seen]",
    );
  });

  it.each([
    ["ok", "PostToolUse"],
    ["error", "PostToolUseFailure"],
  ] as const)("after a call that ended %s the command of %s follows", async (status, event) => {
    const hooks = [hook("yes", { event: "PostToolUse" }), hook("no", { event: "PostToolUseFailure" })];
    const played = await play({
      spec: { tools: TOOLS, own_skill: careful(hooks) },
      replies: [bash("one"), "end"],
      results: { Bash: [{ status, content: "out" }] },
      hooks: answering({ yes: { context: "well" }, no: { context: "badly" } }),
    });
    expect(played.hooks).toMatchObject([
      { hook: expect.stringContaining(`#${event}.`), payload: { event, result: { status, content: "out" } } },
    ]);
    expect(texts(played).at(-1)).toContain(status === "ok" ? "well]" : "badly]");
  });

  it("with once run for one call; a later run has them again", async () => {
    const spec = { tools: TOOLS, own_skill: careful([hook("a", { once: true })]) };
    const script = {
      spec,
      replies: [bash("one"), bash("two"), "end"],
      hooks: answering({ a: { context: "x" } }),
    };
    for (const played of [await play(script), await play(script)]) {
      expect(played.hooks).toHaveLength(1);
      expect(texts(played).map((text) => text.includes("#"))).toEqual([true, false]);
    }
  });

  it("a person decides where a hook wants that; where nobody can, the call is refused", async () => {
    const hooks = answering({ a: { confirm: "It goes out." } });
    const spec = { tools: TOOLS, own_skill: careful([hook("a")]) };
    const asked = await play({ spec, replies: [bash("one"), "end"], hooks });
    expect([asked.run.status, asked.executed]).toEqual(["awaiting_approval", []]);
    const refused = await play({ spec: { ...spec, session_id: null }, replies: [bash("one"), "end"], hooks });
    expect(refused.executed).toEqual([]);
    expect(texts(refused).at(-1)).toContain("It goes out. An anonymous run has no approver.");
    const policies = { ...SPEC.policies, host: true as const };
    const approved = await play({
      spec: { ...spec, policies },
      replies: [bash("one"), "end"],
      hooks,
    });
    expect(approved.hooks.map(({ hook: name }) => name)).toContain("");
  });

  it("apply only while their skill is active, and above a run in which it was active", async () => {
    const skills = [careful([hook("a")])];
    const replies = [bash("one"), "end"];
    const hooks = answering({ a: { context: "seen" } });
    const counts: number[] = [];
    for (const spec of [{ skills }, { skills, watchers: skills }, { watchers: skills }]) {
      const played = await play({ spec: { tools: TOOLS, ...spec }, replies, hooks });
      counts.push(played.hooks.length);
    }
    expect(counts).toEqual([0, 1, 1]);
  });

  it.each<[string, Partial<AgentSkill>, Partial<typeof SPEC>]>([
    ["an upload's", { uploaded: true }, {}],
    ["without Bash", {}, { tools: TOOLS.slice(1) }],
    [
      "those that need an approval",
      {},
      { policies: { ...SPEC.policies, approval_policy: { require_approval: ["Bash"] } } },
    ],
  ])("do not run, and a warning says so: %s", async (_, more, spec) => {
    const write: [string, JsonObject] = ["Write", { file_path: "a", content: "b" }];
    const given = { tools: TOOLS, ...spec, own_skill: careful([hook("check it", { matcher: "" })], more) };
    const played = await play({ spec: given, replies: [{ calls: [write] }, "end"] });
    expect([played.hooks, played.executed.length]).toEqual([[], 1]);
    expect(hooksNotRun({ ...SPEC, ...given })).toMatchObject([
      { code: "hook_not_run", message: expect.stringContaining("Bash may not run check it without") },
    ]);
    expect(hooksNotRun({ ...SPEC, tools: TOOLS, own_skill: careful([hook("check it")]) })).toEqual([]);
  });

  it("an entry of allowed-tools lets the command run where Bash needs an approval for its risk", async () => {
    const tools = TOOLS.map((tool) => ({ ...tool, needs_approval: true }));
    const may = (approved_tools: string[]) =>
      hooksNotRun({ ...SPEC, tools, own_skill: careful([hook("check it")], { approved_tools }) }).length ===
      0;
    expect([may([]), may(["Bash(check:*)"])]).toEqual([false, true]);
  });
});

describe("hooks around a run", () => {
  const own_skill = careful([
    hook("head", { event: "UserPromptSubmit", matcher: "" }),
    hook("gate", { event: "Stop", matcher: "" }),
  ]);
  const gate = (answers: Json[]) =>
    answering(
      new Proxy<Record<string, Json>>(
        {},
        { get: (_, name) => (name === "gate" ? (answers.shift() ?? {}) : {}) },
      ),
    );

  it("UserPromptSubmit adds to the request once; a hook that says nothing adds nothing", async () => {
    const spec = { tools: TOOLS, own_skill };
    const replies = [bash("one"), "end"];
    const told = await play({ spec, replies, hooks: answering({ head: { context: "Read the plan." } }) });
    expect(told.hooks.map(({ payload }) => payload)).toMatchObject([
      { event: "UserPromptSubmit", prompt: "go" },
      { event: "Stop", stop_hook_active: false },
    ]);
    const added = '<hull_feedback kind="UserPromptSubmit">Read the plan.</hull_feedback>';
    expect(told.requests.map((request) => userTexts(request))).toEqual([
      ["go", added],
      ["go", added],
    ]);
    const silent = await play({ spec, replies, hooks: answering({}) });
    expect(silent.requests.map((request) => userTexts(request))).toEqual([["go"], ["go"]]);
    expect(silent.hooks).toHaveLength(2);
  });

  it("Stop sends the run on until it has nothing to say, and knows that it has", async () => {
    const played = await play({
      spec: { tools: TOOLS, own_skill },
      replies: ["early", "late", "end"],
      hooks: gate([{ deny: "Tests fail." }, { deny: "Still." }, {}]),
    });
    expect(played.run).toMatchObject({ status: "done", iterations: 3 });
    expect(userTexts(played.requests.at(-1) ?? expect.fail())).toEqual([
      "go",
      '<hull_feedback kind="Stop">Tests fail.</hull_feedback>',
      '<hull_feedback kind="Stop">Still.</hull_feedback>',
    ]);
    const active = played.hooks.flatMap(({ payload }) => objectOf(payload).stop_hook_active ?? []);
    expect(active).toEqual([false, true, true]);
    expect(played.run.texts.at(-1)).toBe("end");
  });

  it.each<[string, Partial<typeof SPEC>]>([
    ["its last iteration", { max_iterations: 1 }],
    ["a single answer", { single: true }],
    ["a run below the one of the skill", { own_skill: skill("other"), watchers: [own_skill] }],
  ])("Stop is not asked at the end of %s", async (_, more) => {
    const spec = { tools: TOOLS, own_skill, ...more };
    const played = await play({ spec, replies: ["end", "more"], hooks: gate([{ deny: "no" }]) });
    expect([played.run.status, played.run.iterations]).toEqual(["done", 1]);
    expect(played.hooks.filter(({ hook: name }) => name.includes("Stop"))).toEqual([]);
  });
});

const ended = (exit_code: number | null, stdout = "", stderr = "") => ({ exit_code, stdout, stderr });
const specific = (members: JsonObject) => JSON.stringify({ hookSpecificOutput: members });
describe("what the end of a hook's command means", () => {
  it.each<[string, ReturnType<typeof ended>, JsonObject, JsonObject]>([
    ["code 2", ended(2, "out", "why\n"), { deny: "why" }, { context: "why" }],
    ["code 2 without stderr", ended(2, "out\n"), { deny: "out" }, { context: "out" }],
    [
      "code 2 without words",
      ended(2),
      { deny: "A hook of the skill refused it." },
      { context: "A hook of the skill refused it." },
    ],
    ["another code", ended(1, specific({ permissionDecision: "deny" }), "no"), {}, {}],
    ["no end", ended(null, "late"), { deny: "A hook of the skill did not end: late" }, {}],
    ["plain text", ended(0, "all is well"), {}, {}],
    ["a JSON list", ended(0, "[1]"), {}, {}],
    [
      "deny",
      ended(0, specific({ permissionDecision: "deny", permissionDecisionReason: "r" })),
      { deny: "r" },
      { context: "r" },
    ],
    ["block", ended(0, '{"decision":"block","reason":"r"}'), { deny: "r" }, { context: "r" }],
    ["stop", ended(0, '{"continue":false,"stopReason":"r"}'), { deny: "r" }, { context: "r" }],
    ["ask", ended(0, '{"permissionDecision":"ask","message":"r"}'), { confirm: "r" }, {}],
    [
      "ask without a reason",
      ended(0, '{"permissionDecision":"ask"}'),
      { confirm: "A hook of the skill gave no reason." },
      {},
    ],
    ["allow", ended(0, specific({ permissionDecision: "allow" })), {}, {}],
    ["context", ended(0, specific({ additionalContext: "c" })), { context: "c" }, { context: "c" }],
    [
      "block with context",
      ended(0, '{"decision":"block","reason":"r","additionalContext":"c"}'),
      { deny: "r", context: "c" },
      { context: "r\nc" },
    ],
    ["other arguments", ended(0, specific({ updatedInput: { a: 1 } })), { args: { a: 1 } }, {}],
    [
      "wrong types",
      ended(0, specific({ updatedInput: [1], additionalContext: 7, permissionDecision: true })),
      {},
      {},
    ],
  ])("around a call: %s", (_, end, before, after) => {
    expect([commandAnswer("PreToolUse", end), commandAnswer("PostToolUse", end)]).toEqual([before, after]);
  });

  it.each<[string, ReturnType<typeof ended>, JsonObject, JsonObject]>([
    ["code 2", ended(2, "", "why"), { deny: "why" }, { deny: "why" }],
    ["another code", ended(1, "out"), {}, {}],
    ["no end", ended(null, "late"), {}, {}],
    ["plain text", ended(0, "The plan.\n"), { context: "The plan." }, {}],
    ["nothing", ended(0), {}, {}],
    ["context", ended(0, specific({ additionalContext: "c" })), { context: "c" }, { context: "c" }],
    ["block", ended(0, '{"decision":"block","reason":"r"}'), { deny: "r" }, { deny: "r" }],
    ["stop", ended(0, '{"continue":false,"decision":"block","stopReason":"r"}'), { deny: "r" }, {}],
  ])("around a run: %s", (_, end, prompt, stop) => {
    expect([commandAnswer("UserPromptSubmit", end), commandAnswer("Stop", end)]).toEqual([prompt, stop]);
  });
});
