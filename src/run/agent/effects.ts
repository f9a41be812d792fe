/**
 * Executes the effects of an agent run, the same in a session and without one: model calls through the host, commands in
 * the runner.
 */

import { interrupted, jsonResult, plainResult } from "../../engine/agent/call-results.ts";
import { onlyReads } from "../../engine/agent/policy.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import { READ_SKILL_RESOURCE } from "../../engine/agent/skill-resource.ts";
import { skillsOf } from "../../engine/agent/skill-text.ts";
import type { AgentSpec, AgentTool, VendorTerms } from "../../engine/agent/spec.ts";
import { modelName } from "../../engine/agent/state.ts";
import type {
  AgentEffectContext,
  AgentEffects,
  AgentRequest,
  AgentStep,
  PlannedCall,
} from "../../engine/agent/step.ts";
import { isArtifact } from "../../engine/artifact.ts";
import { isRefused, type ModelRequest, type ModelTurn, textOfBlocks } from "../../engine/messages.ts";
import type { Cost } from "../../engine/shares.ts";
import { OutputWindow } from "../../engine/tool-result.ts";
import { ModelRefused, ProviderEmptyAnswer } from "../../errors/provider.ts";
import { ExecutionLost } from "../../errors/run.ts";
import { HullError } from "../../errors.ts";
import type { CallWatcher, LlmHost } from "../../llm/host.ts";
import { exchangeTerms, nothingToAnswer } from "../../llm/prepare.ts";
import type { CallFigures } from "../../llm/result.ts";
import { systemClock } from "../../model/clock.ts";
import { asJson, isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject, ModelTarget, SkillRecord } from "../../skill/manifest.ts";
import { runCommandTool } from "../../tool/command.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import { AnswerStream } from "../answer-stream.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import { tracedTool } from "../gen-ai.ts";
import type { CallArtifacts, RunArtifacts } from "../handler/artifacts.ts";
import { logToolCall, type ToolCallNote } from "../handler/log.ts";
import type { HeldFile } from "../llm-input.ts";
import { bindServers, callRemoteTool } from "../mcp/agent-tools.ts";
import { RunServers } from "../mcp/servers.ts";
import { runnerEndpoint, runOptions } from "../runner.ts";
import { readSkillFile } from "../skill-resource.ts";
import { openSpan } from "../spans.ts";
import { runSubAgent } from "../task/sub-agent.ts";
import { checkTrust } from "../trust.ts";
import { grantsOf, processSettings } from "../variables.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { toolWorkspace } from "../workspace/transfer.ts";
import { WorkspaceTools } from "../workspace-tools/call.ts";
import { runDynamicTool } from "./define-tool.ts";
import { earlierMockCalls } from "./earlier-calls.ts";
import { attemptOf, executionIdOf } from "./execution-id.ts";
import { isForModel } from "./for-model.ts";
import { hookAnswer, hookPayload, RecordedMessages } from "./hook-exchange.ts";
import { callRunHook } from "./hooks.ts";
import { callHostTool, hostAnswer, hostPermission } from "./host-tools.ts";
import type { RecordSource } from "./run-log.ts";
import { modelOf, type RunModel } from "./run-model.ts";
import { hookCommand, skillCommands } from "./skill-commands.ts";
import { leftMs, runSkillTool } from "./skill-tools.ts";
import { servedSkill } from "./skills.ts";
import { type Ask, structuredTurn, withPrefill, withSentinel } from "./structured-turn.ts";
import type { RunVault } from "./vault.ts";

type CallModel = AgentEffects["callModel"];

/** Which parts of an answer are passed on while it comes. */
type Streams = "nothing" | "text" | "text and reasoning";

