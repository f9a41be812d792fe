/** Tells what a start is doing if it takes longer than a moment. */

/** How long a start may say nothing, in ms. */
const QUIET_MS = 1000;

export class StartProgress {
  readonly #write: (line: string) => void;
  readonly #cancel: () => void;
  #phase: string | null = null;
  #late = false;

  /** @param after calls a function once after some ms; the returned function cancels that */
  constructor(write: (line: string) => void, after: (ms: number, fire: () => void) => () => void) {
    this.#write = write;
    this.#cancel = after(QUIET_MS, () => {
      this.#late = true;
      if (this.#phase !== null) write(this.#phase);
    });
  }

  /** Sets what the start is doing from now on. */
  phase(phase: string): void {
    this.#phase = phase;
    if (this.#late) this.#write(phase);
  }

  /** The start has ended. */
  end(): void {
    this.#cancel();
  }
}
