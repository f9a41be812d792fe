/** Approvals by risk, and what a capability policy lets a tool do. */
import { describe, expect, it } from "vitest";
import { intersectPolicies, judgeCall } from "../../../../src/engine/agent/policy.ts";
import type { AgentSpec, AgentTool, RunPolicies } from "../../../../src/engine/agent/spec.ts";
import { type ContainerTool, containerTool } from "../../../../src/engine/workspace-tools/code-tools.ts";
import type { JsonObject, Risk } from "../../../../src/skill/manifest.ts";
import { DAEMON, play, SPEC, tool } from "./harness.ts";

const policies = (more: Partial<RunPolicies>): RunPolicies => ({ ...SPEC.policies, ...more });
const risky = (risk: Risk, needs_approval = false): AgentTool => ({
  ...tool("deploy"),
  risk,
  needs_approval,
});

/** What becomes of one call of the tool. */
async function outcome(spec: Partial<AgentSpec>): Promise<unknown> {
  const { step, executed, run, records } = await play({
    spec,
    replies: [{ calls: [["deploy", { to: "prod" }]] }, "done"],
  });
  if (step.type === "wait" && step.for === "approval")
    return step.approvals.map(({ risk }) => `asks: ${risk}`);
  if (executed.length > 0) return "runs";
  expect(run.rejected_tools).toEqual(["deploy"]);
  const settled = records.find((record) => record.type === "tool_settled");
  return settled?.type === "tool_settled" ? JSON.parse(settled.result.content).reason : null;
}

describe("a call of a tool at or above the level", () => {
  const required = (require_risk: string, more: JsonObject = {}) =>
    policies({ approval_policy: { require_risk, ...more } });

  it.each<[string, Partial<AgentSpec>, unknown]>([
    ["nothing asked", { tools: [risky("critical")] }, "runs"],
    ["none", { tools: [risky("critical")], policies: required("none") }, "runs"],
    ["below", { tools: [risky("moderate")], policies: required("dangerous") }, "runs"],
    ["at", { tools: [risky("dangerous")], policies: required("dangerous") }, ["asks: dangerous"]],
    ["above", { tools: [risky("critical")], policies: required("moderate") }, ["asks: critical"]],
    [
      "safe, where every call needs an approval",
      { tools: [risky("safe")], policies: required("safe") },
      ["asks: safe"],
    ],
    ["a tool of unknown risk", { tools: [tool("deploy")], policies: required("safe") }, "runs"],
    ["a level of the deployment", { tools: [risky("moderate", true)] }, ["asks: moderate"]],
    [
      "a level of the deployment, lowered by the run",
      { tools: [risky("moderate", true)], policies: required("none") },
      ["asks: moderate"],
    ],
    [
      "approved beforehand",
      { tools: [risky("critical", true)], policies: required("safe", { auto_approve: ["dep*"] }) },
      "runs",
    ],
    [
      "denied beforehand",
      { tools: [risky("safe")], policies: required("none", { auto_deny: ["deploy"], auto_approve: ["*"] }) },
      "deploy is denied by the approval policy.",
    ],
    [
      "an anonymous run",
      { session_id: null, tools: [risky("dangerous", true)] },
      "A call of risk dangerous needs an approval. An anonymous run has no approver.",
    ],
    ["a daemon", { daemon: DAEMON, tools: [risky("dangerous", true)] }, ["asks: dangerous"]],
    [
      "a daemon of an anonymous run",
      { session_id: null, daemon: DAEMON, tools: [risky("dangerous")], policies: required("dangerous") },
      "A call of risk dangerous needs an approval. An anonymous run has no approver.",
    ],
    [
      "a daemon that may",
      {
        daemon: DAEMON,
        tools: [risky("dangerous", true)],
        policies: required("safe", { auto_approve: ["deploy"] }),
      },
      "runs",
    ],
    [
      "a daemon that asks by name",
      {
        daemon: DAEMON,
        tools: [risky("safe")],
        policies: policies({ approval_policy: { require_approval: ["deploy"] } }),
      },
      ["asks: safe"],
    ],
  ])("%s", async (_, spec, expected) => {
    expect(await outcome(spec)).toEqual(expected);
  });
});

describe("a capability policy", () => {
  it.each<[string, JsonObject, unknown]>([
    ["no list", {}, "runs"],
    ["allowed", { tools: ["deploy"] }, "runs"],
    ["none allowed", { tools: [] }, expect.stringContaining("outside of the run's tool ceiling")],
    ["blocked", { blocked_tools: ["deploy"] }, expect.stringContaining("deploy is blocked.")],
    [
      "blocked and allowed",
      { tools: ["deploy"], blocked_tools: ["deploy"] },
      expect.stringContaining("deploy is blocked."),
    ],
    ["nothing blocked", { blocked_tools: [] }, "runs"],
    [
      "an argument outside of a constraint",
      { tool_arg_constraints: [{ tool: "deploy", arg_patterns: ["test-*"] }] },
      expect.stringMatching(
        /^deploy breaks .* must match test-\*\. Use only the tools that this run declares/,
      ),
    ],
    [
      "a path outside of the roots",
      { workspace_roots: ["a/"], tool_annotations: { deploy: { arg_schema: { path_params: ["to"] } } } },
      expect.stringMatching(/^deploy may not touch prod: .* Use only the tools that this run declares/),
    ],
  ])("%s", async (_, policy, expected) => {
    expect(await outcome({ tools: [risky("safe")], policies: policies({ policy }) })).toEqual(expected);
  });

  it.each<[ContainerTool, string, string]>([
    ["bash_code_execution", "Bash", "deny"],
    ["code_execution", "B*", "deny"],
    ["litellm_code_execution", "Bash", "deny"],
    ["shell", "Bash", "deny"],
    ["text_editor_code_execution", "Bash", "allow"],
    ["text_editor_code_execution", "Read", "deny"],
    ["text_editor_code_execution", "Write", "deny"],
    ["text_editor_code_execution", "Edit", "deny"],
    ["shell", "Edit", "allow"],
  ])("%s, where %s is blocked: %s", (name, blocked, verdict) => {
    const blocking = policies({ policy: { blocked_tools: [blocked] } });
    expect(judgeCall(blocking, containerTool(name), {}, () => undefined)).toMatchObject({ verdict });
  });

  it("a block of either policy holds", () => {
    expect(intersectPolicies({ blocked_tools: ["a"] }, { blocked_tools: ["b"] })).toMatchObject({
      blocked_tools: ["a", "b"],
    });
    expect(intersectPolicies({ tools: ["a"] }, { tools: ["a"] })).not.toHaveProperty("blocked_tools");
  });
});
