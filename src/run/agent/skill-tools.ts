/** Tools of skills' tools.json in agent runs: how Hull registers and calls them. */

import { plainResult } from "../../engine/agent/call-results.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { AgentSpec, AgentTool } from "../../engine/agent/spec.ts";
import type { AgentEffectContext, PlannedCall } from "../../engine/agent/step.ts";
import type { Settings } from "../../env.ts";
import { isObject } from "../../skill/json.ts";
import type { SkillRecord, SkillTool } from "../../skill/manifest.ts";
import { RESERVED_TOOLS } from "../../skill/tools-json/read.ts";
import type { RunContext } from "../context.ts";
import type { CallArtifacts } from "../handler/artifacts.ts";
import { type HandlerEnvironmentOptions, handlerEnvironment } from "../handler/environment.ts";
import { toolPolicy } from "../handler/policy.ts";
import type { SkillToolResult } from "../handler/ports.ts";
import { callSkillTool } from "../handler/skill-tool.ts";
import { executionIdOf } from "./execution-id.ts";
import { sessionRecord, toolOfSession } from "./session-tools.ts";

/** A skill's tools, including hidden ones: they are hidden from panels, not from models. */
export function toolsOfSkill(settings: Settings, record: SkillRecord, onActivation: boolean): AgentTool[] {
  const { manifest, tools = [] } = record;
  const { slug } = manifest;
  return tools
    .filter(({ name }) => !RESERVED_TOOLS.includes(name))
    .map((tool) => ({
      definition: { name: tool.name, description: tool.description, parameters: tool.parameters },
      executor: "isolate",
      handler: { slug, tool: tool.name },
      skill: slug,
      ...toolPolicy(settings, record, tool),
      trust: record.uploaded_by === undefined ? "published" : "uploaded",
      ...(onActivation ? { on_activation: true as const } : {}),
    }));
}

/** Of tools with the same name, that of the skill loaded last counts; a tool of the run itself counts before both. */
export function withSkillTools(own: readonly AgentTool[], ofSkills: readonly AgentTool[]): AgentTool[] {
  const taken = new Set(own.map(({ definition }) => definition.name));
  const last = new Map<string, AgentTool>();
  for (const tool of ofSkills) {
    const { name } = tool.definition;
    last.delete(name);
    if (!taken.has(name)) last.set(name, tool);
  }
  return [...own, ...last.values()];
}

/** The run that makes the calls. */
interface ToolRun extends Omit<HandlerEnvironmentOptions, "choice" | "policy"> {
  context: RunContext;
  spec: AgentSpec;
  artifacts: CallArtifacts;
  /** Finds a served skill by name, in the version that the run uses. */
  find: (slug: string) => Promise<SkillRecord>;
}

/** Executes a planned call. Every failure is a result. */
export async function runSkillTool(
  { call, tool, again }: PlannedCall,
  { context, spec, find, ...options }: ToolRun,
  at: AgentEffectContext,
): Promise<AgentToolResult> {
  const choice = { bot: spec.bot ?? null, perCall: spec.tool_configs ?? null };
  const found = await handlerOf(tool, context, find);
  if (found === null) {
    const error = `The skill ${tool.skill ?? ""} has no tool ${call.name} any more.`;
    return plainResult("error", JSON.stringify({ error }), "tool_error");
  }
  const result = await callSkillTool(
    {
      ...found,
      call,
      again,
      signal: at.signal,
      executionId: executionIdOf(at),
      runId: at.run,
      sessionId: spec.session_id,
      bot: choice.bot,
      models: spec.models ?? {},
      leftMs: leftMs(spec),
    },
    handlerEnvironment(context, { ...options, choice, policy: spec.policies.policy }),
  );
  return options.artifacts.settle(agentResult(result, found.tool.idempotent));
}

async function handlerOf(
  { handler, definition }: AgentTool,
  context: RunContext,
  find: ToolRun["find"],
): Promise<{ record: SkillRecord; tool: SkillTool; source: string | null } | null> {
  if (!isObject(handler)) return null;
  if (typeof handler.code === "string") {
    const tool = toolOfSession(definition);
    return { record: sessionRecord(tool.name, context.tenant), tool, source: handler.code };
  }
  if (typeof handler.slug !== "string") return null;
  const record = await find(handler.slug);
  const tool = record.tools?.find(({ name }) => name === handler.tool);
  return tool === undefined ? null : { record, tool, source: null };
}

function agentResult(
  { value, text, fault, duration_ms, exit_code, metadata }: SkillToolResult,
  idempotent: boolean,
): AgentToolResult {
  return {
    status: fault === null ? "ok" : "error",
    content: text,
    value,
    error_category: fault,
    exit_code,
    duration_ms,
    ...(fault === null ? {} : { retryable: idempotent || fault === "unavailable" }),
    metadata,
  };
}

/** The time that a call of the run may still take, in ms: at least 1, since the deadline itself ends the run. */
export const leftMs = ({ deadline }: AgentSpec): number =>
  deadline === undefined ? Number.MAX_SAFE_INTEGER : Math.max(1, deadline.at - Date.now());
