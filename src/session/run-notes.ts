/**
 * Runs that have ended, on their way to the index of runs: those of all sessions and callers of this isolate that end within a moment
 * are written together. Whoever noted the first of them sends them all. The others may not wait for that, since one object or request
 * may not wait for what another one does; they look later whether their note is stored.
 */
import type { Bindings } from "../env.ts";
import type { RunEntry } from "./run-entry.ts";
import { noteRuns } from "./run-index.ts";

/** How long notes are collected, in ms. */
const COLLECT_MS = 50;
/** Whoever has not sent notes within this time was ended; another one sends what was collected. In ms. */
const STUCK_MS = 1000;
/** How often a reader looks whether notes that others send are stored, in ms. */
const LOOK_MS = 5;

/** A run's row on its way. */
export interface RunNote {
  readonly tenant: string;
  readonly run: RunEntry;
  state: "waiting" | "sending" | "stored" | "failed";
}

export class RunNotes {
  readonly #env: Bindings;
  #waiting: RunNote[] = [];
  /** Since when somebody collects, in Unix ms; `null`: nobody does. */
  #collectedSince: number | null = null;
  /** What is being sent, with the time since when, in Unix ms. */
  readonly #sent = new Map<readonly RunNote[], number>();

  constructor(env: Bindings) {
    this.#env = env;
  }

  /** Takes rows of runs. @param background keeps the sending alive after the caller's answer */
  add(
    rows: readonly { tenant: string; run: RunEntry }[],
    background: (work: Promise<unknown>) => void,
  ): RunNote[] {
    const notes = rows.map((row): RunNote => ({ ...row, state: "waiting" }));
    this.#waiting.push(...notes);
    const now = Date.now();
    if (this.#collectedSince !== null && now - this.#collectedSince < STUCK_MS) return notes;
    this.#collectedSince = now;
    const sent = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, COLLECT_MS));
      this.#collectedSince = null;
      await this.#send();
    };
    background(sent());
    return notes;
  }

  /** Takes notes back whose runs are forgotten: when it ends, none of them will be stored any more. */
  async withdraw(notes: readonly RunNote[]): Promise<void> {
    this.#waiting = this.#waiting.filter((note) => !notes.includes(note));
    await this.#until(() => notes.some(({ state }) => state === "sending"));
  }

  /** Sends what was collected. A reader of the index calls it, and so finds the runs that ended before in this isolate. */
  async flush(): Promise<void> {
    await this.#send();
    await this.#until(() => true);
  }

  async #send(): Promise<void> {
    const notes = this.#waiting.splice(0);
    if (notes.length === 0) return;
    for (const note of notes) note.state = "sending";
    this.#sent.set(notes, Date.now());
    let state: RunNote["state"] = "stored";
    await noteRuns(this.#env, notes).catch((error: unknown) => {
      console.error(JSON.stringify({ event: "runs_not_indexed", runs: notes.length, error: String(error) }));
      state = "failed";
    });
    for (const note of notes) note.state = state;
    this.#sent.delete(notes);
  }

  /** Waits while something is being sent and the condition holds. What takes too long is not waited for: its sender has ended. */
  async #until(waits: () => boolean): Promise<void> {
    const isSending = (): boolean => {
      const now = Date.now();
      for (const [notes, since] of this.#sent) if (now - since >= STUCK_MS) this.#sent.delete(notes);
      return this.#sent.size > 0;
    };
    while (isSending() && waits()) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
