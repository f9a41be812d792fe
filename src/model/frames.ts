/** Splits a byte stream into events, whatever its pieces: server-sent events (WHATWG HTML §9.2), or one per line. */
import { createParser } from "eventsource-parser";
import type { HullError } from "../errors.ts";
import { type Clock, systemClock } from "./clock.ts";

export interface StreamEvent {
  /** The `event` field, if given. */
  event?: string | undefined;
  /** The `data` lines, joined by newlines; in NDJSON the whole line. */
  data: string;
  /** The stream ended before the event did. */
  unfinished?: boolean;
}

interface FrameOptions {
  framing: "sse" | "ndjson";
  /** The most characters of one event. */
  max_event: number;
  /** The most bytes of the whole stream. */
  max_bytes: number;
  /** Ends the stream and releases its connection. */
  signal: AbortSignal;
  /** Makes the error for a stream that is too long; `reason` is a phrase that is safe for callers. */
  unusable(reason: string): HullError;
  /** Makes the error for a stream that breaks off. */
  cutOff(reason: string): HullError;
  /** Default: a timer of its own. */
  clock?: Pick<Clock, "after"> | undefined;
  /** Called for every piece that arrives. */
  onBytes?: (() => void) | undefined;
  /** Called for each piece of text before the first event. */
  onStray?: (text: string) => void;
  /** Called for the id of an event, even of one without data. */
  onId?: (id: string) => void;
  /** Called for the wait in ms that the stream asks for before somebody continues it. */
  onRetry?: (ms: number) => void;
}

/** How long, and for how many chunks, to wait for the end of a body after its last relevant event. */
const TAIL_MS = 250;
const TAIL_CHUNKS = 4;

/** Cuts text into events. */
interface Cutter {
  feed(text: string): void;
  /** Ends the text. An unfinished last event still counts. */
  end(): void;
}

/**
 * Reads a stream up to its end, or until `take` returns `true`. After that it cancels a body that does not end soon; it
 * also does so after an error.
 * @throws what `unusable` and `cutOff` make; what `take` throws; the signal's reason when it is aborted
 */
export async function readFrames(
  body: ReadableStream<Uint8Array>,
  options: FrameOptions,
  take: (event: StreamEvent) => boolean,
): Promise<void> {
  const { signal } = options;
  let done = false;
  let ending = false;
  let begun = false;
  const onEvent = (event: StreamEvent): void => {
    begun = true;
    done ||= take(ending ? { ...event, unfinished: true } : event);
  };
  const cutter = options.framing === "sse" ? sseCutter(options, onEvent) : lineCutter(options, onEvent);
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const release = (): void => {
    reader.cancel().catch(() => undefined);
  };
  signal.addEventListener("abort", release, { once: true });
  if (signal.aborted) release();
  let bytes = 0;
  try {
    while (!done) {
      const chunk = await reader.read().catch(() => null);
      signal.throwIfAborted();
      if (chunk === null) throw options.cutOff("its stream broke off");
      if (chunk.done) {
        cutter.feed(decoder.decode());
        ending = true;
        cutter.end();
        return;
      }
      options.onBytes?.();
      bytes += chunk.value.byteLength;
      if (bytes > options.max_bytes) throw options.unusable(`it is longer than ${options.max_bytes} bytes`);
      try {
        const text = decoder.decode(chunk.value, { stream: true });
        cutter.feed(text);
        if (!begun) options.onStray?.(text);
      } catch (error) {
        // Errors after the last event do not matter.
        if (!done) throw error;
      }
    }
  } finally {
    signal.removeEventListener("abort", release);
    if (done) void toTheEnd(reader, release, options.clock ?? systemClock);
    else release();
  }
}

/**
 * Waits briefly for a body to end, so that the next request can use the connection; cancels a body that does not end.
 */
async function toTheEnd(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  cancel: () => void,
  clock: Pick<Clock, "after">,
): Promise<void> {
  const stop = clock.after(TAIL_MS, cancel);
  try {
    for (let chunks = 0; chunks < TAIL_CHUNKS; chunks++) if ((await reader.read()).done) return;
    cancel();
  } catch {
    // The connection is already gone, which is fine.
  } finally {
    stop();
  }
}

const tooLong = ({ max_event, unusable }: FrameOptions): HullError =>
  unusable(`one of its events is longer than ${max_event} characters`);

const ERROR_FIELD = "error:";
/** The longest line with it. */
const MAX_ERROR_LINE = 65_536;

function sseCutter(options: FrameOptions, onEvent: (event: StreamEvent) => void): Cutter {
  let overflow = false;
  const parser = createParser({
    maxBufferSize: options.max_event,
    onEvent,
    onId: options.onId,
    onRetry: options.onRetry,
    onError: (error) => {
      overflow ||= error.type === "max-buffer-size-exceeded";
      // llama.cpp's servers of 2025 and earlier write an error as a field of its own.
      if (error.field === "error") onEvent({ event: "error", data: error.value ?? "" });
    },
  });
  /** The beginning of a line that may be this field: the parser drops pieces of fields that it does not know. */
  let held = "";
  /** Whether it is this field. Then the line is not looked at again until it ends, however many pieces it comes in. */
  let isError = false;
  const feed = (text: string): void => {
    const before = held;
    const start = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
    const line = start === 0 ? before + text : text.slice(start);
    isError = (isError && start === 0) || line.startsWith(ERROR_FIELD);
    const mayBeError = isError || ERROR_FIELD.startsWith(line);
    held = mayBeError && line.length <= MAX_ERROR_LINE ? line : "";
    isError &&= held !== "";
    if (held === "") parser.feed(before + text);
    else if (start > 0) parser.feed(before + text.slice(0, start));
    if (overflow) throw tooLong(options);
  };
  return { feed, end: () => feed("\n\n") };
}

/** Blank lines carry no event. */
function lineCutter(options: FrameOptions, onEvent: (event: StreamEvent) => void): Cutter {
  let begun: string[] = [];
  let length = 0;
  const flush = (): void => {
    const data = begun.join("").trim();
    begun = [];
    length = 0;
    if (data !== "") onEvent({ data });
  };
  return {
    feed(text) {
      let from = 0;
      for (let at = text.indexOf("\n"); ; at = text.indexOf("\n", from)) {
        const piece = text.slice(from, at === -1 ? text.length : at);
        begun.push(piece);
        length += piece.length;
        if (length > options.max_event) throw tooLong(options);
        if (at === -1) return;
        flush();
        from = at + 1;
      }
    },
    end: flush,
  };
}
