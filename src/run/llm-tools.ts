/** The tools of a served llm skill: commands of its frontmatter, then handlers of its tools.json (contract.md "Rulings"). */
import {
  READ_SKILL_RESOURCE,
  resourceArgumentsFault,
  resourceToolDefinition,
} from "../engine/agent/skill-resource.ts";
import { toolDefinition } from "../engine/arguments.ts";
import type { EffectContext } from "../engine/drive.ts";
import type { ToolCallBlock, ToolDefinition } from "../engine/messages.ts";
import { OutputWindow, refusedCall, type ToolErrorCode, type ToolOutcome } from "../engine/tool-result.ts";
import type { Manifest, SkillRecord, SkillTool } from "../skill/manifest.ts";
import { RESERVED_TOOLS } from "../skill/tools-json/read.ts";
import { runCommandTool } from "../tool/command.ts";
import type { HandlerFault } from "../tool/handler/call.ts";
import type { RunHandle } from "./handle.ts";
import type { RunArtifacts } from "./handler/artifacts.ts";
import { logToolCall } from "./handler/log.ts";
import { handlerPlace } from "./handler/place.ts";
import { unattendedRefusal } from "./handler/policy.ts";
import type { SkillToolResult } from "./handler/ports.ts";
import { callSkillTool } from "./handler/skill-tool.ts";
import type { HeldFile } from "./llm-input.ts";
import { callRemote } from "./mcp/llm-tools.ts";
import type { RunServers } from "./mcp/servers.ts";
import { namesFiles } from "./own-skill.ts";
import { runnerEndpoint, runOptions } from "./runner.ts";
import { readSkillResource } from "./skill-resource.ts";
import { openSpan } from "./spans.ts";
import { grantsOf } from "./variables.ts";

type LlmSettings = NonNullable<Manifest["llm"]>;

/** Whether the model may read the skill's files: where its text names one, and no command has the tool's name. */
function readsFiles(record: SkillRecord, llm: LlmSettings): boolean {
  return namesFiles(record) && llm.tools.every(({ name }) => name !== READ_SKILL_RESOURCE);
}

/** What a model is offered. */
export function llmTools(record: SkillRecord, llm: LlmSettings): ToolDefinition[] {
  const handlers = handlersOf(record, llm).map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  const reads = readsFiles(record, llm) ? [resourceToolDefinition()] : [];
  return [...llm.tools.map(toolDefinition), ...handlers, ...reads];
}

/** M6: a command of the frontmatter wins over a handler, and no tool takes a name of Hull's own. */
function handlersOf({ tools = [] }: SkillRecord, llm: LlmSettings): SkillTool[] {
  const taken = new Set([...llm.tools.map(({ name }) => name), ...RESERVED_TOOLS]);
  return tools.filter(({ name }) => !taken.has(name));
}

interface LlmToolRun {
  run: RunHandle;
  llm: LlmSettings;
  files: HeldFile[];
  /** Unix ms. */
  deadlineAt: number;
  artifacts: RunArtifacts;
  servers: RunServers;
  /** Whether the models take images. */
  images: boolean;
}

/** Carries one call out. @throws HullError for faults of the runner */
export async function runLlmTool(
  call: ToolCallBlock,
  at: EffectContext,
  of: LlmToolRun,
): Promise<ToolOutcome> {
  const { run, llm } = of;
  const command = llm.tools.some(({ name }) => name === call.name);
  const tool = handlersOf(run.record, llm).find(({ name }) => name === call.name);
  if (!command && tool !== undefined) return runHandlerTool(call, tool, at, of);
  if (call.name === READ_SKILL_RESOURCE && readsFiles(run.record, llm)) return runResourceTool(call, of);
  const names = llmTools(run.record, llm).map(({ name }) => name);
  if (!command) {
    const outcome = await callRemote(of.servers, run, call, at, llm.max_tool_output_bytes);
    if (outcome !== null) return outcome;
    return refusedCall("unknown_tool", `There is no tool "${call.name}". Use one of: ${names.join(", ")}.`);
  }
  const outcome = await runCommand(call, at, of);
  const { ok, code = "failed", duration_ms } = outcome;
  await logToolCall(run.context, {
    ...{ run: run.id, skill: run.record.manifest.slug, call, runtime: "process" },
    ...{ duration_ms, outcome: ok ? "ok" : code },
  });
  return outcome;
}

