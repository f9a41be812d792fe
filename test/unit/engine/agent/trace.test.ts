/** What the loop reports in addition to messages. */
import { expect, test } from "vitest";
import { fold } from "../../../../src/engine/agent/apply.ts";
import { readingOf } from "../../../../src/engine/agent/reader.ts";
import { BudgetExceeded } from "../../../../src/errors/budget.ts";
import { play, received, type Script, SPEC, says, skill, started, tool } from "./harness.ts";

const policies = (given: object) => ({ policies: { ...SPEC.policies, ...given } });
const deploying = skill("deploying", { allowed_tools: ["edit"] });
const edit = { tools: [tool("edit")] };
const REFUSAL = {
  budget: "hard" as const,
  scope: "session:desk",
  window: "day",
  limit: "max_cost_usd",
  limit_value: 2,
  spent: 1,
  reserved: 0,
  requested: 2,
  resets_at: null,
};

async function traced(script: Script) {
  const { all } = await play(script);
  return [...fold([started(script.spec ?? {}), ...all])].flatMap((applied) => readingOf(applied).trace);
}

test.each<[string, Script, object[]]>([
  ["an answer adds no entry", { replies: ["done"] }, []],
  [
    "a turn with calls ends with their outcomes",
    {
      spec: { tools: [tool("edit"), tool("read", {}, ["path"])] },
      replies: [
        {
          calls: [
            ["edit", {}],
            ["read", {}],
          ],
        },
        "done",
      ],
    },
    [
      {
        kind: "TurnEnd",
        iteration: 1,
        tool_names: ["edit", "read"],
        tool_results: [{ tool_name: "edit", status: "ok", rejected: false }],
        tool_count: 2,
        consecutive_single_tool_turns: 0,
        failed: false,
      },
    ],
  ],
  [
    "a refusal",
    {
      spec: { ...edit, ...policies({ permissions: { deny: ["edit"] } }) },
      replies: [{ calls: [["edit", {}]] }, "done"],
    },
    [
      { kind: "PermissionDeny", tool: "edit", reason: expect.stringContaining("denied") },
      { kind: "tool_execution", tool: "edit", rejected: true, error_category: "permission_denied" },
      { kind: "TurnEnd", failed: true },
    ],
  ],
  [
    "an escalation that is granted",
    {
      spec: { ...edit, ...policies({ permissions: { deny: ["edit"], on_escalation: "ask" } }) },
      replies: [{ calls: [["edit", {}]] }, "done"],
      hooks: { ask: () => "session" },
    },
    [
      { kind: "PermissionEscalation", tool: "edit" },
      { kind: "PermissionGrant", tool: "edit", scope: "session", by: "hook" },
      { kind: "TurnEnd", failed: false },
    ],
  ],
  [
    "an escalation that is refused",
    {
      spec: { ...edit, ...policies({ permissions: { deny: ["edit"], on_escalation: "ask" } }) },
      replies: [{ calls: [["edit", {}]] }, "done"],
      hooks: { ask: () => ({ grant: false, reason: "Not on Fridays.", approver: "ada" }) },
    },
    [
      { kind: "PermissionEscalation", tool: "edit" },
      { kind: "PermissionDeny", reason: expect.stringContaining("Not on Fridays."), approver: "ada" },
      { kind: "tool_execution", tool: "edit", rejected: true },
      { kind: "TurnEnd", failed: true },
    ],
  ],
  [
    "skills that come and are loaded",
    {
      spec: { ...edit, skills: [deploying, skill("testing")], prompt: says("deploying") },
      replies: [{ calls: [["load_skill", { name: "testing" }]] }, "done"],
    },
    [
      { kind: "skill_activated", name: "deploying", allowed_tools: ["edit"] },
      { kind: "skill_scope_tools", name: "deploying", allowed_tools: ["edit"] },
      { kind: "skill.loaded", name: "testing" },
      { kind: "TurnEnd", tool_names: ["load_skill"] },
    ],
  ],
  [
    "servers that come and go with their skill",
    {
      spec: {
        ...edit,
        skills: [skill("docs", { mcp: ["wiki", "gone"] }), skill("cooking")],
        prompt: says("docs"),
        skill_match: { strategy: "metadata", top_n: 1, sticky: false },
      },
      replies: [{ calls: [["edit", {}]] }, "done"],
      incoming: { 1: [received("cooking")] },
      bind: () => ({
        servers: ["wiki"],
        tools: [{ ...tool("wiki__find"), executor: "mcp", handler: { server: "wiki" } }],
        failed: [{ server: "gone", message: "It is gone." }],
      }),
    },
    [
      { kind: "skill_activated", name: "docs" },
      { kind: "skill_mcp_bound", name: "docs", server: "wiki", tools: ["wiki__find"] },
      { kind: "skill_mcp_bind_failed", name: "docs", server: "gone", error: "It is gone." },
      { kind: "TurnEnd" },
      { kind: "host_input", messages: 1 },
      { kind: "skill_deactivated", name: "docs" },
      { kind: "skill_mcp_unbound", name: "docs", server: "wiki" },
      { kind: "skill_activated", name: "cooking" },
    ],
  ],
  [
    "how it ended: stuck",
    { spec: { persistent: true, max_nudges: 0 }, replies: ["working"] },
    [{ kind: "LoopStuck", iteration: 1, text: "working" }],
  ],
  [
    "how it ended: out of iterations",
    { spec: { ...edit, max_iterations: 1 }, replies: [{ calls: [["edit", {}]] }] },
    [{ kind: "TurnEnd" }, { kind: "BudgetExhausted", max_iterations: 1 }],
  ],
  [
    "how it ended: out of tokens",
    { spec: { persistent: true, token_budget: 15 }, replies: ["##DONE##"] },
    [{ kind: "BudgetExhausted", token_budget: 15 }],
  ],
  [
    "how it ended: out of money",
    { spec: { ...edit, total_budget_usd: 1 }, replies: [{ calls: [["edit", {}]] }], cost_usd: 1 },
    [{ kind: "TurnEnd" }, { kind: "BudgetExhausted", total_budget_usd: 1 }],
  ],
  [
    "how it ended: refused by a budget",
    { spec: { max_iterations: 1 }, replies: [new BudgetExceeded(REFUSAL)] },
    [{ kind: "BudgetExhausted", scope: "session:desk", max_cost_usd: 2 }],
  ],
  [
    "how it ended: in another phase",
    { spec: { persistent: true, break_unless_phase: "plan" }, replies: ["next_phase: act"] },
    [{ kind: "PhaseChange", from: "plan", to: "act" }],
  ],
])("%s", async (_, script, expected) => {
  const entries = await traced(script);
  expect(entries).toMatchObject(expected);
  expect(entries).toHaveLength(expected.length);
  for (const entry of entries)
    if (entry.kind === "BudgetExhausted") expect(entry).toEqual({ iteration: 1, ...expected.at(-1) });
});

test("a grant for the session covers the same call however its numbers are written", async () => {
  const numbers = tool("edit");
  numbers.definition.parameters = { type: "object", properties: { line: { type: "integer" } }, required: [] };
  const calls = (line: string | number): [string, { line: string | number }][] => [["edit", { line }]];
  const { hooks, executed } = await play({
    spec: { tools: [numbers], ...policies({ permissions: { deny: ["edit"], on_escalation: "ask" } }) },
    replies: [{ calls: calls("5") }, { calls: calls(5) }, { calls: calls("6") }, "done"],
    hooks: { ask: () => "session" },
  });
  expect([executed.length, hooks.map(({ payload }) => Object(payload).args.line)]).toEqual([3, [5, 6]]);
});
