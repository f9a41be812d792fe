/** What another run leaves to a run that it delegates. */
import { describe, expect, it } from "vitest";
import { ceilingsOf, NO_CEILINGS, narrowed, refusal } from "../../../../src/engine/agent/delegation.ts";
import { judgeCall } from "../../../../src/engine/agent/policy.ts";
import type { AgentSpec, AgentTool, Ceilings, RunPolicies } from "../../../../src/engine/agent/spec.ts";
import { newRun } from "../../../../src/engine/agent/state.ts";
import type { JsonObject } from "../../../../src/skill/manifest.ts";
import { play, SPEC, skill, tool } from "./harness.ts";

const policies = (more: Partial<RunPolicies>): RunPolicies => ({ ...SPEC.policies, ...more });
const above = (more: Partial<Ceilings>): Ceilings => ({
  ...NO_CEILINGS,
  session_id: "s",
  run_id: "r",
  account: "root",
  levels: 2,
  ...more,
});
const below = (more: Partial<Ceilings>, spec: Partial<AgentSpec> = {}): AgentSpec =>
  narrowed({ ...SPEC, ...spec }, above(more), "own");
const verdict = (spec: AgentSpec, name: string): string =>
  judgeCall(spec.policies, tool(name), {}, () => undefined).verdict;

