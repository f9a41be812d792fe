/** How the effects of an agent run are carried out: models through the host, commands in the runner. */

import { plainResult } from "../../engine/agent/calls.ts";
import type { AgentRecord, AgentToolResult } from "../../engine/agent/records.ts";
import { READ_SKILL_RESOURCE } from "../../engine/agent/skill-resource.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { AgentEffectContext, AgentEffects, AgentStep, PlannedCall } from "../../engine/agent/step.ts";
import { isArtifact } from "../../engine/artifact.ts";
import type { ToolOutcome } from "../../engine/tool-result.ts";
import { HullError } from "../../errors.ts";
import type { CallWatcher, LlmHost } from "../../llm/host.ts";
import { turnText } from "../../llm/result.ts";
import { systemClock } from "../../model/clock.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { runCommandTool } from "../../tool/command.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import type { CallArtifacts, RunArtifacts } from "../handler/artifacts.ts";
import { logToolCall } from "../handler/log.ts";
import { bindServers, callRemoteTool } from "../mcp/agent-tools.ts";
import { RunServers } from "../mcp/servers.ts";
import { countToolCall } from "../metrics.ts";
import { runnerEndpoint, runOptions } from "../runner.ts";
import { grantsOf } from "../variables.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { toolWorkspace } from "../workspace/transfer.ts";
import { runDynamicTool } from "./define-tool.ts";
import { hookAnswer, hookPayload } from "./hook-exchange.ts";
import { callRunHook } from "./hooks.ts";
import { callHostTool, hostAnswer, hostPermission } from "./host-tools.ts";
import { type ModelChoice, modelOf } from "./run-model.ts";
import { readSkillFile } from "./skill-files.ts";
import { runSkillTool } from "./skill-tools.ts";
import { servedSkill } from "./skills.ts";
import { type Ask, structuredTurn } from "./structured-turn.ts";
import type { RunVault } from "./vault.ts";

interface EffectsOptions {
  context: RunContext;
  host: LlmHost;
  spec: AgentSpec;
  vault: RunVault | null;
  /** What is remembered of detached executions; `null`: the run does not outlive its process. */
  known: KnownExecutions | null;
  /** All of the session or the anonymous run so far. */
  records: () => Iterable<AgentRecord>;
  /** The session's files; `null`: there is no session. */
  workspace: WorkspaceAccess | null;
  artifacts: RunArtifacts;
  /** Is told of text and reasoning as they come. */
  watcher: CallWatcher;
  /** Is told what no record holds, e.g. output of tools. */
  emit: (event: RunEvent) => void;
}

/** What the log calls the place that a call was made in. */
const RUNTIMES = new Map([
  ["command", "process" as const],
  ["hook", "hook" as const],
  ["mcp", "mcp" as const],
]);
const DEFAULT_TOOL_TIMEOUT_MS = 60_000;

export function agentEffects(options: EffectsOptions): AgentEffects {
  const { vault } = options;
  const servers = new RunServers(options.context);
  let model: ModelChoice | null = null;
  const chosen = (): ModelChoice => {
    model ??= modelOf(options.spec, options.host);
    return model;
  };
  return {
    callModel: (step) => callModel(options, chosen(), step),
    runTool: (planned, context) => runTool(options, servers, planned, context),
    async callHook(step, { signal }) {
      const { context, spec } = options;
      if (step.purpose === "host_skill_match")
        return hostAnswer(context, "skill/match", step.payload, signal);
      if (step.purpose === "host_permission") return hostPermission(context, step.payload, signal);
      const payload = hookPayload(step, options.records);
      return hookAnswer(step, await callRunHook(context, spec, { reference: step.hook, payload, signal }));
    },
    pause: (ms, signal) => systemClock.sleep(ms, signal),
    summarize: (instructions, _messages) => summarize(options, chosen(), instructions),
    bindServers: (step) => bindServers(options.context, servers, options.spec, step),
    searchTools: async ({ call, state }) =>
      vault === null ? { state, result: "{}", events: [] } : vault.search(call, state),
  };
}

