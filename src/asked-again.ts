/** A second question to storage. */
import { HullError } from "./errors.ts";

/** The pause before storage is asked again, in ms. */
const AGAIN_MS = 250;

/** Asks R2, D1 or KV, once more if it fails: most of their faults last for a moment. @param ask what is safe to repeat */
export async function askedAgain<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof HullError) throw error;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    return ask();
  }
}
