/** Leave to call a model: who pays for calls and paces them decides before one is made, and learns what became of it. */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import { ProviderTimeout } from "../errors/provider.ts";
import { type AttemptOptions, closedBy } from "./attempts.ts";
import type { Bounds } from "./bounds.ts";
import { utf8Bytes } from "./estimate.ts";
import type { ResolvedTarget } from "./providers.ts";

/** What became of a call. */
export type CallEnd =
  | { turn: ModelTurn }
  /**
   * It failed, after so many bytes of text and reasoning. `unseen`: it was given up while the provider may have been
   * at work, so that what it took is not known.
   */
  | { turn: null; streamed_bytes: number; unseen: boolean };

export interface Admission {
  /** Waits until an attempt may be made; asked before each of them. @throws HullError */
  turn(bounds: Bounds): Promise<void>;
  /** Told once. Never throws. */
  settle(end: CallEnd): Promise<void>;
}

/**
 * Asked once per target, before its first attempt.
 * @param timeoutMs the time that the call may take, the wait for its first turn not counted
 * @throws HullError where the call may not be made
 */
export type Admit = (request: ModelRequest, target: ResolvedTarget, timeoutMs: number) => Promise<Admission>;

/**
 * Makes a call with leave: asked for before it, told of its end once, whatever that is.
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
  let begun = false;
  const onOutput = (text: string): void => {
    streamed += utf8Bytes(text);
    options.onOutput?.(text);
  };
  let turn: ModelTurn;
  try {
    await admission.turn({ clock, signal, until });
    begun = !signal.aborted;
    turn = await call({ ...options, onOutput, turn: (bounds) => admission.turn(bounds) });
  } catch (error) {
    const unseen = begun && (signal.aborted || timedOutHere(error));
    await admission.settle({ turn: null, streamed_bytes: streamed, unseen });
    throw signal.aborted ? closedBy(signal.reason) : error;
  }
  await admission.settle({ turn });
  return turn;
}

/** Whether a call ended by its own time limit, and not by the provider's word. */
const timedOutHere = (error: unknown): boolean =>
  error instanceof ProviderTimeout && error.data.members.provider_status === undefined;
