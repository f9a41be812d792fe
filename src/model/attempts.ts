/** The attempts of one model call: how many Hull makes, and their waits and time limits. */
import { type ModelRequest, type ModelTurn, NO_USAGE, totalUsage } from "../engine/messages.ts";
import { closedBy } from "../errors/closed-by.ts";
import type { HullError } from "../errors.ts";
import type { WaitLimits } from "./clock.ts";
import type { ExchangeOptions, Outcome } from "./exchange.ts";
import type { ResolvedTarget } from "./providers.ts";
import { type RetryPolicy, SKILL_RETRIES } from "./retry.ts";
import { type TimeLimit, type TimeLimitOptions, timeLimit } from "./time-limit.ts";
import { isEmpty, saysSomething, withEndWarning } from "./turn-end.ts";
import type { Sink } from "./wire.ts";

/** If a provider asks for a longer wait, Hull does not wait. */
const MAX_RETRY_AFTER_MS = 30_000;

/** One failed attempt, for the log. Its texts come from the provider and are not redacted yet. */
export interface AttemptEntry {
  event: "model_attempt_failed" | "empty_completion_retry";
  provider: string;
  model: string;
  attempt: number;
  /** The code of the failure. */
  code?: string;
  /** `null`: there is no further attempt. */
  retry_in_ms: number | null;
  /** The code of the refusal, if there is no further attempt because nobody may pay for it. */
  refused?: string;
  provider_status?: unknown;
  provider_message?: unknown;
  cause?: unknown;
}

export interface AttemptOptions extends Sink, TimeLimitOptions {
  /**
   * Ask the provider to stream. Only then are `onText`, `onReasoning`, `onEvent` and `onOutput` called. Here `onOutput`
   * receives all output that arrives, even if nobody listens to it.
   */
  stream: boolean;
  /** `retry` says whether it applies to the call or to each attempt. */
  timeout_ms: number;
  /** Unix ms; no wait exceeds it. The caller aborts `signal` when it is reached. */
  deadline_at?: number | undefined;
  /** Default: the policy of skills. */
  retry?: RetryPolicy | undefined;
  /**
   * Called when Hull asks again although a listener has received a part of an answer: that part is void. Absent: nothing
   * is asked again then.
   */
  onRestart?: (() => void) | undefined;
  /**
   * Asked before each further attempt, with the outcome of the one before. It refuses the attempt with an error, which
   * the log shows; the call then ends as if it had no attempt left.
   */
  again?: ((ended: Outcome) => Promise<HullError | null>) | undefined;
  /** Awaited before each attempt after the first, e.g. for a turn under the provider's rate. */
  turn?: ((limits: WaitLimits) => Promise<void>) | undefined;
  /** Its reason is thrown if it is a `HullError`; otherwise the client has gone. */
  signal: AbortSignal;
  log?: ((entry: AttemptEntry) => void) | undefined;
}

/** The input of an attempt. */
export type Attempt = Omit<ExchangeOptions, "fetch">;

/** Answers an attempt in the target's place; `null`: ask the target. */
export type Intercept = (
  request: ModelRequest,
  target: ResolvedTarget,
  attempt: Attempt,
) => Outcome | null | Promise<Outcome | null>;

/**
 * Asks until there is an answer, or until no further attempt helps. A `Retry-After` replaces the wait if it is at most
 * 30 s and fits timeout and deadline; otherwise the call fails immediately. Once a listener has received a part of an
 * answer, nothing is asked again without `onRestart`. The turn's usage includes that of empty answers before it.
 * @throws HullError: the last attempt's; the signal's own reason or `ClientClosedRequest` on abort
 */
export async function withAttempts(
  target: ResolvedTarget,
  options: AttemptOptions,
  ask: (attempt: Attempt) => Promise<Outcome> | Outcome,
): Promise<ModelTurn> {
  const { clock, timeout_ms, retry = SKILL_RETRIES } = options;
  const deadline = options.deadline_at ?? Number.POSITIVE_INFINITY;
  const whole = retry.timeout === "call" ? timeLimit(options) : null;
  const end = whole === null ? deadline : Math.min(clock.now() + timeout_ms, deadline);
  const hearing = hearingOf(options);
  let retries = 0;
  let spared = false;
  let used = NO_USAGE;
  try {
    for (let attempt = 1; ; attempt++) {
      const signal = whole?.signal ?? options.signal;
      signal.throwIfAborted();
      if (attempt > 1) {
        await options.turn?.({ clock, signal, until: end });
        hearing.restart();
      }
      const outcome = await attemptWithin(whole ?? timeLimit(options), target, options, hearing.sink, ask);
      if (outcome.ok) used = totalUsage(used, outcome.turn.usage);
      const free = !spared && isIdleOllama(target, outcome);
      const wait = free ? 0 : waitAfter(outcome, retries + 1, target, options);
      const wanted = wait !== null && hearing.mayRestart() && clock.now() + wait < end;
      const refusal = wanted ? ((await options.again?.(outcome)) ?? null) : null;
      const goesOn = wanted && refusal === null;
      if (!outcome.ok || wanted) {
        options.log?.(entryOf(target, attempt, outcome, goesOn ? wait : null, refusal));
      }
      if (!goesOn) {
        if (!outcome.ok) throw outcome.error;
        return withEndWarning({ ...outcome.turn, usage: used }, attempt);
      }
      if (free) spared = true;
      else retries++;
      await clock.sleep(wait, signal);
    }
  } catch (error) {
    if (options.signal.aborted) throw closedBy(options.signal.reason);
    if (whole?.signal.aborted) throw whole.error(target);
    throw error;
  } finally {
    whole?.stop();
  }
}

