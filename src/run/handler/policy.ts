/** Which calls of skills' tools need an approval, and what the tools do to the world. */
import { denied } from "../../engine/agent/call-results.ts";
import { isAtLeast, judgeCall } from "../../engine/agent/policy.ts";
import type { AgentTool, ToolAnnotations } from "../../engine/agent/spec.ts";
import type { Settings } from "../../env.ts";
import type { JsonObject, SkillRecord, SkillTool } from "../../skill/manifest.ts";
import type { RequiredRisk } from "../../skill/policy.ts";

/** What policies know about a skill's tool in a run. */
export function toolPolicy(
  settings: Settings,
  record: SkillRecord,
  tool: SkillTool,
): Required<Pick<AgentTool, "annotations" | "risk" | "needs_approval">> {
  return {
    annotations: annotationsOf(tool),
    risk: tool.risk,
    needs_approval: isAtLeast(tool.risk, requiredRisk(settings, record)),
  };
}

/** The tool, which needs an approval if its risk is one for which the deployment requires it. */
export const withRequiredApproval = ({ approvals }: Settings, tool: AgentTool): AgentTool =>
  isAtLeast(tool.risk, approvals.require_risk) ? { ...tool, needs_approval: true } : tool;

/**
 * Why an unattended call, of a served skill or over MCP, is refused: the text of its answer; `null`: it may proceed. A
 * call that needs an approval is refused, since there is nobody to ask.
 */
export function unattendedRefusal(
  settings: Settings,
  record: SkillRecord,
  tool: SkillTool,
  args: JsonObject,
): string | null {
  const asked: AgentTool = {
    definition: { name: tool.name, description: tool.description, parameters: tool.parameters },
    executor: "builtin",
    handler: null,
    skill: record.manifest.slug,
    ...toolPolicy(settings, record, tool),
  };
  const verdict = judgedAlone(settings.policy ?? null, asked, args);
  switch (verdict.verdict) {
    case "ask":
      return denied(tool.name, `${verdict.reason} Nobody attends this call to give it.`).content;
    case "deny":
      return denied(tool.name, verdict.reason).content;
    default:
      return null;
  }
}

/** Judges a call that belongs to no run: only a policy and the tool itself decide about it. */
export function judgedAlone(policy: JsonObject | null, tool: AgentTool, args: JsonObject) {
  const policies = { policy, approval_policy: null, permissions: null, approval_timeout_s: 0 };
  return judgeCall(policies, tool, args, () => undefined);
}

/**
 * The risk from which on the skill's calls need an approval. An uploaded skill is named with its tenant, so it never
 * gets what a published skill with the same slug was given.
 */
function requiredRisk({ approvals }: Settings, { manifest, uploaded_by }: SkillRecord): RequiredRisk {
  const { require_risk = "none", uploaded_require_risk = "dangerous", skills = {} } = approvals;
  const name = uploaded_by === undefined ? manifest.slug : `${uploaded_by}/${manifest.slug}`;
  const own = Object.hasOwn(skills, name) ? skills[name] : undefined;
  return own ?? (uploaded_by === undefined ? require_risk : uploaded_require_risk);
}

function annotationsOf({ tier, network, side_effects, idempotent }: SkillTool): ToolAnnotations {
  const outside = network === null ? "read_only" : "network";
  const level = side_effects && network === null ? "workspace_write" : outside;
  return {
    side_effect_level: tier === "runner" ? "process_exec" : level,
    idempotent: idempotent || !side_effects,
    ...(side_effects ? {} : { kind: "read" as const }),
  };
}
