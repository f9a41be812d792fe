/** Logs one line per tool call: what was called where, and how the call ended. */

import { sha256 } from "../../bytes.ts";
import type { ToolCallBlock } from "../../engine/messages.ts";
import { logLine } from "../../log.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import type { RunContext } from "../context.ts";

export interface ToolCallNote {
  run: string;
  /** `null`: the caller defined the tool. */
  skill: string | null;
  call: ToolCallBlock;
  /** `none`: the call was not made. */
  runtime: "isolate" | "runner" | "stub" | "process" | "hook" | "mcp" | "builtin" | "none";
  duration_ms: number;
  /** `ok`, or the code of the fault. */
  outcome: string;
  /** Facts of the fault for the operator. */
  error?: Record<string, unknown>;
  /** More findings, for the author of the tool. */
  diagnostics?: { code: string; message: string }[];
}

/**
 * The log has a digest of the arguments, so that equal calls can be recognised. Successful calls appear only if
 * everything is logged.
 */
export async function logToolCall(context: RunContext, note: ToolCallNote): Promise<void> {
  const { run, skill, call, runtime, duration_ms, outcome, error = {}, diagnostics = [] } = note;
  const plain = outcome === "ok" && diagnostics.length === 0;
  if (plain && !context.settings.logsAll) return;
  const line = {
    event: "tool_call",
    run_id: run,
    skill,
    tool: call.name,
    runtime,
    arguments_sha256: await sha256(canonicalJson(call.arguments ?? call.raw)),
    duration_ms,
    outcome,
    ...(Object.keys(error).length === 0 ? {} : { error }),
    ...(diagnostics.length === 0 ? {} : { diagnostics }),
  };
  logLine(context, line);
}
