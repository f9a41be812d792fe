/** Hooks around tool calls, predicates of permissions, hooks of compaction. */
import { describe, expect, it } from "vitest";
import type { RunPolicies, ToolHook } from "../../../../src/engine/agent/spec.ts";
import type { JsonObject } from "../../../../src/skill/manifest.ts";
import { play, SPEC, skill, tool, toolTexts, userTexts } from "./harness.ts";

const edit = tool("edit_file");
const call = (args: JsonObject = {}, name = "edit_file"): { calls: [string, JsonObject][] } => ({
  calls: [[name, args]],
});
const hook = (more: Partial<ToolHook>): ToolHook => ({
  pattern: "edit_*",
  pre: null,
  post: null,
  deny: null,
  max_output: null,
  ...more,
});
const lastTool = ({ requests }: Awaited<ReturnType<typeof play>>): string | undefined =>
  requests.at(-1) && toolTexts(requests.at(-1) ?? requests[0] ?? expect.fail()).at(-1);

describe("tool hooks", () => {
  it("a pattern's deny, and a pre hook's, refuse the call; other tools are left alone", async () => {
    for (const [tool_hooks, reason] of [
      [[hook({ deny: "frozen" })], "frozen"],
      [[hook({ pre: "check" })], "not now"],
    ] as const) {
      const played = await play({
        spec: { tools: [edit, tool("read")], tool_hooks: [...tool_hooks] },
        replies: [call(), call({}, "read"), "end"],
        hooks: { check: () => ({ deny: "not now" }) },
      });
      expect(played.executed.map(({ name }) => name)).toEqual(["read"]);
      expect(played.run.rejected_tools).toEqual(["edit_file"]);
      expect(JSON.stringify(played.records)).toContain(`\\"reason\\":\\"${reason}\\"`);
    }
  });

  it("pre hooks change arguments one after the other; what they left is executed and recorded", async () => {
    const played = await play({
      spec: { tools: [edit], tool_hooks: [hook({ pre: "first" }), hook({ pre: "second" })] },
      replies: [call({ path: "a" }), "end"],
      hooks: {
        first: () => ({ args: { path: "b" } }),
        second: (payload) => {
          expect(payload).toMatchObject({ tool: "edit_file", args: { path: "b" }, iteration: 1 });
          return null;
        },
      },
    });
    expect(played.executed).toMatchObject([{ args: { path: "b" } }]);
    const started = played.records.find(({ type }) => type === "tools_started");
    expect(started).toMatchObject({ calls: [{ call: { arguments: { path: "b" } } }] });
    expect(played.hooks.map((each) => each.hook)).toEqual(["first", "second"]);
  });

  it("changed arguments are judged as the model's are: no hook leads around a ceiling or a permission", async () => {
    const ceiling = { policy: { tool_arg_constraints: [{ tool: "edit_file", arg_patterns: ["docs/*"] }] } };
    const bounds: [Partial<RunPolicies>, JsonObject, number][] = [
      [ceiling, { path: "docs/b" }, 1],
      [ceiling, { path: "src/b" }, 0],
      [{ policy: { workspace_roots: ["docs"] } }, { path: "src/b" }, 0],
      [{ permissions: { deny: { edit_file: ["src/*"] } } }, { path: "src/b" }, 0],
      [{ permissions: { allow: { edit_file: "small" } } }, { path: "docs/b" }, 1],
      [{ permissions: { allow: { edit_file: "small" } } }, { path: "src/b" }, 0],
      [{ approval_policy: { write_path_allowlist: ["docs/**"] } }, { path: "src/b" }, 0],
    ];
    for (const [policies, args, executed] of bounds) {
      const played = await play({
        spec: {
          tools: [edit],
          policies: { ...SPEC.policies, ...policies },
          tool_hooks: [hook({ pre: "turn" })],
        },
        replies: [call({ path: "docs/a" }), "end"],
        hooks: { turn: () => ({ args }), small: (given) => JSON.stringify(given).includes("docs/") },
      });
      expect([policies, args, played.executed.length]).toEqual([policies, args, executed]);
    }
  });

  it.each<[string, boolean, JsonObject, number]>([
    ["the deployment's own hook may change what was approved", false, { path: "b" }, 1],
    ["an uploaded skill's hook may not change what was approved", true, { path: "b" }, 0],
    ["an uploaded skill's hook may leave the arguments unchanged", true, { path: "a" }, 1],
  ])("%s", async (_, fresh, args, executed) => {
    const target = { slug: "s", module: "m", exportName: "turn", fresh };
    const played = await play({
      spec: {
        tools: [edit],
        tool_hooks: [hook({ pre: "turn" })],
        hooks: { turn: target },
        policies: { ...SPEC.policies, host: true, approval_policy: { require_approval: ["edit_file"] } },
      },
      replies: [call({ path: "a" }), "end"],
      hooks: { "": () => ({ decision: "approve" }), turn: () => ({ args }) },
    });
    expect(played.executed.map(({ args: made }) => made)).toEqual(executed === 1 ? [args] : []);
  });

  it.each([
    ["the deployment's own hook may change", false, ["b"]],
    ["an uploaded skill's hook may not change", true, []],
  ])("%s what a skill approves beforehand", async (_, fresh, executed) => {
    const played = await play({
      spec: {
        tools: [{ ...tool("deploy"), needs_approval: true }],
        own_skill: skill("editing", { approved_tools: ["deploy"] }),
        tool_hooks: [hook({ pattern: "deploy", pre: "turn" })],
        hooks: { turn: { slug: "s", module: "m", exportName: "turn", fresh } },
      },
      replies: [call({ path: "a" }, "deploy"), "end"],
      hooks: { turn: () => ({ args: { path: "b" } }) },
    });
    expect(played.executed.map(({ args }) => args?.path)).toEqual(executed);
  });

  it("post hooks rewrite a result that was stored before they are asked", async () => {
    const played = await play({
      spec: { tools: [edit], tool_hooks: [hook({ post: "mask" }), hook({ post: "fail" })] },
      replies: [call(), "end"],
      results: { edit_file: ["secret 42"] },
      hooks: { mask: () => "masked", fail: () => ({ status: "error" }) },
    });
    expect(lastTool(played)).toBe("masked");
    expect(played.run.successful_tools).toEqual([]);
    expect(played.hooks.map(({ payload }) => payload)).toMatchObject([
      { result: { status: "ok", content: "secret 42" } },
      { result: { content: "masked" } },
    ]);
    const types = played.rows.map((row) => row.map(({ type }) => type));
    const stored = types.findIndex((row) => row.includes("tool_executed"));
    expect(stored).toBeLessThan(types.findIndex((row) => row.includes("hook_settled")));
  });

  it("max_output bounds a result, a compress_callback replaces the built-in one", async () => {
    const long = "x".repeat(5000);
    const cut = await play({
      spec: { tools: [edit], tool_hooks: [hook({ max_output: 400 })] },
      replies: [call(), "end"],
      results: { edit_file: [long] },
    });
    expect(lastTool(cut)).toMatch(/^x+\n\[hull: \d+ characters left out here\]\nx+$/);
    expect(lastTool(cut)?.length).toBeLessThan(500);
    const compaction = { ...SPEC.compaction, tool_output_max_chars: 1000, compress_callback: "shorten" };
    const compressed = await play({
      spec: { tools: [edit], compaction },
      replies: [call(), call(), "end"],
      results: { edit_file: [long, "short"] },
      hooks: { shorten: () => "5000 × x" },
    });
    expect(compressed.hooks).toMatchObject([{ payload: { output: long, max_chars: 1000 } }]);
    expect(compressed.requests.slice(1).map((request) => toolTexts(request).at(-1))).toEqual([
      "5000 × x",
      "short",
    ]);
  });
});

