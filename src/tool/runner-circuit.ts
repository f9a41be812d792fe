/** Whether the last calls found a runner: if one waited for it in vain, the next ones do not wait. */

/** How often one call may wait again after a call that waited in vain; all others try once. */
const OPEN_MS = 30_000;

/** What happened to a runner, for the log. `error`: why it could not be reached. */
interface RunnerNote {
  event: "runner_down" | "runner_up";
  runner: string;
  error?: string;
}

export class RunnerCircuit {
  /** Where the runner is, for messages: `at http://127.0.0.1:8080`. */
  readonly where: string;
  readonly #note: (note: RunnerNote) => void;
  /** When the next call may wait, Unix ms; `null`: the runner answered after all failures. */
  #openUntil: number | null = null;

  /** @param note called once when the runner is found to be down, and once when it answers again */
  constructor(where: string, note: (note: RunnerNote) => void) {
    this.where = where;
    this.#note = note;
  }

  /**
   * Whether a call that begins now may wait for the runner; if not, it tries once. While the runner is down, only the call
   * that asks first after each period may.
   * @param now Unix ms
   */
  mayWait(now: number): boolean {
    if (this.#openUntil === null) return true;
    if (now < this.#openUntil) return false;
    this.#openUntil = now + OPEN_MS;
    return true;
  }

  /** A call has waited in vain. */
  open(error: string, now: number): void {
    if (this.#openUntil === null) this.#note({ event: "runner_down", runner: this.where, error });
    this.#openUntil = now + OPEN_MS;
  }

  /** The runner answered. */
  close(): void {
    if (this.#openUntil !== null) this.#note({ event: "runner_up", runner: this.where });
    this.#openUntil = null;
  }
}
