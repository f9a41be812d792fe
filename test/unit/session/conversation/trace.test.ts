/** The steps of a run for people. */
import { expect, test } from "vitest";
import type { AgentRecord } from "../../../../src/engine/agent/records.ts";
import { tracePage } from "../../../../src/session/conversation/trace.ts";
import { play, type Script, SPEC, skill, started, tool } from "../../engine/agent/harness.ts";

test.each<[string, Script, object]>([
  ["a tool that ran", { replies: [{ calls: [["look", {}]] }, "end"] }, { ok: true, output: "ok" }],
  ["a call that no tool answers", { replies: [{ calls: [["other", {}]] }, "end"] }, { ok: false }],
  [
    "a call that the policy refuses",
    {
      spec: { policies: { ...SPEC.policies, approval_policy: { auto_deny: ["look"] } } },
      replies: [{ calls: [["look", {}]] }, "end"],
    },
    { ok: false },
  ],
  [
    "a skill that is loaded",
    {
      spec: { skills: [skill("deploying")] },
      replies: [{ calls: [["load_skill", { name: "deploying" }]] }, "end"],
    },
    { ok: true },
  ],
])("%s is a step that has ended", async (_, script, ended) => {
  const spec = { tools: [tool("look")], ...script.spec };
  const { records } = await play({ ...script, spec });
  const { steps } = tracePage([started(spec), ...records], { after: 0, limit: 100 });
  const calls = steps.filter(({ kind }) => kind === "tool");
  expect(calls).toEqual([expect.objectContaining({ duration_ms: expect.any(Number), ...ended })]);
});

test("a call of a run with an unreadable beginning ends too", async () => {
  const { records } = await play({
    spec: { tools: [tool("look")] },
    replies: [{ calls: [["look", {}]] }, "end"],
  });
  const { steps } = tracePage(records, { after: 0, limit: 100 });
  const ended = { ok: true, output: "ok", duration_ms: expect.any(Number) };
  expect(steps.filter(({ kind }) => kind === "tool")).toEqual([expect.objectContaining(ended)]);
});

test.each<["approve" | "deny", string | null, object]>([
  ["approve", null, { ok: true, output: "approve, once" }],
  ["deny", "Not on Fridays.", { ok: false, output: "Not on Fridays." }],
])("an approval is a step that ends with its decision: %s, %j", async (decision, reason, ended) => {
  const policies = { ...SPEC.policies, approval_policy: { require_approval: ["look"] } };
  const spec = { tools: [tool("look")], policies };
  const { run, records } = await play({ spec, replies: [{ calls: [["look", { at: "sky" }]] }] });
  const shown = (more: AgentRecord[]) => {
    const { steps } = tracePage([started(spec), ...records, ...more], { after: 0, limit: 100 });
    return steps.filter(({ kind }) => kind === "approval");
  };
  const begun = { name: "look", input: { at: "sky" } };
  expect(shown([])).toMatchObject([{ ...begun, ok: null, duration_ms: null }]);
  const approval = run.calls[0]?.approval?.id ?? "";
  const decided = { approval, decision, reason, scope: "once" as const };
  const record: AgentRecord = { v: 1, at: 2e12, type: "approval_decided", run: run.spec.run_id, ...decided };
  expect(shown([record])).toMatchObject([{ ...begun, ...ended, duration_ms: expect.any(Number) }]);
});
