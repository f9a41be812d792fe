import { atMost } from "../at-most.ts";

/** How long an answer waits until a list has a row, in ms. */
export const MAX_ROW_WAIT_MS = 1000;

/** Waits for work, but at most this many ms. */
export async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  await atMost(work, ms, () => undefined);
}