/** One attempt; exceeding its time is a failure like any other. */
async function attemptWithin(
  limit: TimeLimit,
  target: ResolvedTarget,
  options: AttemptOptions,
  sink: Sink,
  ask: (attempt: Attempt) => Promise<Outcome> | Outcome,
): Promise<Outcome> {
  try {
    return await ask({
      stream: options.stream,
      signal: limit.signal,
      sink,
      now: options.clock.now(),
      clock: options.clock,
      onBytes: limit.onBytes,
    });
  } catch (error) {
    if (options.signal.aborted || !limit.signal.aborted) throw error;
    return { ok: false, retry: false, error: limit.error(target) };
  } finally {
    if (options.retry?.timeout === "attempt") limit.stop();
  }
}

/** Milliseconds until retry `n`; `null`: there is no such retry. */
function waitAfter(
  outcome: Outcome,
  n: number,
  target: ResolvedTarget,
  { clock, retry = SKILL_RETRIES }: AttemptOptions,
): number | null {
  if (n > retry.retries) return null;
  const instant = target.protocol === "mock" || (!outcome.ok && outcome.instant === true);
  const own = instant ? 0 : retry.wait_ms(n, clock.random());
  if (outcome.ok) {
    const billed = outcome.turn.usage.output_tokens > 0;
    return retry.again_when_empty && billed && isEmpty(outcome.turn) ? own : null;
  }
  if (!retry.helps(outcome)) return null;
  const { retry_after_ms } = outcome;
  if (retry_after_ms === undefined) return own;
  if (retry_after_ms > MAX_RETRY_AFTER_MS) return null;
  return instant ? 0 : retry_after_ms;
}

/**
 * Whether Ollama's native endpoint answered nothing, as it sometimes does. A second call helps, and does not count as a
 * retry.
 */
const isIdleOllama = (target: ResolvedTarget, outcome: Outcome): boolean =>
  target.protocol === "ollama" &&
  outcome.ok &&
  !outcome.turn.blocks.some((block) => saysSomething(block) && block.type !== "reasoning");

/** The listeners that are given, as one sink that knows whether any of them received anything that is not void. */
interface Hearing {
  sink: Sink;
  /** Whether the call may be asked again: they received nothing, or can be told that it is void. */
  mayRestart(): boolean;
  /** Makes void what they received. */
  restart(): void;
}

function hearingOf(options: AttemptOptions): Hearing {
  const { onText, onReasoning, onEvent, onOutput, onUsage, onRestart } = options;
  let spoke = false;
  const heard = <T>(listen: ((heard: T) => void) | undefined, note?: (heard: T) => void) =>
    (listen ?? note) &&
    ((piece: T): void => {
      note?.(piece);
      spoke ||= listen !== undefined;
      listen?.(piece);
    });
  const sink = options.stream
    ? {
        onText: heard(onText, onOutput),
        onReasoning: heard(onReasoning, onOutput),
        onEvent: heard(onEvent),
        onOutput,
        onUsage,
      }
    : { onUsage };
  return {
    sink,
    mayRestart: () => !spoke || onRestart !== undefined,
    restart() {
      if (spoke) onRestart?.();
      spoke = false;
    },
  };
}

function entryOf(
  { provider, model }: ResolvedTarget,
  attempt: number,
  outcome: Outcome,
  wait: number | null,
  refusal: HullError | null,
): AttemptEntry {
  const common = {
    provider,
    model,
    attempt,
    retry_in_ms: wait === null ? null : Math.round(wait),
    ...(refusal === null ? {} : { refused: refusal.code }),
  };
  if (outcome.ok) return { event: "empty_completion_retry", ...common };
  const { code, data, operator } = outcome.error;
  const { provider_status } = data.members;
  return {
    event: "model_attempt_failed",
    ...common,
    code,
    ...(provider_status === undefined ? {} : { provider_status }),
    ...operator,
  };
}
