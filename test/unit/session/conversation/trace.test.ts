/** The steps of a run for people. */
import { expect, test } from "vitest";
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
