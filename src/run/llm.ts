/**
 * mode: llm — the engine with its effects (serving.md §3.4, §4; design.md §2.1). The records of a durable run are stored
 * before each effect, so that another life of the run goes on from them.
 */
import { READ_SKILL_RESOURCE } from "../engine/agent/skill-resource.ts";
import { type DriveOptions, type Effects, resumeRun, startRun } from "../engine/drive.ts";
import type { ModelRequest, ModelTurn, Part, ToolCallBlock } from "../engine/messages.ts";
import type { RunOutcome, RunRecord, RunSpec, RunTotals } from "../engine/records.ts";
import type { ToolOutcome } from "../engine/tool-result.ts";
import type { Settings } from "../env.ts";
import { HullError, Internal, toHullError } from "../errors.ts";
import type { Admit } from "../model/admission.ts";
import type { Catalogue } from "../model/catalogue/definition.ts";
import { systemClock } from "../model/clock.ts";
import { callWithFallback } from "../model/fallback.ts";
import type { Intercept } from "../model/intercept.ts";
import { mockTarget } from "../model/mock/target.ts";
import { type ResolvedTarget, resolveTarget } from "../model/providers.ts";
import type { Manifest, ModelTarget } from "../skill/manifest.ts";
import { accountant, type Tariff, tariffOf } from "./accounting.ts";
import { DeltaText } from "./delta.ts";
import type { RunEvent } from "./events.ts";
import {
  agentAttributes,
  contentOf,
  outcomeAttributes,
  requestAttributes,
  toolAttributes,
  totalsAttributes,
  turnAttributes,
} from "./gen-ai.ts";
import type { RunHandle, RunOutput } from "./handle.ts";
import { RunArtifacts } from "./handler/artifacts.ts";
import { checkedJson, withoutFence } from "./json-output.ts";
import { type HeldFile, holdFiles, userParts } from "./llm-input.ts";
import { llmTools, runLlmTool } from "./llm-tools.ts";
import { remoteDefinitions } from "./mcp/llm-tools.ts";
import { RunServers } from "./mcp/servers.ts";
import { countModelCall, countTokens, countToolCall } from "./metrics.ts";
import { mayMock, mocksFor } from "./mocks.ts";
import { ownInstructions } from "./own-skill.ts";
import { inSpan, type OpenSpan } from "./spans.ts";

type LlmSettings = NonNullable<Manifest["llm"]>;

/** Variables and catalogue do not change while an isolate lives, so neither does what a target resolves to. */
const resolvedTargets = new WeakMap<Settings, Map<string, ResolvedTarget>>();

function resolve(settings: Settings, catalogue: Catalogue, target: ModelTarget): ResolvedTarget {
  let known = resolvedTargets.get(settings);
  if (known === undefined) {
    known = new Map();
    resolvedTargets.set(settings, known);
  }
  const name = `${target.provider}/${target.model ?? ""}`;
  const resolved = known.get(name) ?? resolveTarget(target, settings.read, catalogue);
  known.set(name, resolved);
  return resolved;
}

/** @param catalogue the deployment's; what a tenant installed is for `/llm` and does not change a served skill */
export function runLlm(run: RunHandle, catalogue: Catalogue): Promise<RunOutput> {
  const { slug } = run.record.manifest;
  return inSpan(
    run.context,
    `invoke_agent ${slug}`,
    () => agentAttributes(slug, run.id),
    (span) => runAgent(run, catalogue, span),
  );
}

