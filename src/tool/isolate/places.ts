/** Places for isolates at work. */

/**
 * The most isolates that may work for one request at once; Cloudflare refuses a further one. An object may have ten, for
 * all its requests together.
 */
const AT_ONCE = 4;

/** The places of a request, or of a run attempt in an object. Calls of the same isolate share a place. */
export class IsolatePlaces {
  /** How many calls of an isolate are under way. */
  readonly #busy = new Map<string | symbol, number>();
  #waiting: (() => void)[] = [];

  /**
   * Does the work once there is a place, or the signal aborts; the work looks at the signal itself.
   * @param id of the isolate; `null`: one for this call alone
   */
  async hold<T>(id: string | null, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const isolate = id ?? Symbol();
    while (this.#isFull(isolate) && signal?.aborted !== true) await this.#change(signal);
    this.#busy.set(isolate, (this.#busy.get(isolate) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const left = (this.#busy.get(isolate) ?? 1) - 1;
      if (left > 0) this.#busy.set(isolate, left);
      else this.#busy.delete(isolate);
      for (const wake of this.#waiting.splice(0)) wake();
    }
  }

  #isFull(isolate: string | symbol): boolean {
    return this.#busy.size >= AT_ONCE && !this.#busy.has(isolate);
  }

  #change(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
