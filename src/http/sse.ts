/** Server-sent events: an open body that sends heartbeats in silence, whether a client wants one, and after which event. */
import { BadRequest } from "../errors/request.ts";
import { formatEvent, HEARTBEAT, HEARTBEAT_MS } from "../run/events.ts";
import { listedTypes, typeOf } from "./media-type.ts";
import { DIGITS, flagIn } from "./parameters.ts";

/** The most unread characters before a writer must wait. */
const MAX_UNREAD = 256 * 1024;

/**
 * An open body of events. `write` waits while the client reads more slowly than the caller writes, so that nothing piles
 * up.
 */
export class EventBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #onSilence: () => void;
  #lastSent = Date.now();
  #closed = false;
  #unread = 0;
  #lastWrite: Promise<void> = Promise.resolve();
  #heartbeat: ReturnType<typeof setTimeout>;

  /**
   * @param onClose called once when the client goes away before the end
   * @param onSilence writes something after each silence; by default a comment
   */
  constructor(onClose: () => void, onSilence: () => void = () => void this.write(HEARTBEAT)) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.stream = readable;
    this.#writer = writable.getWriter();
    this.#writer.closed.catch(() => {
      if (!this.#closed) onClose();
      this.#stop();
    });
    this.#onSilence = onSilence;
    this.#heartbeat = this.#nextHeartbeat();
  }

  /** One timer for all events: it looks again when the silence since the last one may be long enough. */
  #nextHeartbeat(): ReturnType<typeof setTimeout> {
    const due = this.#lastSent + HEARTBEAT_MS - Date.now();
    return setTimeout(() => {
      if (Date.now() - this.#lastSent >= HEARTBEAT_MS) this.#onSilence();
      this.#heartbeat = this.#nextHeartbeat();
    }, due);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends a whole event unchanged; does nothing once the stream is over. */
  async write(text: string): Promise<void> {
    if (this.#closed) return;
    this.#lastSent = Date.now();
    this.#unread += text.length;
    this.#lastWrite = this.#writer.write(this.#encoder.encode(text)).catch(() => {});
    await this.#lastWrite;
    this.#unread -= text.length;
  }

  /** Resolves when the client has nearly caught up, or is gone; for writers that do not wait for each event. */
  async room(): Promise<void> {
    if (this.#unread > MAX_UNREAD) await this.#lastWrite;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#stop();
    await this.#writer.close().catch(() => {});
  }

  /** Abandons a stream that was never sent to the client. */
  abandon(): void {
    this.#stop();
    this.#writer.abort().catch(() => {});
  }

  #stop(): void {
    this.#closed = true;
    clearTimeout(this.#heartbeat);
  }
}

/** An answer with events, which nobody may store, compress or hold back. */
export const eventStream = (
  body: ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): Response =>
  new Response(body, {
    headers: {
      ...headers,
      "cache-control": "no-store, no-transform",
      "content-type": "text/event-stream; charset=utf-8",
    },
  });

/** Whether the client asked for events, and whether it accepts anything else. @throws BadRequest for `?stream=yes` */
export function wantsEvents(request: Request): "yes" | "only" | "no" {
  const asked = request.url.includes("stream") && flagIn(new URL(request.url).searchParams, "stream", DIGITS);
  const accept = request.headers.get("accept");
  if (accept === null) return asked ? "only" : "no";
  const types = listedTypes(accept);
  const listed = types.includes("text/event-stream");
  if (!listed) return asked ? "only" : "no";
  return types.some((type) => type !== "" && type !== "text/event-stream") ? "yes" : "only";
}

/**
 * The number of the last event that the client has; `null`: the client states none.
 * @param id before the number in `Last-Event-ID`
 * @throws BadRequest
 */
export function lastSeen(request: Request, id: string): number | null {
  const last = request.headers.get("last-event-id");
  const text = last === null ? new URL(request.url).searchParams.get("after") : ownNumber(last, id);
  if (text === null) return null;
  const after = Number(text);
  if (/^\d{1,15}$/.test(text)) return after;
  throw new BadRequest({
    detail: `The last event is given as "${id}:<number>" in Last-Event-ID, or as ?after=<number>.`,
  });
}

/**
 * Checks that the client has no event yet, for a call that keeps none: a browser that reconnects would begin it again.
 * @throws BadRequest
 */
export function checkBegins(request: Request): void {
  const after = new URL(request.url).searchParams.get("after");
  if (!request.headers.has("last-event-id") && (after === null || after === "0")) return;
  throw new BadRequest({
    detail:
      "Hull keeps the events of a call only if it has an Idempotency-Key, so this one cannot follow after an event. Send the key of the first request, or begin again without Last-Event-ID and ?after.",
  });
}

/** The number in `<id>:<number>`; `""` for anything else. */
function ownNumber(last: string, id: string): string {
  return last.startsWith(`${id}:`) ? last.slice(id.length + 1) : "";
}

/** Whether an answer is a stream of events. */
export const isEventStream = (response: Response): boolean => typeOf(response) === "text/event-stream";

/** A server-sent event of Anthropic's streams, whose name is its type. */
export const formatted = (event: object): string =>
  formatEvent(event, "type" in event ? String(event.type) : "message");
