/** Calls of tools that the run does not have yet. */
import { expect, it } from "vitest";
import type { JsonObject } from "../../../../src/skill/manifest.ts";
import { play, SPEC, tool } from "./harness.ts";

it.each([
  [
    ["asks", "missing"],
    ["approval", "planned"],
  ],
  [
    ["missing", "asks"],
    ["settled", "approval"],
  ],
])("a call of a missing tool waits for earlier calls, which may load the tool: %j", async (names, stages) => {
  const policies = { ...SPEC.policies, approval_policy: { require_approval: ["asks"] } };
  const calls = names.map((name): [string, JsonObject] => [name, {}]);
  const { step, run } = await play({ spec: { tools: [tool("asks")], policies }, replies: [{ calls }] });
  expect([step.type, run.calls.map(({ stage }) => stage)]).toEqual(["wait", stages]);
});