async function runAgent(run: RunHandle, catalogue: Catalogue, span: OpenSpan): Promise<RunOutput> {
  const { record, context } = run;
  const { manifest } = record;
  const { llm } = manifest;
  if (llm === undefined) throw new Internal({ cause: `the llm skill ${manifest.slug} has no llm settings` });
  const files = await holdFiles(run.input.files);
  const parts = userParts(manifest, run.input, files);
  const mocking = mayMock(context.settings) ? await mocksFor(context, { given: null, asker: "demo" }) : null;
  const resolveIn = (target: ModelTarget) =>
    mocking?.active
      ? mockTarget(target.provider, target.model, catalogue)
      : resolve(context.settings, catalogue, target);
  const { capabilities } = resolveIn(llm.target);
  const deadlineAt = context.startedAt + manifest.deadline_ms;
  const earlier = run.durable?.records ?? [];
  const servers = new RunServers(context);
  const own = llmTools(record, llm).filter(
    // Instructions do without their files where a model has no tools.
    ({ name }) => name !== READ_SKILL_RESOURCE || capabilities.native_tools || !capabilities.matched,
  );
  // A run that goes on has the tools that it began with.
  const remote = earlier.length > 0 ? [] : await remoteDefinitions(servers, run, own);
  const spec: RunSpec = {
    system: ownInstructions(record, { session_id: null, input: textIn(parts) }),
    tools: [...own, ...remote],
    max_tokens: llm.max_tokens,
    max_tool_rounds: llm.max_tool_rounds,
    json: manifest.output === "json",
    deadline_ms: manifest.deadline_ms,
    deadline_at: deadlineAt,
  };
  const operator: Record<string, unknown> = {};
  const calls: Calls = {
    resolve: resolveIn,
    tariff: tariffOf(catalogue),
    intercept: mocking?.intercept,
    operator,
    servers,
  };
  const options: DriveOptions = {
    effects: effects(run, llm, files, deadlineAt, calls),
    log: { append: (record) => note(run, record) },
    clock: systemClock,
    signal: run.signal,
  };
  const driven = async () => (await resumeRun(earlier, options)) ?? (await startRun(spec, parts, options));
  const outcome = await driven().finally(() => servers.close());
  span.set(() => totalsAttributes(outcome.totals));
  context.log.usage = outcome.totals.usage;
  context.log.rounds = outcome.totals.rounds;
  context.log.tool_calls = outcome.totals.tool_calls;
  return answer(run, outcome, operator);
}

/** The texts of the input. */
const textIn = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

/** @param operator what the log is to say of a failed run */
function answer(run: RunHandle, outcome: RunOutcome, operator: Record<string, unknown>): RunOutput {
  if (!outcome.ok) throw new HullError(outcome.error, operator);
  const { manifest } = run.record;
  const { finish_reason, totals } = outcome;
  const text = run.context.settings.redactor.text(outcome.text);
  const json = manifest.output === "json";
  const type = manifest.output_mime ?? (json ? "application/json" : "text/plain; charset=utf-8");
  return {
    body: json ? checkedJson(withoutFence(text)) : text,
    headers: {
      "content-type": type,
      "x-hull-finish-reason": finish_reason,
      "x-hull-usage": usageHeader(totals),
    },
    done: { finish_reason, usage: { ...totals.usage, rounds: totals.rounds, tools: totals.tool_calls } },
  };
}

function usageHeader({ usage, rounds, tool_calls }: RunTotals): string {
  return `input=${usage.input_tokens};output=${usage.output_tokens};rounds=${rounds};tools=${tool_calls}`;
}

/** How model calls are made, and what the log is to say of one that failed. */
interface Calls {
  resolve: (target: ModelTarget) => ResolvedTarget;
  tariff: Tariff;
  intercept: Intercept | undefined;
  operator: Record<string, unknown>;
  servers: RunServers;
}

