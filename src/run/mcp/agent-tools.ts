/** Tools of MCP servers in agent runs (docs/mcp.md). */

import { plainResult } from "../../engine/agent/calls.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { AgentTool } from "../../engine/agent/spec.ts";
import type { AgentEffectContext, PlannedCall } from "../../engine/agent/step.ts";
import { objectOf } from "../../skill/json.ts";
import type { SkillRecord } from "../../skill/manifest.ts";
import type { FailureKind } from "../../tool/mcp/failure.ts";
import type { RunContext } from "../context.ts";
import { type FoundTool, RunServers } from "./servers.ts";

/**
 * The run's tools with those of its skills' servers behind them; where two have one name, the first counts.
 * @param records of the skills, each once
 */
export async function withRemoteTools(
  context: RunContext,
  own: readonly AgentTool[],
  records: readonly SkillRecord[],
): Promise<AgentTool[]> {
  const tools = new Map(own.map((tool) => [tool.definition.name, tool]));
  const servers = new RunServers(context);
  const lists = await Promise.all(records.map((record) => servers.toolsOf(record)));
  servers.close();
  for (const [index, record] of records.entries()) {
    for (const found of lists[index] ?? []) {
      if (!tools.has(found.name)) tools.set(found.name, remoteAgentTool(record, found));
    }
  }
  return [...tools.values()];
}

/** A server's tool as runs and policies have it. */
export function remoteAgentTool({ manifest }: SkillRecord, found: FoundTool): AgentTool {
  const { name, description, parameters, server, remote, idempotent, reads } = found;
  const { slug } = manifest;
  return {
    definition: { name, description, parameters },
    executor: "mcp",
    // What a server says of itself lets nothing pass that a policy would stop.
    annotations: { side_effect_level: "network", idempotent, ...(reads ? { kind: "fetch" as const } : {}) },
    handler: { slug, server, tool: remote },
    skill: slug,
  };
}

const CATEGORIES: Record<FailureKind, string> = {
  refused: "unavailable",
  unavailable: "mcp_server_error",
  timeout: "timeout",
  protocol: "mcp_server_error",
  error: "tool_error",
};

/**
 * Carries a call out. One that an earlier life of the run began is made again only where the server says that this does no
 * harm.
 * @param find the served skill of a slug
 */
export async function callRemoteTool(
  servers: RunServers,
  { call, tool, again }: PlannedCall,
  { signal }: AgentEffectContext,
  find: (slug: string) => Promise<SkillRecord>,
): Promise<AgentToolResult> {
  if (again && tool.annotations.idempotent !== true) {
    const text = "The call was interrupted. It may or may not have taken effect.";
    return plainResult("error", text, "cancelled");
  }
  const { handler } = tool;
  const { slug, server, tool: remote } = objectOf(handler);
  if (typeof slug !== "string" || typeof server !== "string" || typeof remote !== "string") {
    return plainResult("error", `The tool ${call.name} cannot be carried out here.`, "tool_error");
  }
  const named = { server, tool: remote };
  const { ok, text, fault, duration_ms } = await servers.call(
    await find(slug),
    named,
    call.arguments ?? {},
    signal,
  );
  const category = fault === null ? "tool_error" : CATEGORIES[fault];
  return { ...plainResult(ok ? "ok" : "error", text, ok ? null : category), duration_ms };
}