describe("a delegated run", () => {
  it("has the earlier deadline, the smaller budgets, one level less, and the account above", () => {
    const spec = below(
      { deadline: { at: 50, ms: 5 }, tokens: 7, usd: 2, files: "f" },
      {
        deadline: { at: 90, ms: 9 },
        token_budget: 100,
        total_budget_usd: 1,
        call: { ...SPEC.call, budget: { max_cost_usd: 3, total_budget_usd: 1 } },
      },
    );
    // The account also counts what other runs spent.
    expect(spec.call.budget).toEqual({ max_cost_usd: 3 });
    expect(spec).toMatchObject({
      deadline: { at: 50, ms: 5 },
      token_budget: 7,
      total_budget_usd: 1,
      delegation: { parent: { session_id: "s", run_id: "r" }, levels: 1, account: "root", files: "f" },
    });
    const first = narrowed(SPEC, NO_CEILINGS, "own");
    expect(first.delegation).toEqual({ parent: null, levels: 4, account: "own" });
  });

  it("may not delegate below the last level, without time or money", () => {
    const reasons = [{ levels: -1 }, { tokens: 0 }, { usd: 0 }, { deadline: { at: 10, ms: 1 } }, {}];
    const words = reasons.map((more) => refusal(above(more), 10));
    expect(words.pop()).toBeNull();
    expect(words).toMatchObject(
      [/recursion_limit/, /token_budget/, /total_budget_usd/, /time/].map((word) =>
        expect.stringMatching(word),
      ),
    );
    const limited = below({}, { policies: policies({ policy: { recursion_limit: 0 } }) });
    expect(limited.delegation?.levels).toBe(0);
  });

  it("obeys the deployment's policy, whatever policies of runs say about tools or leave empty", () => {
    const asked: AgentTool = {
      ...tool("run"),
      annotations: { side_effect_level: "process_exec", capabilities: { fs: ["write"] } },
    };
    const judged = (spec: AgentSpec) => judgeCall(spec.policies, asked, {}, () => undefined).verdict;
    const relaxing = { tool_annotations: { run: { side_effect_level: "none", capabilities: {} } } };
    for (const deployment of [{ side_effect_level: "read_only" }, { capabilities: { fs: ["read"] } }]) {
      for (const own of [relaxing, { capabilities: null, ...relaxing }]) {
        const run = policies({ policy: { ...deployment, ...own }, ceiling: deployment });
        const child = below({ policies: run }, { policies: policies({ policy: own, ceiling: deployment }) });
        expect(judged(child)).toBe("deny");
        const grandchild = below({ policies: child.policies }, { policies: policies({ policy: own }) });
        expect(judged(grandchild)).toBe("deny");
      }
    }
    // A policy without a deployment's above it still counts with its own annotations.
    const run = policies({ policy: { side_effect_level: "read_only", ...relaxing } });
    expect(judged(below({ policies: run }))).toBe("allow");
  });

  it("obeys both policies; names the lost tools, and fails if none is left", () => {
    const ceiling = { policies: policies({ policy: { tools: ["read"], side_effect_level: "read_only" } }) };
    const own = policies({ policy: { tools: ["read", "exec"], side_effect_level: "network" } });
    const spec = below(ceiling, { policies: own });
    expect(spec.policies).toMatchObject({
      policy: { tools: ["read"], side_effect_level: "read_only" },
      dropped: ["exec"],
    });
    const none = { policies: policies({ policy: { tools: ["exec"] } }) };
    expect(() => below(ceiling, none)).toThrow(/exec/);
    const blocking = { policies: policies({ policy: { blocked_tools: ["ex*"] } }) };
    expect(below(blocking, { policies: own }).policies.dropped).toEqual(["exec"]);
    expect(() => below(blocking, none)).toThrow(/exec/);
    // What the policy of the run says of its tools does not lead around the one above.
    const lies = {
      policies: policies({ policy: { tool_annotations: { write: { side_effect_level: "none" } } } }),
    };
    const level = { policies: policies({ policy: { side_effect_level: "read_only" } }) };
    expect(verdict(below(level, lies), "write")).toBe("deny");
  });

  it("has the tools that the skills in force leave, and the hooks around them", () => {
    const [read, write, exec] = ["read", "write", "exec"].map((name) => tool(name));
    if (read === undefined || write === undefined || exec === undefined) return expect.fail();
    const reader = skill("reader", { allowed_tools: ["read", "exec(git:*)"] });
    const hook = { pattern: "*", pre: null, post: null, deny: "no", max_output: null };
    const spec = { ...SPEC, tools: [read, write, exec], skills: [reader], tool_hooks: [hook] };
    const run = { ...newRun(spec, ["reader"]), active: ["reader"] };
    const left = ceilingsOf(run, true);
    expect(left.tools.map(({ definition }) => definition.name)).toEqual(["read"]);
    expect(narrowed(SPEC, left, "own").tool_hooks).toEqual([hook]);
  });

  it("has what the run above has not used, and those below it, while that run continues", () => {
    const spec = {
      ...SPEC,
      token_budget: 100,
      total_budget_usd: 5,
      delegation: { parent: null, levels: 1, account: "root" },
    };
    const fresh = newRun(spec, []);
    const totals = { ...fresh.totals, input_tokens: 30, output_tokens: 10, cost_usd: 1 };
    const run = { ...fresh, totals, delegated: { ...fresh.delegated, tokens: 20, cost_usd: 3 } };
    expect(ceilingsOf(run, true)).toMatchObject({ tokens: 40, usd: 1, levels: 1, account: "root" });
    const sharing = { ...run, shares: { t1: { tokens: 15, usd: null }, t2: { tokens: 5, usd: 0.5 } } };
    expect(ceilingsOf(sharing, true)).toMatchObject({ tokens: 20, usd: 0.5 });
    const over = { ...run, totals: { ...totals, input_tokens: 500, cost_usd: 9 } };
    expect(ceilingsOf(over, true)).toMatchObject({ tokens: 0, usd: 0 });
    expect(ceilingsOf(over, false)).toMatchObject({ tokens: null, usd: null, run_id: null, levels: 1 });
  });

  it.each([
    ["side by side", "an equal share of what is left", true, [150, 150, 150, 150, 150, 150, 825]],
    ["in order", "all that is left", false, [900, 890, 880, 870, 860, 850, 825]],
  ])("has, if the calls of a turn run %s, %s", async (_, __, parallel, tokens) => {
    const delegate = (task: string): [string, JsonObject] => ["sub_agent", { task }];
    const given: Ceilings[] = [];
    await play({
      spec: {
        tools: [{ ...tool("sub_agent"), executor: "builtin" }],
        skills: [skill("deep", { fork: true })],
        token_budget: 915,
        total_budget_usd: 915,
        ...(parallel ? {} : { parallel_tool_calls: false }),
      },
      replies: [
        { calls: [["load_skill", { name: "deep" }], ...["a", "b", "c", "d", "e"].map(delegate)] },
        { calls: [delegate("f")] },
        "end",
      ],
      cost_usd: 15,
      async runTool({ above }) {
        given.push(above ?? expect.fail());
        return { spent: { tokens: 10, cost_usd: 10 } };
      },
    });
    expect(given.map((left) => left.tokens)).toEqual(tokens);
    expect(given.map((left) => left.usd)).toEqual(tokens);
  });

  it("obeys the permissions and approvals of every run above, whatever its own grant", () => {
    const strict = policies({
      permissions: { deny: ["exec"] },
      approval_policy: { require_approval: ["write"] },
    });
    const lax = policies({
      permissions: { allow: ["*"], on_escalation: "grant" },
      approval_policy: { auto_approve: ["*"] },
    });
    const child = below({ policies: strict }, { policies: lax });
    const grandchild = below({ policies: child.policies }, { policies: lax });
    for (const spec of [child, grandchild]) {
      expect(["exec", "write", "read"].map((name) => verdict(spec, name))).toEqual(["deny", "ask", "allow"]);
    }
    const asking = policies({ approval_policy: { require_approval: ["write"] } });
    expect(verdict(below({ policies: asking }, { policies: lax }), "write")).toBe("ask");
    const escalating = policies({ permissions: { deny: ["exec"], on_escalation: "grant" } });
    expect(verdict(below({ policies: escalating }), "exec")).toBe("deny");
  });
});
