/** One model call with its attempts, waits and time limit (serving.md §4.5). */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import { ProviderTimeout } from "../errors/provider.ts";
import { ClientClosedRequest } from "../errors/run.ts";
import { HullError } from "../errors.ts";
import type { Admission, Admit } from "./admission.ts";
import type { Clock } from "./clock.ts";
import { utf8Bytes } from "./estimate.ts";
import { exchange, type Outcome } from "./exchange.ts";
import type { Failure } from "./failure.ts";
import { answerAsMock } from "./mock.ts";
import type { ResolvedTarget } from "./providers.ts";
import type { Sink } from "./wire.ts";
import { type AiBinding, askBinding } from "./workers-ai.ts";

const MAX_ATTEMPTS = 3;
/** Before the second and the third attempt, each with ±50 % jitter. */
const WAITS_MS = [250, 500];
/** A provider that asks for a longer wait is not waited for. */
const MAX_RETRY_AFTER_MS = 30_000;

/** One failed attempt, for the log. Its texts come from the provider and are not redacted yet. */
export interface AttemptEntry {
  event: "model_attempt_failed";
  provider: string;
  model: string;
  attempt: number;
  code: string;
  /** `null`: no further attempt. */
  retry_in_ms: number | null;
  provider_status?: unknown;
  provider_message?: unknown;
  cause?: unknown;
}

export interface CallOptions extends Sink {
  /** Ask the provider to stream; `onText` and `onReasoning` are called in this case only. */
  stream: boolean;
  /** Bounds the call with all its attempts and waits. */
  timeout_ms: number;
  /** Unix ms; no wait goes beyond it. The caller aborts `signal` when it is reached. */
  deadline_at?: number;
  /** Its reason is thrown if it is a `HullError`; else the client is taken to have gone. */
  signal: AbortSignal;
  clock: Clock;
  fetch: typeof fetch;
  /** The Workers AI binding, where the deployment has one. */
  ai?: AiBinding | undefined;
  log?: ((entry: AttemptEntry) => void) | undefined;
  /** Gives leave to call. Absent: nobody counts. */
  admit?: Admit | undefined;
}

/**
 * Calls a model. At most 3 attempts, after network errors and the statuses of §4.5; a `Retry-After` replaces the wait
 * if it is at most 30 s and fits timeout and deadline, else the call fails at once. The wait for the first turn counts
 * against the deadline only.
 * @throws HullError: those of `errors/provider.ts` and of `admit`; the signal's own reason or `ClientClosedRequest` on
 * abort
 */
export async function callModel(
  request: ModelRequest,
  target: ResolvedTarget,
  options: CallOptions,
): Promise<ModelTurn> {
  const { admit, clock, signal, deadline_at: until = Number.POSITIVE_INFINITY } = options;
  if (admit === undefined) return attempts(request, target, options, null);
  const admission = await admit(request, target, options.timeout_ms);
  let told = 0;
  let begun = false;
  const counting =
    (tell: ((text: string) => void) | undefined) =>
    (text: string): void => {
      told += utf8Bytes(text);
      tell?.(text);
    };
  const heard = { onText: counting(options.onText), onReasoning: counting(options.onReasoning) };
  let turn: ModelTurn;
  try {
    await admission.turn({ clock, signal, until });
    begun = !signal.aborted;
    turn = await attempts(request, target, { ...options, ...heard }, admission);
  } catch (error) {
    const unseen = begun && (signal.aborted || timedOutHere(error));
    await admission.settle({ turn: null, told_bytes: told, unseen });
    throw signal.aborted ? closedBy(signal.reason) : error;
  }
  await admission.settle({ turn });
  return turn;
}

/** Whether a call ended by its own time limit, and not by the provider's word. */
const timedOutHere = (error: unknown): boolean =>
  error instanceof ProviderTimeout && error.data.members.provider_status === undefined;

async function attempts(
  request: ModelRequest,
  target: ResolvedTarget,
  options: CallOptions,
  admission: Admission | null,
): Promise<ModelTurn> {
  const { clock, timeout_ms } = options;
  const end = Math.min(clock.now() + timeout_ms, options.deadline_at ?? Number.POSITIVE_INFINITY);
  const limit = timeLimit(options);
  try {
    for (let attempt = 1; ; attempt++) {
      limit.signal.throwIfAborted();
      const outcome = await attemptCall(request, target, options, limit.signal);
      if (outcome.ok) return outcome.turn;
      const wait = attempt < MAX_ATTEMPTS ? waitBefore(attempt, outcome, clock) : null;
      const fits = wait !== null && clock.now() + wait < end;
      options.log?.(entryOf(target, attempt, outcome.error, fits ? wait : null));
      if (!fits) throw outcome.error;
      await clock.sleep(wait, limit.signal);
      await admission?.turn({ clock, signal: limit.signal, until: end });
    }
  } catch (error) {
    if (options.signal.aborted) throw closedBy(options.signal.reason);
    if (limit.signal.aborted) throw new ProviderTimeout({ provider: target.provider, timeout_ms });
    throw error;
  } finally {
    limit.stop();
  }
}

function attemptCall(
  request: ModelRequest,
  target: ResolvedTarget,
  options: CallOptions,
  signal: AbortSignal,
): Promise<Outcome> | Outcome {
  const sink: Sink = options.stream ? { onText: options.onText, onReasoning: options.onReasoning } : {};
  switch (target.protocol) {
    case "mock":
      return { ok: true, turn: answerAsMock(request, target, sink) };
    case "workers-ai":
      return askBinding(request, target, options.ai, { stream: options.stream, signal, sink });
    default:
      return exchange(request, target, {
        stream: options.stream,
        signal,
        sink,
        fetch: options.fetch,
        now: options.clock.now(),
      });
  }
}

/** Milliseconds until the next attempt; `null`: there is none. */
function waitBefore(attempt: number, failure: Failure, clock: Clock): number | null {
  if (!failure.retry) return null;
  if (failure.retry_after_ms !== undefined) {
    return failure.retry_after_ms <= MAX_RETRY_AFTER_MS ? failure.retry_after_ms : null;
  }
  const base = WAITS_MS[attempt - 1];
  return base === undefined ? null : base * (0.5 + clock.random());
}

/** A signal that is aborted by the caller's one or when the time is over. */
function timeLimit({ signal, clock, timeout_ms }: CallOptions): { signal: AbortSignal; stop(): void } {
  const limit = new AbortController();
  const pass = () => limit.abort(signal.reason);
  if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  const cancel = clock.after(timeout_ms, () => limit.abort());
  return {
    signal: limit.signal,
    stop() {
      cancel();
      signal.removeEventListener("abort", pass);
    },
  };
}

function closedBy(reason: unknown): HullError {
  return reason instanceof HullError ? reason : new ClientClosedRequest({});
}

function entryOf(
  target: ResolvedTarget,
  attempt: number,
  error: HullError,
  wait: number | null,
): AttemptEntry {
  const { provider_status } = error.data.members;
  return {
    event: "model_attempt_failed",
    provider: target.provider,
    model: target.model,
    attempt,
    code: error.code,
    retry_in_ms: wait === null ? null : Math.round(wait),
    ...(provider_status === undefined ? {} : { provider_status }),
    ...error.operator,
  };
}
