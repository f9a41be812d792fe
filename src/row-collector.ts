/**
 * Collects rows on their way to a database. If there are many, the rows of all objects and requests of this isolate are
 * sent together. The caller that adds the first row sends them all. The other callers may not wait for its promise,
 * since one object or request may not wait for another; instead they check whether the notes of their rows say `stored`.
 */
import type { Background } from "./log.ts";

/**
 * How long rows are collected, in ms; a row after a quiet time is not held back. Writing many rows costs hardly more
 * than writing one.
 */
const COLLECT_MS = 200;
/** When this many rows are waiting, they are sent earlier. */
const MOST_COLLECTED = 500;
/** A row that is added this long after the last one, in ms, is sent at once, but not before the caller's answer. */
const QUIET_MS = 100;
/**
 * A caller that has not begun to send its rows within this time, in ms, no longer runs, so another caller sends them. A
 * reader waits no longer than this for rows being sent.
 */
const STUCK_MS = 1000;
/** Rows that have been on their way for so many ms are not stored any more: the platform has ended the database's work. */
const LOST_MS = 30_000;
/** How often callers check whether rows that another caller sends are stored, in ms. */
const LOOK_MS = 2;

/** The state of a row on its way. */
export interface RowNote {
  state: "waiting" | "sending" | "stored" | "failed";
}

const isUnderway = ({ state }: RowNote): boolean => state === "waiting" || state === "sending";

interface Held<Row> {
  row: Row;
  note: RowNote;
}

/** Stores rows, all of them or none. */
type Write<Row> = (rows: readonly Row[]) => Promise<void>;

export class RowCollector<Row> {
  #waiting: Held<Row>[] = [];
  /** When the caller that collects rows began, in Unix ms; `null` if no caller collects. */
  #collectedSince: number | null = null;
  /** The rows being sent, each batch with the time when its sending began, in Unix ms. */
  readonly #sent = new Map<readonly RowNote[], number>();
  /** When rows were last added, in Unix ms. */
  #last = 0;
  readonly #failed: (rows: readonly Row[], error: unknown) => void;

  /** @param failed logs that these rows could not be stored */
  constructor(failed: (rows: readonly Row[], error: unknown) => void) {
    this.#failed = failed;
  }

  /** Adds rows. They are sent a moment later, together with the rows of other callers. */
  add(rows: readonly Row[], write: Write<Row>, background: Background): RowNote[] {
    const held = rows.map((row): Held<Row> => ({ row, note: { state: "waiting" } }));
    const notes = held.map(({ note }) => note);
    this.#waiting.push(...held);
    const now = Date.now();
    const isQuiet = now - this.#last >= QUIET_MS;
    this.#last = now;
    if (this.#collectedSince !== null && now - this.#collectedSince < STUCK_MS) {
      if (this.#waiting.length >= MOST_COLLECTED) background(this.#sendWaiting(write));
      return notes;
    }
    this.#collectedSince = now;
    const sent = async (): Promise<void> => {
      // The local database writes in the thread of the Worker, so an answer waits for a write that begins before it.
      await new Promise((resolve) => setTimeout(resolve, isQuiet ? 0 : COLLECT_MS));
      this.#collectedSince = null;
      await this.#sendWaiting(write);
    };
    background(sent());
    return notes;
  }

  /** Waits until all rows of the notes are stored or have failed, but no longer than this many ms. */
  async settled(notes: readonly RowNote[], ms: number): Promise<void> {
    const end = Date.now() + ms;
    while (notes.some(isUnderway) && Date.now() < end) await look();
  }

  /** Withdraws rows. When this resolves, none of them can be stored any more. */
  async withdraw(notes: readonly RowNote[]): Promise<void> {
    if (!notes.some(isUnderway)) return;
    this.#waiting = this.#waiting.filter(({ note }) => !notes.includes(note));
    const isOfThem = (batch: readonly RowNote[]): boolean => batch.some((note) => notes.includes(note));
    while (notes.some(({ state }) => state === "sending") && this.#isSending(isOfThem, LOST_MS)) await look();
  }

  /** Sends the waiting rows, and waits a moment until the batches of other callers are stored. */
  async flush(write: Write<Row>): Promise<void> {
    const others = new Set(this.#sent.keys());
    await this.#sendWaiting(write);
    while (this.#isSending((batch) => others.has(batch), STUCK_MS)) await look();
  }

  async #sendWaiting(write: Write<Row>): Promise<void> {
    const held = this.#waiting.splice(0);
    if (held.length === 0) return;
    const notes = held.map(({ note }) => note);
    for (const note of notes) note.state = "sending";
    this.#sent.set(notes, Date.now());
    const rows = held.map(({ row }) => row);
    const state = await write(rows).then(
      () => "stored" as const,
      (error: unknown) => {
        this.#failed(rows, error);
        return "failed" as const;
      },
    );
    for (const note of notes) note.state = state;
    this.#sent.delete(notes);
  }

  /** Whether one of these batches began to be sent within so many ms. Batches that are lost are forgotten. */
  #isSending(isOne: (batch: readonly RowNote[]) => boolean, ms: number): boolean {
    const now = Date.now();
    for (const [batch, since] of this.#sent) if (now - since >= LOST_MS) this.#sent.delete(batch);
    return this.#sent.entries().some(([batch, since]) => now - since < ms && isOne(batch));
  }
}

const look = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, LOOK_MS));