export interface RunEffectsOptions {
  context: RunContext;
  host: LlmHost;
  spec: AgentSpec;
  vault: RunVault | null;
  /** Remembered detached executions; `null`: the run does not outlive its process. */
  known: KnownExecutions | null;
  /** All records of the session or the anonymous run so far. */
  records: RecordSource;
  /** The session's files, or those of the run alone; `null`: it has no files. */
  workspace: WorkspaceAccess | null;
  artifacts: RunArtifacts;
  /** The served skill that the run is, as it was when the run began. Absent: Hull looks it up by name. */
  own?: OwnSkill;
  /** The model that the run's options chose, if known. Absent: the options are read. */
  model?: RunModel | undefined;
  streams: Streams;
  /** Called once a model call is admitted. */
  admitted?: (() => void) | undefined;
  /** Receives what each answered exchange of a round took. */
  took?: ((figures: CallFigures) => unknown) | undefined;
  /** Receives what no record holds: pieces of answers, the output of tools. Never fails. */
  emit: (event: RunEvent) => Promise<void>;
  /** Runs one model call in the surroundings of the run. */
  around: (call: () => ReturnType<CallModel>) => ReturnType<CallModel>;
}

export interface RunEffects {
  effects: AgentEffects;
  /** Ends what the effects hold open beyond a call. */
  close(): void;
  /** More members of the run's result, as this run attempt knows them. */
  further(): JsonObject;
}

/** The skill that a run is. */
interface OwnSkill {
  record: SkillRecord;
  /** Files of the request. Tools see the first one as HULL_INPUT_FILE. */
  files: readonly HeldFile[];
}

/** The log's name for each place where a call runs. */
const RUNTIMES = new Map([
  ["command", "process" as const],
  ["hook", "hook" as const],
  ["mcp", "mcp" as const],
  ["isolate", "none" as const],
]);

export function runEffects(options: RunEffectsOptions): RunEffects {
  const { context, spec, host, vault, records, streams, admitted, took, emit, around } = options;
  const servers = new RunServers(context);
  let model = options.model ?? null;
  const chosen = (): RunModel => {
    model ??= modelOf(spec, host);
    return model;
  };
  const answers = streams === "nothing" ? null : new AnswerStream(context, emit);
  const { onText, onReasoning, onRestart } = answers?.watcher ?? {};
  const watcher: CallWatcher = {
    onText,
    onRestart,
    onReasoning: streams === "text and reasoning" ? onReasoning : undefined,
    onAdmitted: admitted,
    onFigures: took,
  };
  const passthrough = passthroughOf(spec);
  const recorded = new RecordedMessages(records);
  /** The first iteration whose model call this run attempt made; `null`: none yet. */
  let first: number | null = null;
  const effects: AgentEffects = {
    callModel(step, at) {
      first ??= step.iteration;
      const call = async () => callModel({ ...options, watcher, passthrough }, chosen(), step, at);
      return around(answers === null ? call : () => answers.during(step.iteration + 1, call));
    },
    runTool: (planned, at) => tracedTool(context, planned.call, () => runTool(options, servers, planned, at)),
    attemptOf: (at) => attemptOf(at, options.known),
    async callHook(step, { signal }) {
      if (step.purpose === "host_skill_match")
        return hostAnswer(context, "skill/match", step.payload, signal);
      if (step.purpose === "skill_commands") return skillCommands(options, step, signal);
      if (step.purpose === "command") return hookCommand(options, step, signal);
      if (step.purpose === "host_permission") return hostPermission(context, step.payload, signal);
      const payload = hookPayload(step, recorded);
      return hookAnswer(step, await callRunHook(context, spec, { reference: step.hook, payload, signal }));
    },
    pause: (ms, signal) => systemClock.sleep(ms, signal),
    summarize: (instructions, _messages, { signal }) => summarize(options, chosen(), instructions, signal),
    bindServers: (step) => bindServers(context, servers, spec, step),
    searchTools: async ({ call, state, scope }) =>
      vault === null ? { state, result: "{}", events: [] } : vault.search(call, state, new Set(scope)),
  };
  return {
    effects,
    close: () => servers.close(),
    further() {
      const earlier = () => earlierMockCalls(records.records(), { spec, host, vault, before: first });
      return asJson({ ...host.further(earlier) });
    },
  };
}

/** What accompanies each request: a container that the provider opened for one call serves the next one too. */
function passthroughOf({ beside: passthrough }: AgentSpec) {
  let opened: Json = null;
  return {
    now(): Pick<ModelRequest, "passthrough"> {
      if (passthrough === undefined) return {};
      const { container } = passthrough.body;
      if (opened === null || !isObject(container)) return { passthrough };
      const body = { ...passthrough.body, container: { ...container, id: opened } };
      return { passthrough: { ...passthrough, body } };
    },
    answered({ container }: ModelTurn): void {
      if (container?.id !== undefined) opened = container.id;
    },
  };
}

