/** One model call as `POST /llm/call` makes it: attempts at a structured answer included. */
import type { JsonObject } from "../skill/manifest.ts";
import { added } from "./figures.ts";
import type { CallWatcher, LlmHost } from "./host.ts";
import { correction } from "./nudge.ts";
import { type CallInput, type Plan, prepareCall } from "./prepare.ts";
import { type CallFigures, type CallTurn, type LlmResult, resultOf } from "./result.ts";
import { type Answered, ask } from "./rounds.ts";
import { type Checked, checkAnswer, schemaFailure } from "./structured.ts";
import { extraEvent, type TranscriptEvent, withMessages, withTurn } from "./transcript.ts";

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
  host: LlmHost,
  watcher: CallWatcher = {},
): Promise<CallOutcome> {
  const plan = prepareCall(input, host);
  watcher.onAdmitted?.();
  const outcome = await attempts(plan, host, watcher);
  const { structured } = plan;
  if (structured === null || outcome.checked === null || outcome.checked.errors.length === 0) return outcome;
  if (structured.validation === "error") {
    throw schemaFailure(structured, outcome.turn, outcome.checked.errors, outcome.attempts);
  }
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
    if (attempt > 0) watcher.onRestart?.(attempt + 1);
    const answered = await ask(plan, nudge, host, watcher);
    const { turn } = answered;
    figures = added(figures, answered.figures);
    const checked = structured === null ? null : checkAnswer(structured, turn);
    if (structured === null || checked === null || checked.errors.length === 0 || attempt === last) {
      const result = compose(plan, { answered, figures, checked, trace }, host);
      return { result, turn, figures, attempts: attempt + 1, checked };
    }
    nudge = correction(structured.nudge, checked.errors, structured.check);
    const retry = { attempt: attempt + 1, errors: checked.errors, nudge_used: nudge !== null };
    trace.push({ ...retry, correction_prompt: nudge });
    host.log({ event: "schema_retry", ...retry });
  }
}

interface Parts {
  answered: Answered;
  figures: CallFigures;
  checked: Checked | null;
  trace: readonly Record<string, unknown>[];
}

function compose(plan: Plan, { answered, figures, checked, trace }: Parts, host: LlmHost): LlmResult {
  const { turn, events } = answered;
  const routing = routingOf(plan, turn);
  const note = (kind: string, role: string, metadata: Record<string, unknown>): TranscriptEvent =>
    extraEvent(kind, { role, visibility: "internal", text: "", metadata }, host.ids);
  const told = withTurn(withMessages(plan.transcript, answered.further, host.ids), turn, host.ids);
  const notes = [
    ...events.map((event) =>
      note(event.type, event.type === "tool_search_query" ? "assistant" : "tool", { ...event }),
    ),
    ...trace.map((metadata) => note("SchemaRetry", "user", metadata)),
    ...(routing === null ? [] : [note("routing_decision", "system", routing)]),
  ];
  return resultOf({
    turn,
    figures,
    data: checked?.data,
    structured: plan.structured !== null,
    transcript: { ...told, events: [...told.events, ...notes] },
    warnings: [...plan.warnings, ...answered.warnings],
    routing,
    further: host.further(),
  });
}

/** Which model answered, where there was a choice. */
function routingOf(plan: Plan, turn: CallTurn): JsonObject | null {
  const decided = plan.choice.routing;
  if (plan.targets.length === 1) return decided;
  const chain = plan.targets.map(({ provider }) => provider);
  return { ...decided, fallback_chain: chain, answered_by: { provider: turn.provider, model: turn.model } };
}
