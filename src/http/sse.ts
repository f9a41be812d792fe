/** Server-sent events (serving.md §5.4): one JSON object per event, ids `<run>:<seq>`, a heartbeat in silence. */
import { formatEvent, HEARTBEAT, HEARTBEAT_MS, type RunEvent } from "../run/events.ts";
import type { RequestContext } from "./context.ts";

/** An open event stream. `send` waits while the client is slower than the run, so that nothing piles up. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #runId: string;
  readonly #context: RequestContext;
  readonly #encoder = new TextEncoder();
  #seq = 0;
  #lastSent = Date.now();
  #closed = false;
  readonly #heartbeat: ReturnType<typeof setInterval>;

  /** @param onClose called once when the client goes away before the end */
  constructor(runId: string, context: RequestContext, onClose: () => void) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.body = readable;
    this.#writer = writable.getWriter();
    this.#runId = runId;
    this.#context = context;
    this.#writer.closed.catch(() => {
      if (!this.#closed) onClose();
      this.#stop();
    });
    this.#heartbeat = setInterval(() => {
      if (Date.now() - this.#lastSent >= HEARTBEAT_MS) void this.#write(HEARTBEAT);
    }, HEARTBEAT_MS / 3);
  }

  async send(event: RunEvent): Promise<void> {
    if (this.#closed) return;
    this.#seq += 1;
    await this.#write(formatEvent(this.#runId, this.#seq, event.event, this.#context.redacted(event.data)));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#stop();
    await this.#writer.close().catch(() => {});
  }

  /** Gives up a stream that nobody was given. */
  abandon(): void {
    this.#stop();
    this.#writer.abort().catch(() => {});
  }

  #stop(): void {
    this.#closed = true;
    clearInterval(this.#heartbeat);
  }

  async #write(text: string): Promise<void> {
    this.#lastSent = Date.now();
    await this.#writer.write(this.#encoder.encode(text)).catch(() => {});
  }
}

/** Whether the client asked for events, and whether it would take anything else (serving.md §5.4). */
export function wantsEvents(request: Request): "yes" | "only" | "no" {
  const accept = request.headers.get("accept") ?? "";
  const types = accept.split(",").map((part) => part.split(";")[0]?.trim().toLowerCase());
  const listed = types.includes("text/event-stream");
  if (!listed) return /[?&]stream=1(&|#|$)/.test(request.url) ? "only" : "no";
  return types.some((type) => type !== "" && type !== "text/event-stream") ? "yes" : "only";
}
