/** Repeats requests to an object whose process may die and restart. */
import { HullError, StorageUnreadable, toHullError } from "../errors.ts";

/** Attempts after the first, and the wait before the first of them in ms, doubled each time. */
const RETRIES = 4;
const WAIT_MS = 100;

/** @throws the last failure; a HullError immediately, since it is the object's answer */
export async function withRetries<T>(question: () => Promise<T>): Promise<T> {
  for (let wait = WAIT_MS, retries = 0; ; wait *= 2, retries += 1) {
    try {
      return await question();
    } catch (error) {
      const isAnswer = error instanceof HullError || StorageUnreadable.matches(toHullError(error));
      if (isAnswer || retries >= RETRIES) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
