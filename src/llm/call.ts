/** One model call as `POST /llm/call` makes it: attempts at a structured answer included. */
import type { JsonObject } from "../skill/manifest.ts";
import { added } from "./figures.ts";
import { fittingAnswer } from "./fitting-answer.ts";
import type { CallWatcher, LlmHost } from "./host.ts";
import { type CallInput, type Plan, prepareCall } from "./prepare.ts";
import { type CallFigures, type CallTurn, type LlmResult, resultOf } from "./result.ts";
import { type Answered, ask } from "./rounds.ts";
import { type Checked, checkAnswer } from "./structured.ts";
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
 * Makes a call and, where JSON was asked for, repeats it until the answer matches or the attempts are used up.
 * @throws SchemaValidation where `output_validation` is `error`; InvalidRequest; what the exchange throws
 */
export async function callLlm(
  input: CallInput,
  host: LlmHost,
  watcher: CallWatcher = {},
): Promise<CallOutcome> {
  const plan = prepareCall(input, host);
  watcher.onAdmitted?.();
  const { structured } = plan;
  let figures: CallFigures | null = null;
  const attempt = async (nudge: string | null, number: number): Promise<Attempt> => {
    if (number > 0) watcher.onRestart?.(number + 1);
    const answered = await ask(plan, nudge, host, watcher);
    const { turn } = answered;
    figures = added(figures, answered.figures);
    return { ...answered, figures, checked: structured === null ? null : checkAnswer(structured, turn) };
  };
  const { answer, attempts, retries } =
    structured === null
      ? { answer: await attempt(null, 0), attempts: 1, retries: [] }
      : await fittingAnswer(structured, {
          ask: attempt,
          errorsOf: ({ checked }) => checked?.errors ?? [],
          log: (entry) => host.log(entry),
        });
  const { turn, checked } = answer;
  return { result: compose(plan, answer, retries, host), turn, figures: answer.figures, attempts, checked };
}

/** An answer; its figures are those of all attempts up to it. */
interface Attempt extends Answered {
  checked: Checked | null;
}

function compose(
  plan: Plan,
  { turn, events, further, warnings, figures, checked }: Attempt,
  retries: readonly JsonObject[],
  host: LlmHost,
): LlmResult {
  const routing = routingOf(plan, turn);
  const note = (kind: string, role: string, metadata: Record<string, unknown>): TranscriptEvent =>
    extraEvent(kind, { role, visibility: "internal", text: "", metadata }, host.ids);
  const told = withTurn(withMessages(plan.transcript, further, host.ids), turn, host.ids);
  const notes = [
    ...events.map((event) =>
      note(event.type, event.type === "tool_search_query" ? "assistant" : "tool", { ...event }),
    ),
    ...retries.map((metadata) => note("SchemaRetry", "user", metadata)),
    ...(routing === null ? [] : [note("routing_decision", "system", routing)]),
  ];
  return resultOf({
    turn,
    figures,
    data: checked?.data,
    structured: plan.structured !== null,
    transcript: { ...told, events: [...told.events, ...notes] },
    warnings: [...plan.warnings, ...warnings],
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
