/** The events of an execution or a session: stores them, then sends them to followers. */
import { formatEvent, HEARTBEAT, HEARTBEAT_MS, type PieceName, type RunEvent } from "../run/events.ts";
import type { ConversationStore } from "./conversation/store.ts";

/**
 * Text that arrives within this many ms after the last stored text is held back to gather more, so that rows stay few.
 */
const GATHER_MS = 40;
/** The most characters of one gathered event. */
const GATHER_CHARACTERS = 32 * 1024;

/** How a follower's stream ends. */
export interface Ending {
  /** Whether an event ends the stream. */
  last(event: RunEvent): boolean;
  /** Data to send with the last event instead of the stored data; absent: the stored data. */
  data?(event: RunEvent): object | Promise<object>;
  /** Returns an unstored event that ends the stream once all stored events are sent; `null`: not yet. */
  rest?(): RunEvent | null;
}

/** A stream that does not end by itself. */
const NEVER: Ending = { last: () => false };

export class EventLog {
  readonly #store: ConversationStore;
  readonly #failed: (error: unknown) => void;
  readonly #encoder = new TextEncoder();
  readonly #followers = new Set<() => void>();
  readonly #watchers = new Set<() => void>();
  #closed = new AbortController();
  #gathered: TextEvent | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the last text was stored, unless another event followed it; 0: there is no such text. */
  #textAt = 0;

  /** @param failed logs that text could not be stored */
  constructor(store: ConversationStore, failed: (error: unknown) => void) {
    this.#store = store;
    this.#failed = failed;
  }

  /**
   * Takes one event and stores it within `GATHER_MS`, or on `flush`. Followers get the first piece of a text
   * immediately; without followers it may wait.
   */
  emit(event: RunEvent): void {
    const gathered = this.#gathered === null ? null : together(this.#gathered, event);
    if (gathered !== null) {
      this.#gathered = gathered;
      return;
    }
    this.flush();
    const text = isText(event);
    const wait = this.#followers.size === 0 ? GATHER_MS : this.#textAt + GATHER_MS - Date.now();
    if (text && wait > 0) {
      this.#gathered = event;
      // If storage fails for good, the run's next step will notice.
      this.#timer = setTimeout(() => this.#tryFlush(), wait);
      return;
    }
    this.#store.appendEvents([event]);
    this.announce(text);
  }

  /** Takes the gathered event, for a caller that stores it together with the next ones. */
  take(): RunEvent[] {
    const event = this.#gathered;
    if (event === null) return [];
    clearTimeout(this.#timer);
    this.#gathered = null;
    return [event];
  }

  /** Stores the gathered event. Call it before anything else is stored, to keep events in order. */
  flush(): void {
    const [event] = this.take();
    if (event === undefined) return;
    this.#store.appendEvents([event]);
    this.announce(true);
  }

  /**
   * Calls `notify` whenever there are more events. Unlike a follower, a watcher lets text gather first. Call the returned
   * function to stop.
   */
  watch(notify: () => void): () => void {
    this.#watchers.add(notify);
    return () => this.#watchers.delete(notify);
  }

  /** Wakes followers after events were stored. @param text whether the last event is text */
  announce(text = false): void {
    this.#textAt = text ? Date.now() : 0;
    for (const wake of [...this.#followers, ...this.#watchers]) wake();
  }

  /** Ends all streams, since their source is gone. */
  close(): void {
    this.#closed.abort();
    this.#closed = new AbortController();
    this.announce();
  }

  /** Streams the events after number `after`, stored and future ones, up to the last. */
  follow(id: string, after: number, ending = NEVER): ReadableStream<Uint8Array> {
    const { readable, writable } = new IdentityTransformStream();
    void this.#feed(id, after, writable.getWriter(), ending);
    return readable;
  }

  async #feed(
    id: string,
    after: number,
    writer: WritableStreamDefaultWriter<Uint8Array>,
    ending: Ending,
  ): Promise<void> {
    const { signal } = this.#closed;
    // Stores what was gathered while there was no follower.
    this.#tryFlush();
    try {
      // The head of an answer leaves with its first bytes, and a follower that waits for events should know that it is
      // connected.
      let silent = true;
      for (let seen = after; !signal.aborted; silent = false) {
        const stored = this.#store.events(seen);
        const end = stored.findIndex(ending.last);
        const events = end === -1 ? stored : stored.slice(0, end + 1);
        if (events.length > 0) {
          const last = stored[end];
          const data = last === undefined ? null : await (ending.data?.(last) ?? last.data);
          const shown = events.map((event) => (event === last ? { ...event, data } : event));
          const text = shown.map((event) => formatEvent(event.data, event.event, `${id}:${event.seq}`));
          await writer.write(this.#encoder.encode(text.join("")));
          seen = events.at(-1)?.seq ?? seen;
          if (last !== undefined) return await writer.close();
          continue;
        }
        const resting = ending.rest?.() ?? null;
        if (resting !== null)
          await writer.write(this.#encoder.encode(formatEvent(resting.data, resting.event, `${id}:${seen}`)));
        if (resting !== null || this.#store.ended()) return await writer.close();
        if (silent || !(await this.#nextEvent())) await writer.write(this.#encoder.encode(HEARTBEAT));
      }
      await writer.close();
    } catch (error) {
      // The client left, or the source was removed.
      await writer.abort(error).catch(() => {});
    }
  }

  /** Resolves with `true` at the next event, or with `false` after a silence. */
  #nextEvent(): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (arrived: boolean): void => {
        clearTimeout(silence);
        this.#followers.delete(wake);
        resolve(arrived);
      };
      const wake = (): void => end(true);
      const silence = setTimeout(() => end(false), HEARTBEAT_MS);
      this.#followers.add(wake);
    });
  }

  #tryFlush(): void {
    try {
      this.flush();
    } catch (error) {
      this.#failed(error);
    }
  }
}

/** Joins two text events that differ only in their text; `null`: they differ in more. */
function together<E extends TextEvent>(a: E, b: RunEvent): E | null {
  if (!isText(b) || a.event !== b.event || !alike(a.data, b.data)) return null;
  const text = a.data.text + b.data.text;
  return text.length > GATHER_CHARACTERS ? null : { ...a, data: { ...a.data, text } };
}

/** Whether two events differ only in their text. */
function alike(a: object, b: object): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => name === "text" || Reflect.get(a, name) === Reflect.get(b, name))
  );
}

type Gathered = Extract<RunEvent, { event: PieceName }>;
type TextEvent = Gathered & { data: { text: string } };

const PIECES: Record<PieceName, true> = { delta: true, thought: true, stderr: true, tool_output: true };

const isPiece = (event: RunEvent): event is Gathered => Object.hasOwn(PIECES, event.event);

const isText = (event: RunEvent): event is TextEvent => isPiece(event) && event.data.text !== undefined;
