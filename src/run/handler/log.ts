/** The line in the log that every tool call has: what was called where, and how it ended. */
import type { ToolCallBlock } from "../../engine/messages.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import type { RunContext } from "../context.ts";
import { sha256 } from "../digest.ts";

interface ToolCallNote {
  run: string;
  /** `null`: the tool is the caller's. */
  skill: string | null;
  call: ToolCallBlock;
  /** `none`: it was not made. */
  runtime: "isolate" | "runner" | "stub" | "process" | "hook" | "mcp" | "builtin" | "none";
  duration_ms: number;
  /** `ok`, or the code of what went wrong. */
  outcome: string;
  /** What else there is to say, for an author. */
  diagnostics?: { code: string; message: string }[];
}

/** Of arguments the log has a digest, so that equal calls can be told. Calls that went well only where all is logged. */
export async function logToolCall(context: RunContext, note: ToolCallNote): Promise<void> {
  const { run, skill, call, runtime, duration_ms, outcome, diagnostics = [] } = note;
  const plain = outcome === "ok" && diagnostics.length === 0;
  if (plain && !context.settings.logsAll) return;
  const line = {
    event: "tool_call",
    request_id: context.requestId,
    tenant: context.tenant,
    run_id: run,
    skill,
    tool: call.name,
    runtime,
    arguments_sha256: await sha256(canonicalJson(call.arguments ?? call.raw)),
    duration_ms,
    outcome,
    ...(diagnostics.length === 0 ? {} : { diagnostics }),
  };
  console.log(JSON.stringify(context.redacted(line)));
}
