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

/**
 * How a call ended. `broken` has an entry for each attempt of unknown usage: the bytes of text that came before the attempt
 * broke off, or before Hull abandoned it while the provider may still have been working.
 */
export type CallEnd =
  | { turn: ModelTurn; broken: readonly number[] }
  /** The call failed. `used`: the usage of empty answers before the failure. */
  | { turn: null; used: Usage; broken: readonly number[] };

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
  /** Bytes of the present attempt. */
  let streamed = 0;
  const broken: number[] = [];
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
      turn: (limits) => {
        if (streamed > 0) broken.push(streamed);
        streamed = 0;
        return admission.turn(limits);
      },
    });
  } catch (error) {
    const unseen = begun && (signal.aborted || timedOutHere(error));
    if (streamed > 0 || unseen) broken.push(streamed);
    await admission.settle({ turn: null, used, broken });
    throw signal.aborted ? closedBy(signal.reason) : error;
  }
  await admission.settle({ turn, broken });
  return turn;
}

/** Whether the call's own time limit ended it, rather than the provider. */
const timedOutHere = (error: unknown): boolean =>
  error instanceof ProviderTimeout && error.data.members.provider_status === undefined;