async function runResourceTool(call: ToolCallBlock, { run, images }: LlmToolRun): Promise<ToolOutcome> {
  const { context, record, id } = run;
  const { slug } = record.manifest;
  const started = Date.now();
  const fault = resourceArgumentsFault([slug], call.arguments);
  const read =
    fault === null
      ? await readSkillResource(context.env, record, call.arguments ?? {}, images)
      : { ok: false, content: JSON.stringify({ error: fault }) };
  const duration_ms = Date.now() - started;
  const outcome = read.ok ? "ok" : "tool_error";
  await logToolCall(context, { run: id, skill: slug, call, runtime: "builtin", duration_ms, outcome });
  const bytes = new TextEncoder().encode(read.content).length;
  const code = read.ok ? {} : { code: "tool_error" as const };
  return { ...read, ...code, exit_code: null, bytes, truncated: false, duration_ms };
}

async function runCommand(
  call: ToolCallBlock,
  { effect, signal }: EffectContext,
  { run, llm, files, deadlineAt }: LlmToolRun,
): Promise<ToolOutcome> {
  const { context, record } = run;
  const { settings } = context;
  const executionId = `${run.id}-${effect}`;
  const runner = await runnerEndpoint(context, executionId);
  const queued = openSpan(context, "queue");
  return runCommandTool(call, {
    runner,
    options: runOptions(context, signal, run.durable),
    record,
    tools: llm.tools,
    executionId,
    runId: run.id,
    timeoutMs: Math.min(record.manifest.timeout_ms, deadlineAt - Date.now()),
    graceMs: settings.grace_ms,
    maxOutputBytes: settings.max_output_bytes,
    files,
    read: settings.read,
    granted: grantsOf(settings, record),
    providerKeys: settings.providerKeys,
    started: (ms) => queued({ "hull.queue_ms": ms }),
  }).finally(queued);
}

async function runHandlerTool(
  call: ToolCallBlock,
  tool: SkillTool,
  { effect, signal, again }: EffectContext,
  { run, llm, deadlineAt, artifacts }: LlmToolRun,
): Promise<ToolOutcome> {
  const { context, record, id } = run;
  const { bot } = context;
  const made = artifacts.call(effect);
  const refusal = unattendedRefusal(context.settings, record, tool, call.arguments ?? {});
  if (refusal !== null) {
    const refused = { duration_ms: 0, outcome: "permission_denied" };
    await logToolCall(context, { run: id, skill: record.manifest.slug, call, runtime: "none", ...refused });
    return { ...refusedCall("permission_denied", ""), content: refusal };
  }
  const result = await callSkillTool(
    {
      ...{ record, tool, source: null, call, signal, again, bot, models: {} },
      ...{ executionId: `${id}-${effect}`, runId: id, sessionId: null, leftMs: deadlineAt - Date.now() },
    },
    handlerPlace(context, {
      emit: (event) => void run.emit(event),
      known: run.durable,
      workspace: null,
      artifacts: made,
      choice: { bot, perCall: null },
      policy: context.settings.policy ?? null,
    }),
  );
  for (const artifact of made.artifacts) {
    await run.emit({ event: "artifact", data: { call_id: call.id, ...artifact } });
  }
  return outcomeOf(result, llm.max_tool_output_bytes);
}

const CODES: Record<HandlerFault, ToolErrorCode> = {
  tool_error: "tool_error",
  timeout: "timed_out",
  unavailable: "unavailable",
  cancelled: "outcome_unknown",
  schema_validation: "bad_arguments",
};

function outcomeOf({ text, fault, exit_code, duration_ms }: SkillToolResult, limit: number): ToolOutcome {
  const window = new OutputWindow(limit);
  window.push(new TextEncoder().encode(text));
  const { bytes } = window;
  const { text: shortened, truncated } = window.render();
  const content = truncated ? shortened : text;
  const code = fault === null ? {} : { code: CODES[fault] };
  return { ok: fault === null, ...code, exit_code, content, bytes, truncated, duration_ms };
}