async function callModel(
  {
    context,
    host,
    spec,
    vault,
    watcher,
    passthrough,
  }: RunEffectsOptions & { watcher: CallWatcher; passthrough: ReturnType<typeof passthroughOf> },
  { targets: all, settings, options, own, structured }: RunModel,
  { request: wanted, iteration, found: before }: AgentStep & { type: "call_model" },
  { provider, signal }: AgentEffectContext,
): ReturnType<AgentEffects["callModel"]> {
  if (wanted.messages.length === 0) throw nothingToAnswer();
  const { system_blocks } = spec;
  const asked: AgentRequest & VendorTerms & Pick<ModelRequest, "passthrough"> = {
    ...wanted,
    ...(system_blocks === undefined ? {} : { system_blocks }),
    ...spec.vendor,
    ...passthrough.now(),
  };
  // Once a fallback of the skill has answered, the run stays with it.
  const stays = spec.fallback === undefined ? -1 : all.findIndex((target) => target.provider === provider);
  const targets = all.slice(Math.max(0, stays));
  const { served, called, skill_limits } = spec;
  const first_byte_ms = skill_limits?.first_byte_ms;
  const terms = {
    ...exchangeTerms(options, host, all),
    ...(first_byte_ms === undefined ? {} : { timeout_ms: first_byte_ms, whole: false }),
    ...(spec.skill_max_tokens === true ? { max_tokens_given: null } : {}),
    ...(served === undefined ? {} : { stream: watcher.onText !== undefined }),
    ...(served === undefined && called === undefined ? {} : { retries: null }),
  };
  const sentinel = spec.persistent ? spec.done_sentinel : null;
  const searches = spec.single === true ? (name: string) => vault?.owns(name) === true : null;
  const form = structured === null ? null : { structured, sentinel, searches };
  let refusing: { provider: string; model: string }[] = [];
  const noteRefusal = ({ provider, model }: ModelTarget, error: unknown): void => {
    if (asked.tool_search === undefined || vault?.isRefusal(error) !== true) return;
    refusing = [...refusing, { provider, model: model ?? host.reach({ provider, model }).model }];
  };
  const ask: Ask = async (request, attempt) => {
    refusing = [];
    if (attempt > 0) watcher.onRestart?.(iteration + 1);
    const { turn: answered, figures } = await host.exchange({
      targets,
      signal,
      request: (target) => ({ ...settings(target), ...request }),
      own,
      native_search: request.tool_search !== undefined,
      json_suffix: sentinel === null ? "" : `\n${sentinel}`,
      deadline_at: spec.deadline?.at,
      onFailed: noteRefusal,
      onAdmitted: watcher.onAdmitted,
      beforeAttempt: () => context.beforeEffects(),
      onText: watcher.onText,
      onReasoning: watcher.onReasoning,
      // Callers of a served skill or of a vendor's API cannot discard text.
      onRestart: spec.served === undefined ? () => watcher.onRestart?.(iteration + 1) : undefined,
      ...terms,
    });
    const turn = form === null ? answered : withPrefill(answered, request.prefill ?? "");
    const said = form === null ? null : withSentinel(turn, request, form);
    if (said !== null && terms.stream) watcher.onText?.(said.text);
    watcher.onFigures?.(figures);
    return { turn: said?.turn ?? turn, ...costOf(figures) };
  };
  const answer = await (form === null
    ? ask(asked, 0)
    : structuredTurn(form, asked, ask, (entry) => host.log(entry))
  ).catch((error) => {
    if (vault === null || refusing.length === 0 || signal.aborted) throw error;
    return { warnings: vault.afterRefusal(refusing), models: refusing.map(modelName) };
  });
  if ("warnings" in answer || "fault" in answer) return answer;
  passthrough.answered(answer.turn);
  const exceeded = host.budgetExceeded ? { budget_exceeded: true as const } : {};
  const found = vault?.observed(answer.turn, before) ?? [];
  const searched = found.length === 0 ? {} : { searches: found };
  return { ...answer, ...exceeded, ...searched, warnings: answer.turn.warnings ?? [] };
}

