/** Results of tool calls that no tool gave. */
import type { Json } from "../../skill/manifest.ts";
import type { FaultCategory } from "../tool-fault.ts";
import type { AgentToolResult, ToolStatus } from "./records.ts";
import type { OpenCall, RunState } from "./state.ts";
import { type AgentStep, recorded } from "./step.ts";

/** Ends a call with this result. */
export const settle = ({ spec }: RunState, { effect }: OpenCall, result: AgentToolResult): AgentStep =>
  recorded({ type: "tool_settled", run: spec.run_id, effect, result });

export function denied(tool: string, reason: string): AgentToolResult {
  const content = JSON.stringify({ error: "permission_denied", tool, reason });
  return plainResult("rejected", content, "permission_denied");
}

export function plainResult(
  status: ToolStatus,
  content: string,
  error_category: FaultCategory | null,
): AgentToolResult {
  return { status, content, value: null, error_category, exit_code: null, duration_ms: 0 };
}

/** The result of a tool that answers with a JSON value. Texts reach the model as they are. */
export function jsonResult(value: Json, failed: boolean): AgentToolResult {
  const content = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return { ...plainResult(failed ? "error" : "ok", content, failed ? "tool_error" : null), value };
}

/** The result of a call that an earlier run attempt began, and whose outcome nobody knows. */
export const interrupted = (): AgentToolResult =>
  plainResult("error", "The call was interrupted. It may or may not have taken effect.", "cancelled");
