/** mode: llm — the engine with the in-memory driver, inside the request (serving.md §3.4, §4; design.md §2.1). */
import { toolDefinition } from "../../engine/arguments.ts";
import { type Effects, type RunObserver, startRun } from "../../engine/drive.ts";
import type { RunOutcome, RunSpec, RunTotals } from "../../engine/records.ts";
import type { Settings } from "../../env.ts";
import { HullError, Internal, toHullError } from "../../errors.ts";
import { systemClock } from "../../model/clock.ts";
import { callWithFallback } from "../../model/fallback.ts";
import { type ResolvedTarget, resolveTarget } from "../../model/providers.ts";
import type { Manifest, ModelTarget } from "../../skill/manifest.ts";
import { runCommandTool } from "../../tool/command.ts";
import { countModelCall, countTokens, countToolCall } from "../metrics.ts";
import { runnerEndpoint, runOptions } from "../runner.ts";
import { DeltaText } from "./delta.ts";
import { checkedJson, withoutFence } from "./json-output.ts";
import { type HeldFile, holdFiles, userParts } from "./llm-input.ts";
import type { RunHandle, RunOutput } from "./run-handle.ts";

type LlmSettings = NonNullable<Manifest["llm"]>;

/** Variables do not change while an isolate lives, so neither does what a target resolves to. */
const resolvedTargets = new WeakMap<Settings, Map<string, ResolvedTarget>>();

function resolve(settings: Settings, target: ModelTarget): ResolvedTarget {
  let known = resolvedTargets.get(settings);
  if (known === undefined) {
    known = new Map();
    resolvedTargets.set(settings, known);
  }
  const name = `${target.provider}/${target.model ?? ""}`;
  const resolved = known.get(name) ?? resolveTarget(target, settings.read);
  known.set(name, resolved);
  return resolved;
}

export async function runLlm(run: RunHandle): Promise<RunOutput> {
  const { record, context } = run;
  const { manifest } = record;
  const { llm } = manifest;
  if (llm === undefined) throw new Internal({ cause: `the llm skill ${manifest.slug} has no llm settings` });
  const files = await holdFiles(run.input.files);
  const parts = userParts(manifest, run.input, files);
  resolve(context.settings, llm.target);
  const deadlineAt = context.startedAt + manifest.deadline_ms;
  const spec: RunSpec = {
    system: record.body,
    tools: llm.tools.map(toolDefinition),
    max_tokens: llm.max_tokens,
    max_tool_rounds: llm.max_tool_rounds,
    json: manifest.output === "json",
    deadline_ms: manifest.deadline_ms,
    deadline_at: deadlineAt,
  };
  run.started();
  const operator: Record<string, unknown> = {};
  const outcome = await startRun(spec, parts, {
    effects: effects(run, llm, files, deadlineAt, operator),
    // A stateless request ends with its answer: its records are not read again.
    log: { append: () => {} },
    clock: systemClock,
    observer: observer(run),
    signal: run.signal,
  });
  context.log.usage = outcome.totals.usage;
  context.log.rounds = outcome.totals.rounds;
  context.log.tool_calls = outcome.totals.tool_calls;
  return answer(run, outcome, operator);
}

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

function effects(
  run: RunHandle,
  llm: LlmSettings,
  files: HeldFile[],
  deadlineAt: number,
  operator: Record<string, unknown>,
): Effects {
  const { context, record } = run;
  const { env, settings } = context;
  const { timeout_ms } = record.manifest;
  const targets = [llm.target, ...llm.fallback];
  /** Once a fallback has answered, the run stays with it. */
  let first = 0;
  return {
    async callModel(request, { round, signal }) {
      const started = Date.now();
      const deltas = new DeltaText("delta", settings.redactor, run.emit, { round });
      const [primary = llm.target, ...fallbacks] = targets.slice(first);
      const counted = (provider: string, outcome: string): void =>
        countModelCall(provider, outcome, Date.now() - started);
      try {
        const { turn, index } = await callWithFallback(request, primary, fallbacks, {
          stream: run.streaming,
          timeout_ms,
          deadline_at: deadlineAt,
          signal,
          onText: (text) => void deltas.pushText(text),
          clock: systemClock,
          fetch: (input, init) => fetch(input, init),
          resolve: (target) => resolve(settings, target),
          ai: settings.local ? undefined : env.AI,
          log: (entry) =>
            console.log(JSON.stringify(settings.redactor.json({ ...entry, request_id: context.requestId }))),
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
    async runTool(call, { effect, signal }) {
      const started = Date.now();
      const executionId = `${run.id}-${effect}`;
      try {
        return await runCommandTool(call, {
          runner: await runnerEndpoint(context, executionId),
          options: runOptions(context, signal),
          record,
          tools: llm.tools,
          executionId,
          runId: run.id,
          timeoutMs: Math.min(timeout_ms, deadlineAt - Date.now()),
          graceMs: settings.grace_ms,
          maxOutputBytes: settings.max_output_bytes,
          files,
          read: settings.read,
        });
      } finally {
        context.time("tools", Date.now() - started);
      }
    },
  };
}

/** The run's steps as events (serving.md §5.4). */
function observer(run: RunHandle): RunObserver {
  return {
    toolCall(round, call) {
      const args = call.arguments ?? call.raw;
      void run.emit({
        event: "tool_call",
        data: { round, call_id: call.id, name: call.name, arguments: args },
      });
    },
    toolResult(round, call, outcome) {
      countToolCall(outcome.ok ? "ok" : (outcome.code ?? "failed"));
      const { ok, code, exit_code, duration_ms, bytes, truncated } = outcome;
      const result = {
        ok,
        ...(code === undefined ? {} : { code }),
        exit_code,
        duration_ms,
        bytes,
        truncated,
      };
      void run.emit({ event: "tool_result", data: { round, call_id: call.id, ...result } });
    },
    round(round, turn) {
      const data = { round, finish_reason: turn.stop_reason, usage: turn.usage };
      void run.emit({ event: "round", data });
    },
  };
}
