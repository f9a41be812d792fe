/**
 * Rows on their way to a database: where many come, those of all objects and requests of this isolate go together. Whoever brought the
 * first of them sends them all. The others may not wait for its promise, since one object or request may not
 * wait for what another one does; they look whether their note is stored.
 */

/** How long rows are collected, in ms, unless none was sent for a while: a write of many rows costs hardly more than one of a single row. */
const COLLECT_MS = 200;
/** So many rows go before that time. */
const MOST_COLLECTED = 500;
/** A row that comes so long after the last ones, in ms, is sent at once. */
const QUIET_MS = 100;
/** Whoever has not sent rows within this time was ended; another one sends what was collected. In ms. */
const STUCK_MS = 1000;
/** How often one looks whether rows that others send are stored, in ms. */
const LOOK_MS = 2;

/** A row on its way. */
export interface RowNote {
  state: "waiting" | "sending" | "stored" | "failed";
}

const isUnderway = ({ state }: RowNote): boolean => state === "waiting" || state === "sending";

/** A row with its note. */
interface Held<Row> {
  row: Row;
  note: RowNote;
}

/** Stores rows, all of them or none. */
type Write<Row> = (rows: readonly Row[]) => Promise<void>;

export class RowCollector<Row> {
  #waiting: Held<Row>[] = [];
  /** Since when somebody collects, in Unix ms; `null`: nobody does. */
  #collectedSince: number | null = null;
  /** What is being sent, with the time since when, in Unix ms. */
  readonly #sent = new Map<readonly RowNote[], number>();
  /** When the last rows came, in Unix ms. */
  #last = 0;

  /**
   * Takes rows, which go a moment later with what others bring.
   * @param background keeps the sending alive after the caller's answer
   */
  add(rows: readonly Row[], write: Write<Row>, background: (work: Promise<unknown>) => void): RowNote[] {
    const notes = this.#take(rows);
    const now = Date.now();
    const isQuiet = now - this.#last >= QUIET_MS;
    this.#last = now;
    if (this.#collectedSince !== null && now - this.#collectedSince < STUCK_MS) {
      if (this.#waiting.length >= MOST_COLLECTED) background(this.#sendWaiting(write));
      return notes;
    }
    this.#collectedSince = now;
    const sent = async (): Promise<void> => {
      if (!isQuiet) await new Promise((resolve) => setTimeout(resolve, COLLECT_MS));
      this.#collectedSince = null;
      await this.#sendWaiting(write);
    };
    background(sent());
    return notes;
  }

  #take(rows: readonly Row[]): RowNote[] {
    const held = rows.map((row): Held<Row> => ({ row, note: { state: "waiting" } }));
    this.#waiting.push(...held);
    return held.map(({ note }) => note);
  }

  /** Waits until nothing more happens to notes, but no longer than this many ms. */
  async settled(notes: readonly RowNote[], ms: number): Promise<void> {
    const end = Date.now() + ms;
    while (notes.some(isUnderway) && Date.now() < end) await look();
  }

  /** Takes notes back: when it ends, none of them will be stored any more. */
  async withdraw(notes: readonly RowNote[]): Promise<void> {
    if (!notes.some(isUnderway)) return;
    this.#waiting = this.#waiting.filter(({ note }) => !notes.includes(note));
    while (this.#isSending() && notes.some(({ state }) => state === "sending")) await look();
  }

  /** Sends what was collected, and waits until what others were sending is stored. */
  async flush(write: Write<Row>): Promise<void> {
    const others = [...this.#sent.keys()];
    await this.#sendWaiting(write);
    while (this.#isSending() && others.some((notes) => this.#sent.has(notes))) await look();
  }

  async #sendWaiting(write: Write<Row>): Promise<void> {
    const held = this.#waiting.splice(0);
    if (held.length === 0) return;
    const notes = held.map(({ note }) => note);
    for (const note of notes) note.state = "sending";
    this.#sent.set(notes, Date.now());
    const state = await write(held.map(({ row }) => row)).then(
      () => "stored" as const,
      (error: unknown) => {
        console.error(JSON.stringify({ event: "rows_not_stored", rows: notes.length, error: String(error) }));
        return "failed" as const;
      },
    );
    for (const note of notes) note.state = state;
    this.#sent.delete(notes);
  }

  /** Whether something is being sent. What takes too long is not counted: its sender has ended. */
  #isSending(): boolean {
    const now = Date.now();
    for (const [notes, since] of this.#sent) if (now - since >= STUCK_MS) this.#sent.delete(notes);
    return this.#sent.size > 0;
  }
}

const look = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, LOOK_MS));
