/** Server-sent events (serving.md §5.4): one JSON object per event, ids `<run>:<seq>`, a heartbeat in silence. */
import type { RequestContext } from "./context.ts";

/** Silence in ms after which a comment keeps the connection alive. */
const HEARTBEAT_MS = 15_000;

/** One event of the shared vocabulary (contract.md "Events"). */
export interface RunEvent {
  event: "start" | "delta" | "stderr" | "tool_call" | "tool_result" | "round" | "error" | "done";
  data: Record<string, unknown>;
}

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
      if (Date.now() - this.#lastSent >= HEARTBEAT_MS) void this.#write(": hb\n\n");
    }, HEARTBEAT_MS / 3);
  }

  async send(event: RunEvent): Promise<void> {
    if (this.#closed) return;
    const data = JSON.stringify(this.#context.redacted(event.data));
    this.#seq += 1;
    await this.#write(`id: ${this.#runId}:${this.#seq}\nevent: ${event.event}\ndata: ${data}\n\n`);
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
