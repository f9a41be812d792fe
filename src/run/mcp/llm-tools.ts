/** Tools of MCP servers in served llm skills (docs/mcp.md). */
import type { EffectContext } from "../../engine/drive.ts";
import type { ToolCallBlock, ToolDefinition } from "../../engine/messages.ts";
import { OutputWindow, refusedCall, type ToolErrorCode, type ToolOutcome } from "../../engine/tool-result.ts";
import type { FailureKind } from "../../tool/mcp/failure.ts";
import type { RunHandle } from "../handle.ts";
import { logToolCall } from "../handler/log.ts";
import { unattendedVerdict } from "../handler/policy.ts";
import { remoteAgentTool } from "./agent-tools.ts";
import { namedServers, type ServerOwner, serversOfDeployment, serversOfSkill } from "./owner.ts";
import type { FoundTool, RunServers } from "./servers.ts";

/** What a model is offered beside the skill's own tools, whose names come first. */
export async function remoteDefinitions(
  servers: RunServers,
  run: RunHandle,
  own: readonly ToolDefinition[],
): Promise<ToolDefinition[]> {
  const taken = new Map(own.map((tool) => [tool.name, tool]));
  const { owners, unknown } = ownersOf(run);
  for (const name of unknown) servers.noteUnknown(run.record.manifest.slug, name);
  const lists = await Promise.all(owners.map((owner) => servers.toolsOf(owner)));
  for (const { name, description, parameters } of lists.flatMap(({ tools }) => tools)) {
    if (!taken.has(name)) taken.set(name, { name, description, parameters });
  }
  return [...taken.values()].slice(own.length);
}

/** The skill's own servers, then those that it names in `mcp`; and the names that there are none of. */
function ownersOf({ context, record }: RunHandle): { owners: ServerOwner[]; unknown: string[] } {
  const { settings, tenant } = context;
  const named = record.manifest.activation?.mcp ?? [];
  const { found, unknown } = namedServers(named, [serversOfDeployment(settings, tenant)]);
  const owners = [serversOfSkill(settings, record), ...found].filter(({ servers }) => servers.length > 0);
  return { owners, unknown };
}

/** The tool of this name, and whose server has it. */
async function toolNamed(
  servers: RunServers,
  run: RunHandle,
  name: string,
): Promise<{ owner: ServerOwner; found: FoundTool } | null> {
  for (const owner of ownersOf(run).owners) {
    const found = await servers.named(owner, name);
    if (found !== null) return { owner, found };
  }
  return null;
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
  run: RunHandle,
  call: ToolCallBlock,
  { signal, again }: EffectContext,
  limit: number,
): Promise<ToolOutcome | null> {
  const { context, record } = run;
  const named = await toolNamed(servers, run, call.name);
  if (named === null) return null;
  const { owner, found } = named;
  const note = { run: run.id, skill: record.manifest.slug, call };
  if (call.arguments === null) {
    return refusedCall(
      "bad_arguments",
      "The arguments are not a JSON object. Send one complete JSON object.",
    );
  }
  const tool = remoteAgentTool(owner.skill, found);
  const refusal = unattendedVerdict(context.settings, tool, call.arguments);
  if (refusal !== null) {
    await logToolCall(context, { ...note, runtime: "none", duration_ms: 0, outcome: "permission_denied" });
    return { ...refusedCall("permission_denied", ""), content: refusal };
  }
  if (again && !found.idempotent) {
    return refusedCall("outcome_unknown", "The call was interrupted. It may or may not have taken effect.");
  }
  const { ok, text, fault, duration_ms } = await servers.call(owner, found, call.arguments, signal);
  const code = ok ? {} : { code: fault === null ? ("tool_error" as const) : CODES[fault] };
  await logToolCall(context, { ...note, runtime: "mcp", duration_ms, outcome: code.code ?? "ok" });
  const window = new OutputWindow(limit);
  window.push(new TextEncoder().encode(text));
  const { text: shortened, truncated } = window.render();
  const content = truncated ? shortened : text;
  return { ok, ...code, exit_code: null, content, bytes: window.bytes, truncated, duration_ms };
}