async function callModel(
  { host, spec, watcher }: EffectsOptions,
  { targets, settings, options, own, structured }: ModelChoice,
  { request: asked, iteration }: AgentStep & { type: "call_model" },
): ReturnType<AgentEffects["callModel"]> {
  const { vision = false, audio = false, pdf = false } = options;
  const ask: Ask = async (request, attempt) => {
    if (attempt > 0) watcher.onRestart?.(iteration);
    const turn = await host.exchange({
      targets,
      request: (target) => ({ ...settings(target), ...request }),
      own,
      native_search: request.tool_search !== undefined,
      declared: { vision, audio, pdf },
      retries: options.llm_retries ?? 3,
      backoff_ms: options.llm_backoff_ms ?? 2000,
      timeout_ms: (options.timeout ?? 120) * 1000,
      idle_timeout_ms: options.idle_timeout === undefined ? null : options.idle_timeout * 1000,
      stream: options.stream ?? true,
      budget: options.budget ?? null,
      max_tokens_given: spec.skill_max_tokens === true ? null : (options.max_tokens ?? null),
      onText: watcher.onText,
      onReasoning: watcher.onReasoning,
    });
    return { turn, cost_usd: host.figures(turn).cost_usd };
  };
  const sentinel = spec.persistent ? spec.done_sentinel : null;
  const answer =
    structured === null
      ? await ask(asked, 0)
      : await structuredTurn({ structured, sentinel }, asked, ask, (entry) => host.log(entry));
  return { ...answer, warnings: answer.turn.warnings ?? [] };
}

async function summarize(
  { host }: EffectsOptions,
  { targets, settings, options }: ModelChoice,
  instructions: string,
): Promise<string> {
  const turn = await host.exchange({
    targets,
    request: (target) => ({
      ...settings(target),
      json: false,
      system: "",
      messages: [{ role: "user", content: [{ type: "text", text: instructions }] }],
      tools: [],
      tool_choice: "auto",
    }),
    own: {},
    native_search: false,
    declared: { vision: false, audio: false, pdf: false },
    retries: options.llm_retries ?? 3,
    backoff_ms: options.llm_backoff_ms ?? 2000,
    timeout_ms: (options.timeout ?? 120) * 1000,
    idle_timeout_ms: null,
    stream: false,
    budget: null,
    max_tokens_given: null,
  });
  return turnText(turn.blocks);
}

async function runTool(
  options: EffectsOptions,
  servers: RunServers,
  planned: PlannedCall,
  at: AgentEffectContext,
): Promise<AgentToolResult> {
  const { tool } = planned;
  const started = Date.now();
  try {
    const result = await (tool.executor === "webhook"
      ? callHostTool(options.context, planned, at)
      : tool.executor === "mcp"
        ? callRemoteTool({ ...options, servers }, planned, at, (slug) => servedSkill(options.context, slug))
        : carryOut(options, planned, at));
    const outcome = result.status === "ok" ? "ok" : (result.error_category ?? "failed");
    countToolCall(outcome);
    const { executor, skill } = tool;
    if (executor !== "isolate") {
      const { duration_ms } = result;
      const runtime = RUNTIMES.get(executor) ?? "builtin";
      const { call } = planned;
      await logToolCall(options.context, { run: at.run, skill, call, runtime, duration_ms, outcome });
    }
    return result;
  } catch (error) {
    if (at.signal.aborted || !(error instanceof HullError)) throw error;
    const duration_ms = Date.now() - started;
    return {
      ...plainResult("error", `${tool.definition.name} failed: ${error.message}`, "network"),
      duration_ms,
    };
  } finally {
    options.context.time("tools", Date.now() - started);
  }
}

