/** Leave to call a model: who pays for calls and paces them decides before one is made, and learns what became of it. */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import type { Clock } from "./clock.ts";
import type { ResolvedTarget } from "./providers.ts";

/** How long a turn may be waited for. */
export interface Bounds {
  clock: Clock;
  signal: AbortSignal;
  /** Unix ms; `Infinity`: no bound. */
  until: number;
}

/** What became of a call. */
export type CallEnd =
  | { turn: ModelTurn }
  /**
   * It failed, after so many bytes of text and reasoning. `unseen`: it was given up while the provider may have been
   * at work, so that what it took is not known.
   */
  | { turn: null; told_bytes: number; unseen: boolean };

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
