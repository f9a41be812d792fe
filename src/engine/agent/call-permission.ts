/** Whether a tool call may be made: bounds of skills, policy, permissions, approvals of people and of the host. Pure. */
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { approvedBeforehand } from "../workspace-tools/approved.ts";
import { denied, settle } from "./call-results.ts";
import { callDigest, type GrantScope, grantOf, judgeApproval, judgeCall } from "./policy.ts";
import type { ApprovalRequest } from "./records.ts";
import { outsideScope, skillsInForce } from "./skills.ts";
import type { AgentSpec, AgentTool } from "./spec.ts";
import { type AgentState, effects, type OpenCall, type RunState } from "./state.ts";
import { type AgentStep, askHook, recorded, type WaitStep } from "./step.ts";
import type { ChangedBy } from "./tool-hooks.ts";

/**
 * Checks the skills' own bounds, policy, permissions and approvals; `null`: the call may be made.
 * @param changedBy who changed the arguments after the model's own were judged; `null`: nobody. Nothing bypasses a
 *   bound, but the deployment's own hooks may change an approved call.
 */
export function judged(
  state: AgentState,
  run: RunState,
  open: OpenCall,
  tool: AgentTool,
  args: JsonObject,
  now: number,
  changedBy: ChangedBy | null,
): AgentStep | null {
  const { call, effect } = open;
  // Changed arguments are a new question, with an effect id of its own.
  const question = changedBy === null ? effect : effects.changed(effect);
  const deny = denial(run, open);
  const outside = outsideScope(run, tool, args);
  if (outside !== null) return deny(outside);
  const granted = (scope: GrantScope): boolean => isGranted(state, scope, call.name, args);
  const asked = (hook: string): Json | undefined => run.hookResults[effects.permission(question, hook)];
  let verdict = judgeCall(run.spec.policies, tool, args, asked);
  if (verdict.verdict === "escalate") {
    const refused = escalated(run, open, args, { ...verdict, question, deny }, granted("permission"));
    if (refused !== null) return refused;
    verdict = judgeApproval(run.spec.policies, tool, args);
  }
  switch (verdict.verdict) {
    case "deny":
      return deny(verdict.reason);
    case "consult": {
      const { hook } = verdict;
      const consulted = effects.permission(question, hook);
      return { type: "call_hook", effect: consulted, hook, purpose: "permission", payload: args };
    }
    case "ask":
      // Active skills approve calls that need approval only because of their risk, not calls that the run itself wants
      // to be asked about.
      if (verdict.by_risk && changedBy === null && approvedBeforehand(skillsInForce(run), tool, args))
        return null;
      if (granted("approval") || changedBy === "deployment") return null;
      if (changedBy === "upload") return deny("A hook of an uploaded skill changed what was approved.");
      return approval(run, open, tool, args, now, { ...verdict, deny });
    default:
      return null;
  }
}

const denial =
  (run: RunState, open: OpenCall) =>
  (reason: string): AgentStep =>
    settle(run, open, denied(open.call.name, reason));

const isGranted = ({ grants }: AgentState, scope: GrantScope, tool: string, args: JsonObject): boolean =>
  grants.length > 0 && grants.includes(grantOf(scope, tool, args));

/** Asks a person about a call, as a hook wants; `null`: the person approved it. */
export function confirmed(
  state: AgentState,
  run: RunState,
  open: OpenCall,
  tool: AgentTool,
  args: JsonObject,
  now: number,
  reason: string,
): AgentStep | null {
  if (isGranted(state, "approval", open.call.name, args)) return null;
  return approval(run, open, tool, args, now, { reason, deny: denial(run, open) });
}

/** A hook may permit what the permissions refuse; `null`: it has. A permitted call may still need an approval. */
function escalated(
  run: RunState,
  { call }: OpenCall,
  args: JsonObject,
  how: { reason: string; hook: string; question: string; deny: (reason: string) => AgentStep },
  granted: boolean,
): AgentStep | null {
  if (granted) return null;
  const { reason, hook, question, deny } = how;
  const { session_id } = run.spec;
  const asked = askHook(run, { effect: effects.escalation(question), hook, purpose: "escalation" }, () => ({
    _type: "PermissionRequest",
    tool: call.name,
    args,
    session_id,
    reason,
  }));
  if ("ask" in asked) return asked.ask;
  if (isGrant(asked.answer)) return null;
  const why = objectOf(asked.answer).reason;
  return deny(typeof why === "string" && why !== "" ? `${reason} ${why}` : reason);
}