describe("predicates of permissions", () => {
  const permissions = (given: JsonObject): RunPolicies => ({ ...SPEC.policies, permissions: given });
  it.each<[Record<string, Record<string, string>>, boolean | null, number]>([
    [{ allow: { "edit_*": "small" } }, true, 1],
    [{ allow: { "edit_*": "small" } }, false, 0],
    [{ allow: { "edit_*": "small" } }, null, 0],
    [{ deny: { "edit_*": "small" } }, true, 0],
    [{ deny: { "edit_*": "small" } }, false, 1],
    [{ deny: { read: "small" } }, true, 1],
  ])("%j, answered %j: %i executed", async (given, answer, executed) => {
    const played = await play({
      spec: { tools: [edit], policies: permissions(given) },
      replies: [call({ size: 3 }), "end"],
      hooks: { small: () => answer },
    });
    expect(played.executed).toHaveLength(executed);
    const asked = "edit_*" in (given.allow ?? given.deny ?? {});
    expect(played.hooks).toEqual(asked ? [{ hook: "small", payload: { size: 3 } }] : []);
  });
});

describe("hooks of compaction", () => {
  const compaction = { ...SPEC.compaction, auto: true, threshold_tokens: 1, keep_last: 1 };

  it("mask_callback writes the replacement text", async () => {
    const long = `first line\n${"y".repeat(600)}`;
    const played = await play({
      spec: {
        tools: [edit],
        compaction: { ...compaction, mask_callback: "mask" },
        prompt: [{ role: "user", content: [{ type: "text", text: long }] }],
      },
      replies: [call(), "end"],
      hooks: { mask: (payload) => (Array.isArray(payload) ? payload.map(() => "what was asked") : null) },
    });
    const sent = played.requests.at(-1);
    expect(sent && userTexts(sent).join()).toContain("user: what was asked");
  });

  it("each compaction of an iteration asks its own question, and reports what it saved", async () => {
    let asked = 0;
    const played = await play({
      spec: { tools: [edit], compaction: { ...compaction, strategy: "custom", compact_callback: "sum" } },
      replies: [call(), call({ n: 1 }), call({ n: 2 }), "end"],
      hooks: { sum: () => `summary ${++asked}` },
    });
    const done = played.records.flatMap((record) => (record.type === "compacted" ? [record.compacted] : []));
    expect(done.map(({ summary }) => summary)).toEqual(done.map((_, n) => `summary ${n + 1}`));
    expect(done.length).toBeGreaterThan(1);
    for (const { estimated_tokens_before, estimated_tokens_after } of done) {
      // The system text is counted on both sides.
      expect(estimated_tokens_after).toBeGreaterThan(2);
      expect(Math.abs(estimated_tokens_before - estimated_tokens_after)).toBeLessThan(60);
    }
  });
});
