/** One model call as `POST /llm/call` makes it (agent-runtime.md §1): attempts at a structured answer included. */
import type { ModelTurn, ToolDefinition, Usage } from "../engine/messages.ts";
import { SchemaValidation } from "../errors/llm.ts";
import type { LlmHost } from "./host.ts";
import { correction } from "./nudge.ts";
import { type CallInput, type Plan, prepareCall, requestFor } from "./prepare.ts";
import { type CallFigures, type CallTurn, type LlmResult, resultOf, turnText } from "./result.ts";
import { type Checked, checkAnswer, type Structured } from "./structured.ts";
import { readTextTurn } from "./text-turn.ts";
import { extraEvent, withTurn } from "./transcript.ts";

/** Who is told of an answer while it comes. */
export interface CallWatcher {
  onText?: (text: string) => void;
  onReasoning?: (text: string) => void;
  /** A further attempt begins: what was told of the one before is void. */
  onRestart?: (attempt: number) => void;
}

/** A call's result with what its structured answer took. */
export interface CallOutcome {
  result: LlmResult;
  turn: CallTurn;
  figures: CallFigures;
  /** Attempts made, the first included. */
  attempts: number;
  /** `null`: no JSON was asked for. */
  checked: Checked | null;
}

/**
 * Makes a call and, where JSON was asked for, repeats it until the answer matches or the attempts are used up. A bad
 * answer is not shown to the model again: each attempt sends the original messages and one correction.
 * @throws SchemaValidation where `output_validation` is `error`; InvalidRequest; what the exchange throws
 */
export async function callLlm(
  input: CallInput,
  tools: readonly ToolDefinition[],
  host: LlmHost,
  watcher: CallWatcher = {},
): Promise<CallOutcome> {
  const plan = prepareCall(input, host, tools);
  const outcome = await attempts(plan, host, watcher);
  const { structured } = plan;
  if (structured === null || outcome.checked === null || outcome.checked.errors.length === 0) return outcome;
  if (structured.validation === "error") throw failed(structured, outcome);
  if (structured.validation === "warn") {
    host.log({ event: "schema_mismatch", errors: outcome.checked.errors, attempts: outcome.attempts });
  }
  return outcome;
}

async function attempts(plan: Plan, host: LlmHost, watcher: CallWatcher): Promise<CallOutcome> {
  const { structured } = plan;
  const last = structured?.retries ?? 0;
  let figures: CallFigures | null = null;
  let nudge: string | null = null;
  const trace: Record<string, unknown>[] = [];
  for (let attempt = 0; ; attempt++) {
    if (attempt > 0) watcher.onRestart?.(attempt);
    const turn = read(plan, await exchange(plan, nudge, host, watcher));
    figures = added(figures, host.figures(turn));
    const checked = structured === null ? null : checkAnswer(structured, turn);
    if (structured === null || checked === null || checked.errors.length === 0 || attempt === last) {
      const result = compose(plan, { turn, figures, checked, trace }, host);
      return { result, turn, figures, attempts: attempt + 1, checked };
    }
    nudge = correction(structured.nudge, checked.errors, structured.check);
    const retry = { attempt: attempt + 1, errors: checked.errors, nudge_used: nudge !== null };
    trace.push({ ...retry, correction_prompt: nudge });
    host.log({ event: "schema_retry", ...retry });
  }
}

function exchange(
  plan: Plan,
  nudge: string | null,
  host: LlmHost,
  { onText, onReasoning }: CallWatcher,
): Promise<ModelTurn> {
  const { options } = plan;
  const seconds = options.timeout ?? positive(host.setting("HULL_LLM_TIMEOUT")) ?? DEFAULT_TIMEOUT_S;
  const { vision = false, audio = false, pdf = false } = options;
  return host.exchange({
    targets: plan.targets,
    request: (target) => requestFor(plan, target, nudge),
    declared: { vision, audio, pdf },
    retries: options.llm_retries ?? 2,
    backoff_ms: options.llm_backoff_ms ?? 2000,
    timeout_ms: seconds * 1000,
    idle_timeout_ms: options.idle_timeout === undefined ? null : options.idle_timeout * 1000,
    stream: options.stream ?? !OFF.has(host.setting("HULL_LLM_STREAM") ?? ""),
    onText,
    onReasoning,
  });
}

const DEFAULT_TIMEOUT_S = 120;
const OFF = new Set(["0", "false"]);

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && Number.isFinite(value) && value > 0 ? value : undefined;
}

function read(plan: Plan, turn: ModelTurn): CallTurn {
  if (plan.tool_format === "text" && plan.tools.length > 0) return readTextTurn(turn, plan.tools);
  return { ...turn, text: turnText(turn.blocks), text_format: null };
}

interface Answered {
  turn: CallTurn;
  figures: CallFigures;
  checked: Checked | null;
  trace: readonly Record<string, unknown>[];
}

function compose(plan: Plan, { turn, figures, checked, trace }: Answered, host: LlmHost): LlmResult {
  let transcript = withTurn(plan.transcript, turn, host.ids);
  const retries = trace.map((metadata) =>
    extraEvent("SchemaRetry", { role: "user", visibility: "internal", text: "", metadata }, host.ids),
  );
  const routed =
    plan.choice.routing === null
      ? []
      : [
          extraEvent(
            "routing_decision",
            { role: "system", visibility: "internal", text: "", metadata: plan.choice.routing },
            host.ids,
          ),
        ];
  transcript = { ...transcript, events: [...transcript.events, ...retries, ...routed] };
  return resultOf({
    turn,
    figures,
    data: checked?.data,
    structured: plan.structured !== null,
    transcript,
    warnings: [...plan.warnings, ...(turn.warnings ?? [])],
    routing: routing(plan, turn),
    further: {},
  });
}

/** Which model answered, where there was a choice. */
function routing(plan: Plan, turn: CallTurn) {
  const decided = plan.choice.routing;
  if (plan.targets.length === 1) return decided;
  const chain = plan.targets.map(({ provider }) => provider);
  return { ...decided, fallback_chain: chain, answered_by: { provider: turn.provider, model: turn.model } };
}

function failed({ retries }: Structured, { turn, checked, attempts }: CallOutcome) {
  const hint =
    retries === 0
      ? "Set schema_retries to let the model correct itself."
      : "Raise schema_retries, or loosen the schema.";
  const { provider, model } = turn;
  return new SchemaValidation({ provider, model, errors: checked?.errors ?? [], attempts, hint });
}

/** Sums of two parts of one call; ratios are taken anew. */
export function added(a: CallFigures | null, b: CallFigures): CallFigures {
  if (a === null) return b;
  const sum: Usage = {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_read_tokens: a.cache_read_tokens + b.cache_read_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
  };
  return {
    ...sum,
    cost_usd: a.cost_usd + b.cost_usd,
    price_known: a.price_known && b.price_known,
    cache_hit_ratio: hitRatio(sum),
    cache_savings_usd: a.cache_savings_usd + b.cache_savings_usd,
  };
}

/** Cache reads among all input (§15.4); providers count cached tokens within the input or beside it. */
export function hitRatio({ input_tokens, cache_read_tokens, cache_write_tokens }: Usage): number {
  const cached = cache_read_tokens + cache_write_tokens;
  const total = cached <= input_tokens ? input_tokens : input_tokens + cached;
  return total === 0 ? 0 : cache_read_tokens / total;
}
