/** Repeats what fails on the way to an object that may have died and come back. */
import { HullError } from "../errors.ts";

/** Attempts after the first, and the wait before the first of them in ms, doubled each time. */
const RETRIES = 4;
const WAIT_MS = 100;

/** @throws the last failure, and immediately a HullError, which is an answer */
export async function again<T>(question: () => Promise<T>): Promise<T> {
  for (let wait = WAIT_MS, retries = 0; ; wait *= 2, retries += 1) {
    try {
      return await question();
    } catch (error) {
      if (error instanceof HullError || retries >= RETRIES) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
