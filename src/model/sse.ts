/** Server-sent events out of a byte stream, in whatever pieces the bytes come (WHATWG HTML §9.2). */
import { createParser } from "eventsource-parser";
import type { HullError } from "../errors.ts";

export interface ServerSentEvent {
  /** The `event` field, where there was one. */
  event?: string | undefined;
  /** The `data` lines, joined by newlines. */
  data: string;
}

interface SseOptions {
  /** Most characters of one event. */
  max_event: number;
  /** Most bytes of the whole stream. */
  max_bytes: number;
  /** Ends the stream and releases its connection. */
  signal: AbortSignal;
  /** Makes the error for a stream that cannot be read on; `reason` is a phrase that is safe for callers. */
  broken(reason: string): HullError;
}

/**
 * The events of a stream; a last event that lacks its closing blank line counts. The body is cancelled when the
 * consumer stops early.
 * @throws what `broken` makes when a cap is passed or the connection breaks; the signal's reason when it is aborted
 */
export async function* sseEvents(
  body: ReadableStream<Uint8Array>,
  options: SseOptions,
): AsyncGenerator<ServerSentEvent, void, void> {
  const { signal, broken } = options;
  const ready: ServerSentEvent[] = [];
  let overflow = false;
  const parser = createParser({
    maxBufferSize: options.max_event,
    onEvent: (event) => ready.push(event),
    onError: (error) => {
      overflow ||= error.type === "max-buffer-size-exceeded";
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const release = (): void => {
    reader.cancel().catch(() => undefined);
  };
  signal.addEventListener("abort", release, { once: true });
  if (signal.aborted) release();
  let bytes = 0;
  try {
    for (;;) {
      const chunk = await reader.read().catch(() => null);
      signal.throwIfAborted();
      if (chunk === null) throw broken("its stream broke off");
      bytes += chunk.value?.byteLength ?? 0;
      if (bytes > options.max_bytes) throw broken(`it is longer than ${options.max_bytes} bytes`);
      parser.feed(chunk.done ? `${decoder.decode()}\n\n` : decoder.decode(chunk.value, { stream: true }));
      yield* ready.splice(0);
      if (overflow) throw broken(`one of its events is longer than ${options.max_event} characters`);
      if (chunk.done) return;
    }
  } finally {
    signal.removeEventListener("abort", release);
    release();
  }
}
