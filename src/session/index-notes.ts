/**
 * Rows on their way to the lists of sessions and runs: where many come, those of all sessions and callers of this isolate go
 * together. Whoever noted the first of them sends them all. The others may not wait for its promise, since one object or request may not
 * wait for what another one does; they look whether their note is stored.
 */
import type { Bindings } from "../env.ts";
import type { RunEntry } from "./run-entry.ts";
import { runRows } from "./run-index.ts";
import { type SessionEntry, sessionRows } from "./session-index.ts";

/** How long rows are collected, in ms, unless none was sent for a while. */
const COLLECT_MS = 20;
/** A row that comes so long after the last ones, in ms, is sent at once. */
const QUIET_MS = 100;
/** Whoever has not sent rows within this time was ended; another one sends what was collected. In ms. */
const STUCK_MS = 1000;
/** How often one looks whether rows that others send are stored, in ms. */
const LOOK_MS = 2;

/** A row of one of the lists. */
export type IndexRow = { tenant: string } & ({ run: RunEntry } | { session: SessionEntry });

/** A row on its way. */
export interface IndexNote {
  readonly row: IndexRow;
  state: "waiting" | "sending" | "stored" | "failed";
}

const isUnderway = ({ state }: IndexNote): boolean => state === "waiting" || state === "sending";

export class IndexNotes {
  readonly #env: Bindings;
  #waiting: IndexNote[] = [];
  /** Since when somebody collects, in Unix ms; `null`: nobody does. */
  #collectedSince: number | null = null;
  /** What is being sent, with the time since when, in Unix ms. */
  readonly #sent = new Map<readonly IndexNote[], number>();
  /** When the last rows came, in Unix ms. */
  #last = 0;

  constructor(env: Bindings) {
    this.#env = env;
  }

  /**
   * Takes rows. Another object may send them before the caller's own writes are on disk.
   * @param background keeps the sending alive after the caller's answer
   */
  add(rows: readonly IndexRow[], background: (work: Promise<unknown>) => void): IndexNote[] {
    const notes = rows.map((row): IndexNote => ({ row, state: "waiting" }));
    this.#waiting.push(...notes);
    const now = Date.now();
    const isQuiet = now - this.#last >= QUIET_MS;
    this.#last = now;
    if (this.#collectedSince !== null && now - this.#collectedSince < STUCK_MS) return notes;
    this.#collectedSince = now;
    const sent = async (): Promise<void> => {
      if (!isQuiet) await new Promise((resolve) => setTimeout(resolve, COLLECT_MS));
      this.#collectedSince = null;
      await this.#send();
    };
    background(sent());
    return notes;
  }

  /** Waits until nothing more happens to notes, but no longer than this many ms. */
  async settled(notes: readonly IndexNote[], ms: number): Promise<void> {
    const end = Date.now() + ms;
    while (notes.some(isUnderway) && Date.now() < end) await look();
  }

  /** Takes notes back: when it ends, none of them will be stored any more. */
  async withdraw(notes: readonly IndexNote[]): Promise<void> {
    if (!notes.some(isUnderway)) return;
    this.#waiting = this.#waiting.filter((note) => !notes.includes(note));
    while (this.#isSending() && notes.some(({ state }) => state === "sending")) await look();
  }

  /** Sends what was collected. A reader of a list calls it, and so finds what happened before in this isolate. */
  async flush(): Promise<void> {
    await this.#send();
    while (this.#isSending()) await look();
  }

  async #send(): Promise<void> {
    const notes = this.#waiting.splice(0);
    if (notes.length === 0) return;
    for (const note of notes) note.state = "sending";
    this.#sent.set(notes, Date.now());
    const state = await this.#write(notes.map(({ row }) => row)).then(
      () => "stored" as const,
      (error: unknown) => {
        console.error(
          JSON.stringify({ event: "rows_not_indexed", rows: notes.length, error: String(error) }),
        );
        return "failed" as const;
      },
    );
    for (const note of notes) note.state = state;
    this.#sent.delete(notes);
  }

  async #write(rows: readonly IndexRow[]): Promise<void> {
    const runs = rows.flatMap((row) => ("run" in row ? [row] : []));
    const sessions = rows.flatMap((row) => ("session" in row ? [row] : []));
    const statements = [
      ...(runs.length === 0 ? [] : [await runRows(this.#env, runs)]),
      ...(sessions.length === 0 ? [] : [await sessionRows(this.#env, sessions)]),
    ];
    await this.#env.DB.batch(statements);
  }

  /** Whether something is being sent. What takes too long is not counted: its sender has ended. */
  #isSending(): boolean {
    const now = Date.now();
    for (const [notes, since] of this.#sent) if (now - since >= STUCK_MS) this.#sent.delete(notes);
    return this.#sent.size > 0;
  }
}

const look = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, LOOK_MS));