const costOf = ({ cost_usd, price_known }: CallFigures): Cost =>
  price_known ? { cost_usd } : { cost_usd, price_known };

/** Asks a model for the summary of messages. @throws HullError of the provider */
export async function summarize(
  { context, host }: Pick<RunEffectsOptions, "context" | "host">,
  { targets, settings, options }: RunModel,
  instructions: string,
  signal: AbortSignal,
): ReturnType<AgentEffects["summarize"]> {
  const { turn, figures } = await host.exchange({
    targets,
    signal,
    request: (target) => ({
      ...settings(target),
      json: false,
      system: "",
      messages: [{ role: "user", content: [{ type: "text", text: instructions }] }],
      tools: [],
    }),
    own: {},
    native_search: false,
    beforeAttempt: () => context.beforeEffects(),
    ...exchangeTerms(options, host, targets),
    declared: { vision: false, audio: false, pdf: false },
    idle_timeout_ms: undefined,
    stream: false,
  });
  const { provider, warnings = [] } = turn;
  const spent = { ...turn.usage, ...costOf(figures) };
  // The text of a refusal is not a summary.
  if (isRefused(turn)) return { text: "", spent, fault: new ModelRefused({ provider }), warnings };
  const text = textOfBlocks(turn.blocks);
  if (text.trim() !== "") return { text, spent, fault: null, warnings };
  const finish_reason = turn.raw_stop_reason ?? turn.stop_reason;
  const { max_tokens } = settings({ provider, model: turn.model });
  const fault = new ProviderEmptyAnswer({ provider, finish_reason, max_tokens });
  return { text: "", spent, fault, warnings };
}

async function runTool(
  options: RunEffectsOptions,
  servers: RunServers,
  planned: PlannedCall,
  at: AgentEffectContext,
): Promise<AgentToolResult> {
  const { tool, call } = planned;
  const { context } = options;
  await context.beforeEffects();
  const started = Date.now();
  const note = async (ended: Pick<ToolCallNote, "duration_ms" | "outcome" | "error">): Promise<void> => {
    context.deployment.metrics.countToolCall(ended.outcome);
    const { executor, skill } = tool;
    // Only a call of a handler that failed outside of the handler has no line yet.
    if (executor === "isolate" && ended.error === undefined) return;
    const runtime = RUNTIMES.get(executor) ?? "builtin";
    await logToolCall(context, { run: at.run, skill, call, runtime, ...ended });
  };
  try {
    const carried = await (tool.executor === "webhook"
      ? callHostTool(context, planned, at)
      : tool.executor === "mcp"
        ? callRemoteTool({ ...options, servers }, planned, at, (slug) => skillNamed(options, slug))
        : carryOut(options, planned, at));
    const result = bounded(options.spec, tool, carried);
    const outcome = result.status === "ok" ? "ok" : (result.code ?? result.error_category ?? "failed");
    await note({ duration_ms: result.duration_ms, outcome });
    return result;
  } catch (error) {
    if (at.signal.aborted || !isForModel(error)) throw error;
    const duration_ms = Date.now() - started;
    await note({ duration_ms, outcome: error.code, error: error.operator });
    return {
      ...plainResult("error", `${tool.definition.name} failed: ${error.message}`, "network"),
      ...(error instanceof ExecutionLost ? { retryable: tool.annotations.idempotent === true } : {}),
      duration_ms,
    };
  } finally {
    context.time("tools", Date.now() - started);
  }
}

/** The skill of a name in the version with which the run began, whatever is served by now. */
async function skillNamed({ context, own, spec }: RunEffectsOptions, slug: string): Promise<SkillRecord> {
  if (own?.record.manifest.slug === slug) return own.record;
  // Only stored skills have files; the digest of a skill from the request finds no record.
  const skill = skillsOf(spec).find(({ name, files }) => name === slug && files !== undefined);
  if (skill?.digest === undefined) return servedSkill(context, slug);
  const record = await context.deployment.registry.skill(skill.digest);
  if (skill.stored !== true) checkTrust(context.settings, record);
  return record;
}

