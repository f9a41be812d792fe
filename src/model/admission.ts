/**
 * Admission of model calls: before a call, the accounting decides whether and when it may be made; afterwards, it learns
 * how the call ended.
 */
import { type ModelRequest, type ModelTurn, NO_USAGE, totalUsage, type Usage } from "../engine/messages.ts";
import { closedBy } from "../errors/closed-by.ts";
import { ProviderTimeout } from "../errors/provider.ts";
import { type HullError, toHullError } from "../errors.ts";
import type { AttemptOptions } from "./attempts.ts";
import type { WaitLimits } from "./clock.ts";
import { utf8Bytes } from "./estimate.ts";
import type { Outcome } from "./exchange.ts";
import type { ResolvedTarget } from "./providers.ts";
import { isSilent } from "./usage.ts";

/** What attempts without a usable answer took. */
export interface Taken {
  /** The usage of empty answers. */
  used: Usage;
  /** The attempts whose usage is not known to its end. */
  broken: readonly BrokenOff[];
}

/** An attempt that broke off, or that Hull abandoned while the provider may still have been working. */
interface BrokenOff {
  /** Bytes of the output that came before: text, reasoning and arguments of calls. */
  bytes: number;
  /** The usage that the provider had reported by then. */
  said: Usage;
}

/** How a call ended; `turn: null`: it failed. The usage of a turn includes that of empty answers before it. */
export type CallEnd = ({ turn: null } & Taken) | ({ turn: ModelTurn } & Pick<Taken, "broken">);

export interface Admission {
  /**
   * Asks for one more attempt after some that took something: an admission covers one such attempt.
   * @returns why there may be none; `null`: there may be one
   * @throws what keeps it from asking, which counts as such a reason
   */
  extend(taken: Taken): Promise<HullError | null>;
  /** Waits until an attempt may be made; called before each of them. @throws HullError */
  turn(limits: WaitLimits): Promise<void>;
  /** Called once. Never throws. */
  settle(end: CallEnd): Promise<void>;
}

/**
 * Called once per target, before its first attempt.
 * @param timeoutMs the time limit of the call, without the wait for its first turn
 * @throws HullError if the call may not be made
 */
export type Admit = (request: ModelRequest, target: ResolvedTarget, timeoutMs: number) => Promise<Admission>;

/**
 * Makes a call with admission: asks for it before, and reports the end exactly once.
 * @param call makes the attempts with these options
 */
export async function withAdmission(
  request: ModelRequest,
  target: ResolvedTarget,
  options: AttemptOptions & { admit: Admit },
  call: (options: AttemptOptions) => Promise<ModelTurn>,
): Promise<ModelTurn> {
  const { clock, signal, deadline_at: until = Number.POSITIVE_INFINITY } = options;
  const admission = await options.admit(request, target, options.timeout_ms);
  /** What is known of the present attempt. */
  let streamed = 0;
  let said = NO_USAGE;
  let taken: Taken = { used: NO_USAGE, broken: [] };
  /** Whether an attempt is under way. */
  let begun = false;
  const onOutput = (text: string): void => {
    streamed += utf8Bytes(text);
    options.onOutput?.(text);
  };
  const onUsage = (usage: Usage): void => {
    said = usage;
    options.onUsage?.(usage);
  };
  const takenWith = (error: unknown): Taken => {
    const unseen = begun && (signal.aborted || timedOutHere(error));
    if (streamed === 0 && isSilent(said) && !unseen) return taken;
    return { ...taken, broken: [...taken.broken, { bytes: streamed, said }] };
  };
  const turn = async (limits: WaitLimits): Promise<void> => {
    await admission.turn(limits);
    begun = !signal.aborted;
  };
  const again = async (ended: Outcome): Promise<HullError | null> => {
    const before = taken;
    taken = ended.ok ? { ...taken, used: totalUsage(taken.used, ended.turn.usage) } : takenWith(ended.error);
    streamed = 0;
    said = NO_USAGE;
    begun = false;
    return taken === before ? null : admission.extend(taken).catch(toHullError);
  };
  let answered: ModelTurn;
  try {
    await turn({ clock, signal, until });
    answered = await call({ ...options, onOutput, onUsage, again, turn });
  } catch (error) {
    await admission.settle({ turn: null, ...takenWith(error) });
    throw signal.aborted ? closedBy(signal.reason) : error;
  }
  await admission.settle({ turn: answered, broken: taken.broken });
  return answered;
}

/** Whether the call's own time limit ended it, rather than the provider. */
const timedOutHere = (error: unknown): boolean =>
  error instanceof ProviderTimeout && error.data.members.provider_status === undefined;
