/** Tools of MCP servers in served llm skills (docs/mcp.md). */
import type { EffectContext } from "../../engine/drive.ts";
import type { ToolCallBlock, ToolDefinition } from "../../engine/messages.ts";
import { OutputWindow, refusedCall, type ToolErrorCode, type ToolOutcome } from "../../engine/tool-result.ts";
import type { FailureKind } from "../../tool/mcp/failure.ts";
import type { RunHandle } from "../handle.ts";
import { logToolCall } from "../handler/log.ts";
import { unattendedVerdict } from "../handler/policy.ts";
import { remoteAgentTool } from "./agent-tools.ts";
import type { RunServers } from "./servers.ts";

/** What a model is offered beside the skill's own tools, whose names come first. */
export async function remoteDefinitions(
  servers: RunServers,
  { record }: RunHandle,
  own: readonly ToolDefinition[],
): Promise<ToolDefinition[]> {
  const taken = new Set(own.map(({ name }) => name));
  const tools = await servers.toolsOf(record);
  return tools
    .filter(({ name }) => !taken.has(name))
    .map(({ name, description, parameters }) => ({ name, description, parameters }));
}

const CODES: Record<FailureKind, ToolErrorCode> = {
  refused: "unavailable",
  unavailable: "unavailable",
  timeout: "timed_out",
  protocol: "unavailable",
  error: "tool_error",
};

/** Carries a call out; `null`: no server of the skill has such a tool. */
export async function callRemote(
  servers: RunServers,
  { context, record, id }: RunHandle,
  call: ToolCallBlock,
  { signal, again }: EffectContext,
  limit: number,
): Promise<ToolOutcome | null> {
  const found = await servers.named(record, call.name);
  if (found === null) return null;
  const note = { run: id, skill: record.manifest.slug, call };
  if (call.arguments === null) {
    return refusedCall(
      "bad_arguments",
      "The arguments are not a JSON object. Send one complete JSON object.",
    );
  }
  const tool = remoteAgentTool(record, found);
  const refusal = unattendedVerdict(context.settings, tool, call.arguments);
  if (refusal !== null) {
    await logToolCall(context, { ...note, runtime: "none", duration_ms: 0, outcome: "permission_denied" });
    return { ...refusedCall("permission_denied", ""), content: refusal };
  }
  if (again && !found.idempotent) {
    return refusedCall("outcome_unknown", "The call was interrupted. It may or may not have taken effect.");
  }
  const named = { server: found.server, tool: found.remote };
  const { ok, text, fault, duration_ms } = await servers.call(record, named, call.arguments, signal);
  const code = ok ? {} : { code: fault === null ? ("tool_error" as const) : CODES[fault] };
  await logToolCall(context, { ...note, runtime: "mcp", duration_ms, outcome: code.code ?? "ok" });
  const window = new OutputWindow(limit);
  window.push(new TextEncoder().encode(text));
  const { text: shortened, truncated } = window.render();
  const content = truncated ? shortened : text;
  return { ok, ...code, exit_code: null, content, bytes: window.bytes, truncated, duration_ms };
}