/** Why nobody can give an approval; `null`: a person can. */
function approverMissing({ session_id, served }: AgentSpec): string | null {
  if (served !== undefined) return "Nobody attends this call to give it.";
  return session_id === null ? "An anonymous run has no approver." : null;
}

function approval(
  run: RunState,
  open: OpenCall,
  tool: AgentTool,
  args: JsonObject,
  now: number,
  { reason, deny }: { reason: string; deny: (reason: string) => AgentStep },
): AgentStep | null {
  const { spec } = run;
  const host = spec.policies.host === true ? hostSays(run, open, tool, args) : null;
  if (host !== null && "ask" in host) return host.ask;
  if (host?.decision === "approve") return null;
  if (host?.decision === "deny") return deny(host.reason ?? "The host denied it.");
  const missing = approverMissing(spec);
  if (missing !== null) return deny(`${reason} ${missing}`);
  const asked = open.approval;
  if (asked === null) {
    const request: ApprovalRequest = {
      id: `apr_${spec.run_id}_${open.effect}`,
      tool_call_id: open.call.id,
      tool: open.call.name,
      arguments: args,
      arguments_digest: callDigest(open.call.name, args),
      risk: riskOf(tool),
      cause: reason,
      requested_at: now,
      expires_at: now + spec.policies.approval_timeout_s * 1000,
    };
    return recorded({ type: "approval_requested", run: spec.run_id, effect: open.effect, request });
  }
  if (asked.decision === "approve") return null;
  if (asked.decision === "deny") return deny(asked.reason ?? "It was denied.");
  if (now >= asked.expires_at) return deny("Nobody approved it in time.");
  return waiting("approval", asked.expires_at, [asked]);
}

/**
 * The host delegate's decision on a call, or the question that Hull must still ask it; `null`: the host leaves the
 * decision to a person.
 */
function hostSays(
  run: RunState,
  { call, effect }: OpenCall,
  tool: AgentTool,
  args: JsonObject,
): { ask: AgentStep } | { decision: "approve" | "deny"; reason: string | null } | null {
  const { session_id, run_id } = run.spec;
  const question = { effect: effects.hostPermission(effect), hook: "", purpose: "host_permission" as const };
  const asked = askHook(run, question, () => ({
    tool: call.name,
    args,
    tool_call_id: call.id,
    arguments_digest: callDigest(call.name, args),
    session_id,
    run_id,
    risk: riskOf(tool),
  }));
  if ("ask" in asked) return asked;
  const { decision, reason } = objectOf(asked.answer);
  if (decision !== "approve" && decision !== "deny") return null;
  return { decision, reason: typeof reason === "string" ? reason : null };
}

const riskOf = ({ risk, annotations }: AgentTool): string =>
  risk ?? annotations.side_effect_level ?? "unknown";

/** Waits for a decision about calls, or for their results. */
export function waiting(
  reason: "approval" | "tool",
  until: number | null,
  approvals: ApprovalRequest[],
): WaitStep {
  const status = reason === "approval" ? "awaiting_approval" : "awaiting_tool";
  return { type: "wait", for: reason, status, until, approvals };
}

/** Whether a value is a valid answer of an escalation hook. */
export function isGrant(answer: Json): boolean {
  if (answer === true || answer === "once" || answer === "session") return true;
  return isObject(answer) && (answer.grant === true || answer.grant === "once" || answer.grant === "session");
}

/** Whether the answer of an escalation, or of the host, holds for the whole session. */
export function isSessionGrant(answer: Json): boolean {
  if (!isObject(answer)) return answer === "session";
  return answer.grant === "session" || (answer.decision === "approve" && answer.scope === "session");
}
