/**
 * Admission of model calls: before a call, the accounting decides whether and when it may be made; afterwards, it learns
 * how the call ended.
 */
import { type ModelRequest, type ModelTurn, NO_USAGE, totalUsage, type Usage } from "../engine/messages.ts";
import { ProviderTimeout } from "../errors/provider.ts";
import { type AttemptOptions, closedBy } from "./attempts.ts";
import type { WaitLimits } from "./clock.ts";
import { utf8Bytes } from "./estimate.ts";
import type { ResolvedTarget } from "./providers.ts";

/** How a call ended. */
export type CallEnd =
  | { turn: ModelTurn }
  /**
   * The call failed after this many bytes of text and reasoning. `used`: the usage of empty answers before the failure.
   * `unseen`: Hull abandoned the call while the provider may still have been working, so its usage is unknown.
   */
  | { turn: null; used: Usage; streamed_bytes: number; unseen: boolean };

export interface Admission {
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
  let streamed = 0;
  let used = NO_USAGE;
  let begun = false;
  const onOutput = (text: string): void => {
    streamed += utf8Bytes(text);
    options.onOutput?.(text);
  };
  let turn: ModelTurn;
  try {
    await admission.turn({ clock, signal, until });
    begun = !signal.aborted;
    turn = await call({
      ...options,
      onOutput,
      onUnused: (usage) => {
        used = totalUsage(used, usage);
      },
      turn: (limits) => admission.turn(limits),
    });
  } catch (error) {
    const unseen = begun && (signal.aborted || timedOutHere(error));
    await admission.settle({ turn: null, used, streamed_bytes: streamed, unseen });
    throw signal.aborted ? closedBy(signal.reason) : error;
  }
  await admission.settle({ turn });
  return turn;
}

/** Whether the call's own time limit ended it, rather than the provider. */
const timedOutHere = (error: unknown): boolean =>
  error instanceof ProviderTimeout && error.data.members.provider_status === undefined;
