/** Tools of MCP servers in agent runs (docs/mcp.md). */

import { interrupted, plainResult } from "../../engine/agent/call-results.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import { serverWarning } from "../../engine/agent/skill-servers.ts";
import type { AgentSpec, AgentTool } from "../../engine/agent/spec.ts";
import type { AgentEffectContext, AgentEffects, PlannedCall } from "../../engine/agent/step.ts";
import type { Warning } from "../../engine/messages.ts";
import type { FaultCategory } from "../../engine/tool-fault.ts";
import { refusedCall } from "../../engine/tool-result.ts";
import { objectOf } from "../../skill/json.ts";
import type { SkillRecord } from "../../skill/manifest.ts";
import type { FailureKind } from "../../tool/mcp/failure.ts";
import type { RunContext } from "../context.ts";
import {
  namedServers,
  type ServerOwner,
  serversOfDeployment,
  serversOfRequest,
  serversOfSkill,
  serversUsed,
} from "./owner.ts";
import { type FailedServer, type FoundTool, RunServers } from "./servers.ts";

/** Where a new run gets MCP tools from. */
interface RemoteSources {
  /** From the option `mcp_servers`. */
  asked: readonly ServerOwner[];
  /** The skills, each once. */
  records: readonly SkillRecord[];
  /** The skill that the run is. The servers that it uses are bound from the start. */
  served: SkillRecord | null;
}

/**
 * The run's tools, followed by those of servers. If two have the same name, the first wins. A server that provides no
 * tools causes a warning.
 */
export async function withRemoteTools(
  context: RunContext,
  own: readonly AgentTool[],
  { asked, records, served }: RemoteSources,
): Promise<{ tools: AgentTool[]; warnings: Warning[] }> {
  const { settings, tenant } = context;
  const tools = new Map(own.map((tool) => [tool.definition.name, tool]));
  const bound =
    served === null
      ? null
      : namedServers(serversUsed(context, served), [...asked, serversOfDeployment(settings, tenant)]);
  const owners = [
    ...asked,
    ...(bound?.found ?? []),
    ...records.map((record) => serversOfSkill(settings, record)),
  ].filter(({ servers }) => servers.length > 0);
  if (owners.length === 0 && (bound?.unknown ?? []).length === 0) return { tools: [...own], warnings: [] };
  const servers = new RunServers(context);
  const lists = await Promise.all(owners.map((owner) => servers.toolsOf(owner)));
  servers.close();
  const slug = served?.manifest.slug ?? "";
  const unknown = (bound?.unknown ?? []).map((name) => servers.noteUnknown(slug, name));
  const warnings = unknown.map((message) => serverWarning("skill", message));
  for (const [index, owner] of owners.entries()) {
    const { tools: found = [], failed = [] } = lists[index] ?? {};
    for (const tool of found) {
      if (!tools.has(tool.name)) tools.set(tool.name, remoteAgentTool(owner.skill, tool));
    }
    warnings.push(...failed.map((server) => warningOf(owner.skill, slug, server)));
  }
  return { tools: [...tools.values()], warnings };
}

/** @param skill that owns the server; `null`: none does @param served the slug of the skill that the run is */
function warningOf(skill: string | null, served: string, { server, message }: FailedServer): Warning {
  if (skill === null)
    return serverWarning("mcp_servers", `The MCP server ${server} provides no tools. ${message}`);
  const option = skill === served ? "skill" : "skills";
  return serverWarning(
    option,
    `The MCP server ${server} of the skill ${skill} provides no tools. ${message}`,
  );
}

/** Asks the servers that a skill names in `mcp`, when the skill becomes active. */
export async function bindServers(
  context: RunContext,
  servers: RunServers,
  spec: AgentSpec,
  { skill, servers: names }: Parameters<AgentEffects["bindServers"]>[0],
): ReturnType<AgentEffects["bindServers"]> {
  const owners = [serversOfRequest(spec.mcp_servers), serversOfDeployment(context.settings, context.tenant)];
  const { found, unknown } = namedServers(names, owners);
  const lists = await Promise.all(found.map((owner) => servers.toolsOf(owner)));
  const failed = [
    ...lists.flatMap((list) => list.failed),
    ...unknown.map((server) => ({ server, message: servers.noteUnknown(skill, server) })),
  ];
  const lost = new Set(failed.map(({ server }) => server));
  return {
    servers: names.filter((name) => !lost.has(name)),
    tools: lists.flatMap(({ tools }) => tools.map((tool) => ({ ...remoteAgentTool(null, tool), skill }))),
    failed,
  };
}

/**
 * A server's tool in the form for runs and policies.
 * @param slug of the skill that owns the server; `null`: the deployment or the request owns it
 */
function remoteAgentTool(slug: string | null, found: FoundTool): AgentTool {
  const { name, description, parameters, server, remote, idempotent, reads, writes } = found;
  const kind = reads ? ("fetch" as const) : writes ? ("edit" as const) : undefined;
  return {
    definition: { name, description, parameters },
    executor: "mcp",
    // A server's own description never permits what a policy would stop.
    annotations: { side_effect_level: "network", idempotent, ...(kind === undefined ? {} : { kind }) },
    handler: { ...(slug === null ? {} : { slug }), server, tool: remote },
    skill: slug,
  };
}

const CATEGORIES: Record<FailureKind, FaultCategory> = {
  refused: "unavailable",
  unavailable: "mcp_server_error",
  timeout: "timeout",
  protocol: "mcp_server_error",
  error: "tool_error",
};

/**
 * Executes a call. If an earlier run attempt began it, Hull repeats it only if the server says that this is
 * harmless.
 * @param find the served skill of a slug
 */
export async function callRemoteTool(
  { context, servers, spec }: { context: RunContext; servers: RunServers; spec: AgentSpec },
  { call, tool, again }: PlannedCall,
  { signal }: AgentEffectContext,
  find: (slug: string) => Promise<SkillRecord>,
): Promise<AgentToolResult> {
  if (call.arguments === null) {
    const { content } = refusedCall(
      "bad_arguments",
      "The arguments are not a JSON object. Send one complete JSON object.",
    );
    return plainResult("error", content, "parse_aborted");
  }
  if (again && tool.annotations.idempotent !== true) return interrupted();
  const { slug, server, tool: remote } = objectOf(tool.handler);
  if (typeof server !== "string" || typeof remote !== "string") {
    return plainResult("error", `Hull cannot execute the tool ${call.name} here.`, "tool_error");
  }
  const brought = spec.mcp_servers?.some(({ name }) => name === server) === true;
  const owner =
    typeof slug === "string"
      ? serversOfSkill(context.settings, await find(slug))
      : brought
        ? serversOfRequest(spec.mcp_servers)
        : serversOfDeployment(context.settings, context.tenant);
  const called = { server, remote, parameters: tool.definition.parameters, raw: call.raw };
  const outcome = await servers.call(owner, called, call.arguments, signal);
  const { ok, text, fault, begun, duration_ms } = outcome;
  if (ok) return { ...plainResult("ok", text, null), duration_ms };
  const category = fault === null ? "tool_error" : CATEGORIES[fault];
  const retryable = !begun || tool.annotations.idempotent === true;
  return { ...plainResult("error", text, category), retryable, duration_ms };
}
