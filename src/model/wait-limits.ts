/** How long a wait may last. */
import type { Clock } from "./clock.ts";

export interface WaitLimits {
  clock: Clock;
  signal: AbortSignal;
  /** Unix ms; `Infinity`: no bound. */
  until: number;
}