async function carryOut(
  { context, known, workspace: access, spec, emit, artifacts }: EffectsOptions,
  planned: PlannedCall,
  at: AgentEffectContext,
): Promise<AgentToolResult> {
  const { call, tool, again } = planned;
  const { run, effect, signal } = at;
  if (tool.executor === "isolate") {
    const made = artifacts.call(effect);
    return runSkillTool(planned, { context, spec, emit, known, workspace: access, artifacts: made }, at);
  }
  if (call.name === READ_SKILL_RESOURCE && tool.executor === "builtin")
    return readSkillFile(context, spec, call.arguments ?? {});
  if (tool.executor === "builtin") return runDynamicTool(planned, { context, spec }, at);
  if (tool.executor === "hook" && typeof tool.handler === "string") {
    const made = artifacts.call(effect);
    const hook = { reference: tool.handler, payload: call.arguments ?? {}, signal };
    return hookResult(context, spec, hook, made);
  }
  const handler = commandOf(tool.handler);
  if (tool.executor !== "command" || handler === null) {
    return plainResult("error", `The tool ${call.name} cannot be carried out here.`, "tool_error");
  }
  // A run that dies with its process has no second life, so that a call that was begun is always found by its id.
  if (again && known === null) {
    return plainResult(
      "error",
      "The call was interrupted. It may or may not have taken effect.",
      "cancelled",
    );
  }
  const record = await servedSkill(context, handler.slug);
  const { settings } = context;
  const executionId = `${run}-${effect}`;
  const workspace = access === null ? null : await toolWorkspace(context.env.FILES, access);
  const outcome = await runCommandTool(call, {
    runner: await runnerEndpoint(context, workspace?.id ?? executionId),
    options: runOptions(context, signal, known),
    record,
    tools: record.manifest.llm?.tools ?? [],
    executionId,
    runId: run,
    timeoutMs: record.manifest.timeout_ms ?? DEFAULT_TOOL_TIMEOUT_MS,
    graceMs: settings.grace_ms,
    maxOutputBytes: settings.max_output_bytes,
    files: [],
    ...(workspace === null ? {} : { workspace }),
    read: settings.read,
    granted: grantsOf(settings, record),
    providerKeys: settings.providerKeys,
  });
  return resultOf(outcome);
}

/** A hook computes without effects, so that one which was begun by an earlier life is simply called again. */
async function hookResult(
  context: RunContext,
  spec: AgentSpec,
  call: { reference: string; payload: Json; signal: AbortSignal },
  made: CallArtifacts,
): Promise<AgentToolResult> {
  const started = Date.now();
  try {
    const answer = await callRunHook(context, spec, call);
    const kept = isArtifact(answer) ? await made.keep(answer) : { line: answer };
    const failed = "error" in kept;
    const value = failed ? { error: kept.error } : kept.line;
    const content = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    const result = plainResult(failed ? "error" : "ok", content, failed ? "tool_error" : null);
    return made.settle({ ...result, value, duration_ms: Date.now() - started });
  } catch (error) {
    if (call.signal.aborted || !(error instanceof HullError)) throw error;
    const category = error.code === "hook_timeout" ? "timeout" : "tool_error";
    return { ...plainResult("error", error.message, category), duration_ms: Date.now() - started };
  }
}

function commandOf(handler: Json): { slug: string; tool: string } | null {
  if (typeof handler !== "object" || handler === null || Array.isArray(handler)) return null;
  const { slug, tool }: JsonObject = handler;
  return typeof slug === "string" && typeof tool === "string" ? { slug, tool } : null;
}

const CATEGORIES = new Map<string, string>([
  ["timed_out", "timeout"],
  ["bad_arguments", "schema_validation"],
  ["missing_argument", "schema_validation"],
  ["unknown_argument", "schema_validation"],
  ["outcome_unknown", "cancelled"],
]);

function resultOf({ ok, code, exit_code, content, duration_ms }: ToolOutcome): AgentToolResult {
  return {
    status: ok ? "ok" : "error",
    content,
    value: null,
    error_category: ok ? null : (CATEGORIES.get(code ?? "") ?? "tool_error"),
    exit_code,
    duration_ms,
  };
}
