import { unlessAborted } from "../../at-most.ts";

/** Work that several callers wait for: a caller that leaves ends only its own wait, and the last to leave ends the work. */
export class SharedWork<T> {
  readonly #abort = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#result = work(this.#abort.signal);
    // If the work fails while nobody waits, the rejection must not count as unhandled.
    this.#result.catch(() => {});
  }

  /** Whether everybody left it, with its result or without. */
  get abandoned(): boolean {
    return this.#abort.signal.aborted;
  }

  /** The result; rejects with the signal's reason once it aborts. */
  async wait(signal: AbortSignal): Promise<T> {
    this.#waiting += 1;
    try {
      return await unlessAborted(this.#result, signal);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#abort.abort();
    }
  }
}