function effects(
  run: RunHandle,
  llm: LlmSettings,
  files: HeldFile[],
  deadlineAt: number,
  { resolve, tariff, intercept, operator, servers }: Calls,
): Effects {
  const { context, record } = run;
  const { env, settings } = context;
  const { slug, timeout_ms } = record.manifest;
  const accounts = accountant(context, { skill: slug, session: null, account: null }, tariff);
  const artifacts = new RunArtifacts(() => null);
  let begun = false;
  const takesImages = (): boolean => resolve(targets[first] ?? llm.target).capabilities.vision !== false;
  const targets = [llm.target, ...llm.fallback];
  /** Once a fallback has answered, the run stays with it. */
  let first = firstTarget(run, targets);
  const content = contentOf(context);
  const chatSpan = (request: ModelRequest, target: ResolvedTarget, call: () => Promise<ModelTurn>) =>
    inSpan(
      context,
      `chat ${target.model}`,
      () => requestAttributes(request, target, content),
      async (span) => {
        const turn = await call();
        span.set(() => turnAttributes(turn, content));
        return turn;
      },
    );
  const toolSpan = (call: ToolCallBlock, work: () => Promise<ToolOutcome>) =>
    inSpan(
      context,
      `execute_tool ${call.name}`,
      () => toolAttributes(call, content),
      async (span) => {
        const outcome = await work();
        span.set(() => outcomeAttributes(outcome, content));
        return outcome;
      },
    );
  return {
    async callModel(request, { round, signal, again }) {
      const started = Date.now();
      const deltas = new DeltaText("delta", settings.toldRedactor, run.emit, { round });
      const [primary = llm.target, ...fallbacks] = targets.slice(first);
      let told = !again;
      /** The run begins with its first leave to call: a budget that is used up fails it as a fault of its input does. */
      const admit: Admit = async (...asked) => {
        const admission = await accounts.admit(...asked);
        if (!begun) run.started();
        begun = true;
        if (!told) await run.emit({ event: "round", data: { round, restarted: true } });
        told = true;
        return admission;
      };
      const counted = (provider: string, outcome: string): void =>
        countModelCall(provider, outcome, Date.now() - started);
      try {
        const { turn, index } = await callWithFallback(() => request, primary, fallbacks, {
          stream: run.streaming,
          timeout_ms,
          deadline_at: deadlineAt,
          signal,
          onText: (text) => void deltas.pushText(text),
          clock: systemClock,
          fetch: (input, init) => fetch(input, init),
          resolve,
          intercept,
          ai: settings.local ? undefined : env.AI,
          around: (target, call) => chatSpan(request, target, call),
          admit,
          log: (entry) =>
            console.log(
              JSON.stringify(settings.toldRedactor.json({ ...entry, request_id: context.requestId })),
            ),
        });
        first += index;
        const provider = (targets[first] ?? primary).provider;
        counted(provider, "ok");
        countTokens(provider, turn.usage);
        return turn;
      } catch (error) {
        if (error instanceof HullError) Object.assign(operator, error.operator);
        counted(primary.provider, toHullError(error).code);
        throw error;
      } finally {
        await deltas.end();
        context.time("llm", Date.now() - started);
      }
    },
    async runTool(call, at) {
      const started = Date.now();
      try {
        return await toolSpan(call, () =>
          runLlmTool(call, at, { run, llm, files, deadlineAt, artifacts, servers, images: takesImages() }),
        );
      } finally {
        context.time("tools", Date.now() - started);
      }
    },
  };
}

/** Once a fallback has answered, later lives of the run stay with it too. */
function firstTarget({ durable }: RunHandle, targets: readonly ModelTarget[]): number {
  const last = durable?.records.findLast((record) => record.type === "model_call_settled");
  if (last?.type !== "model_call_settled") return 0;
  return Math.max(
    0,
    targets.findIndex(({ provider }) => provider === last.turn.provider),
  );
}

/** Stores a record where the run is durable, and lets watchers know of it. */
function note(run: RunHandle, record: RunRecord): void {
  if (record.type === "tool_call_settled") {
    const { ok, code } = record.outcome;
    countToolCall(ok ? "ok" : (code ?? "failed"));
  }
  const event = stepEvent(record);
  if (run.durable !== null) run.durable.append(record, event);
  // The records of a stateless run are not read again.
  else if (event !== null) void run.emit(event);
}

/** What a record says to watchers (serving.md §5.4). */
function stepEvent(record: RunRecord): RunEvent | null {
  switch (record.type) {
    case "model_call_settled": {
      const { round, turn } = record;
      return { event: "round", data: { round, finish_reason: turn.stop_reason, usage: turn.usage } };
    }
    case "tool_call_started": {
      const { round, call } = record;
      const args = call.arguments ?? call.raw;
      return { event: "tool_call", data: { round, call_id: call.id, name: call.name, arguments: args } };
    }
    case "tool_call_settled": {
      const { round, call_id } = record;
      const { ok, code, exit_code, duration_ms, bytes, truncated } = record.outcome;
      const what = { ok, ...(code === undefined ? {} : { code }) };
      const data = { round, call_id, ...what, exit_code, duration_ms, bytes, truncated };
      return { event: "tool_result", data };
    }
    default:
      return null;
  }
}
