/** What agent runs leave to the host delegate: tools of the executor `webhook`, and permissions. */

import { interrupted, jsonResult, plainResult } from "../../engine/agent/call-results.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { AgentEffectContext, PlannedCall } from "../../engine/agent/step.ts";
import { HullError } from "../../errors.ts";
import { isObject } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { type HostMethod, hostDelegate } from "../host-delegate.ts";

/**
 * Lets the host execute a call. If an earlier run attempt began the call, Hull repeats it only for tools declared
 * idempotent. `call_key` identifies the call, so that a host can recognise it.
 */
export async function callHostTool(
  context: RunContext,
  { call, tool, again }: PlannedCall,
  { run, effect, signal }: AgentEffectContext,
): Promise<AgentToolResult> {
  const ask = hostDelegate(context);
  if (ask === null) return plainResult("error", "No host delegate is configured.", "host_bridge_error");
  if (again && tool.annotations.idempotent !== true) return interrupted();
  const { id, name } = call;
  const params = {
    name,
    arguments: call.arguments ?? {},
    call_id: id,
    run_id: run,
    call_key: `${run}-${effect}`,
  };
  const started = Date.now();
  try {
    const answer = await ask("tool/call", params, signal, call.raw);
    return { ...resultOf(answer), duration_ms: Date.now() - started };
  } catch (error) {
    if (signal.aborted || !(error instanceof HullError)) throw error;
    const failed = plainResult("error", `${name} failed: ${error.message}`, "host_bridge_error");
    return { ...failed, duration_ms: Date.now() - started };
  }
}

/** `{content, is_error?}`; any other JSON is the content itself. */
function resultOf(answer: Json): AgentToolResult {
  const framed = isObject(answer) && "content" in answer;
  const value = framed ? (answer.content ?? null) : answer;
  return jsonResult(value, framed && answer.is_error === true);
}

/** The host's answer; `null`: no host is configured, or it failed, and the run continues without the answer. */
export async function hostAnswer(
  context: RunContext,
  method: HostMethod,
  asked: Json,
  signal: AbortSignal,
): Promise<Json> {
  try {
    return (await hostDelegate(context)?.(method, asked, signal)) ?? null;
  } catch (error) {
    if (signal.aborted || !(error instanceof HullError)) throw error;
    return null;
  }
}

/** The host's decision on a call that needs an approval: `{decision, scope?, reason?}`; `null`: it makes none. */
export async function hostPermission(context: RunContext, asked: Json, signal: AbortSignal): Promise<Json> {
  const answer = await hostAnswer(context, "session/request_permission", asked, signal);
  if (typeof answer === "boolean") return { decision: answer ? "approve" : "deny" };
  return isObject(answer) && (answer.decision === "approve" || answer.decision === "deny") ? answer : null;
}