/**
 * The answer of a handler or server, cut to the limit of the run's own skill. The output of commands is limited as they
 * write.
 */
function bounded(
  { served, skill_limits }: AgentSpec,
  { executor }: AgentTool,
  result: AgentToolResult,
): AgentToolResult {
  const { max_tool_output_bytes: limit } = served ?? skill_limits ?? {};
  if (limit === undefined || (executor !== "isolate" && executor !== "mcp")) return result;
  const window = new OutputWindow(limit);
  window.push(new TextEncoder().encode(result.content));
  const { bytes } = window;
  if (bytes <= limit) return { ...result, bytes };
  return { ...result, content: window.render().text, bytes, truncated: true };
}

async function carryOut(
  options: RunEffectsOptions,
  planned: PlannedCall,
  at: AgentEffectContext,
): Promise<AgentToolResult> {
  const { context, known, workspace: access, spec, emit, artifacts, own } = options;
  const { call, tool, again } = planned;
  const { run, effect, signal } = at;
  if (tool.executor === "workspace" && access !== null) {
    const tools = new WorkspaceTools({ ...options, workspace: access, own: own?.record ?? null });
    return tools.call(planned, at);
  }
  if (tool.executor === "isolate") {
    const made = artifacts.call(effect);
    const environment = { context, spec, emit, known, workspace: access, artifacts: made };
    return runSkillTool(planned, { ...environment, find: (slug) => skillNamed(options, slug) }, at);
  }
  if (planned.above !== undefined) {
    const below = { context, spec, emit };
    return runSubAgent(planned, planned.above, below, at);
  }
  if (call.name === READ_SKILL_RESOURCE && tool.executor === "builtin")
    return readSkillFile(context, spec, own?.record ?? null, call.arguments ?? {});
  const text = tool.executor === "builtin" ? objectOf(tool.handler).text : undefined;
  if (typeof text === "string") return plainResult("ok", text, null);
  if (tool.executor === "builtin") return runDynamicTool(planned, { context, spec }, at);
  if (tool.executor === "hook" && typeof tool.handler === "string") {
    if (again && tool.annotations.idempotent !== true && !onlyReads(tool)) return interrupted();
    const made = artifacts.call(effect);
    const hook = { reference: tool.handler, payload: call.arguments ?? {}, signal };
    return hookResult(context, spec, hook, made);
  }
  const { slug } = objectOf(tool.handler);
  if (tool.executor !== "command" || typeof slug !== "string") {
    return plainResult("error", `Hull cannot execute the tool ${call.name} here.`, "tool_error");
  }
  // A run that dies with its process has no second run attempt, so its call is always found by its id.
  if (again && known === null) return interrupted();
  const record = await skillNamed(options, slug);
  const settings = await processSettings(context);
  const executionId = executionIdOf(at);
  const workspace = access === null ? null : await toolWorkspace(context.env.FILES, access);
  const runner = await runnerEndpoint(context, workspace?.id ?? executionId);
  const queued = openSpan(context, "queue");
  const result = await runCommandTool(call, {
    runner,
    options: runOptions(context, signal, known),
    record,
    executionId,
    runId: run,
    timeoutMs: Math.min(record.manifest.timeout_ms, leftMs(spec)),
    files: [...(own?.files ?? [])],
    ...(workspace === null ? {} : { workspace }),
    settings,
    granted: grantsOf(settings, record),
    started: (ms) => queued({ "hull.queue_ms": ms }),
  }).finally(queued);
  return result.status === "ok" ? result : { ...result, retryable: tool.annotations.idempotent === true };
}

/** Executes a tool through a hook. The hook can reach nothing outside, but its module may keep state between calls. */
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
    const result = "error" in kept ? jsonResult({ error: kept.error }, true) : jsonResult(kept.line, false);
    return made.settle({ ...result, duration_ms: Date.now() - started });
  } catch (error) {
    if (call.signal.aborted || !(error instanceof HullError)) throw error;
    const category = error.code === "hook_timeout" ? "timeout" : "tool_error";
    return { ...plainResult("error", error.message, category), duration_ms: Date.now() - started };
  }
}
