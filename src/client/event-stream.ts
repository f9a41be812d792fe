/** Streams of events that continue after a cut connection, without gaps and duplicates. */
import type { EventData, HullEvent } from "../../typed/client/api.d.ts";
import { HullConnectionError, HullError } from "./error.ts";
import { waitBefore } from "./repeat.ts";
import {
  type Call,
  type CallSettings,
  errorOf,
  isRepeatable,
  type Prepared,
  pause,
  type Transport,
} from "./transport.ts";

/** The content of the last event: a result, and how long it took. */
type Ended<Done> = Done &
  Pick<EventData["done"], "ok" | "duration_ms" | "llm_ms" | "tools_ms" | "queue_ms" | "run_ms">;

/** An event in its wire form. */
interface WireEvent {
  id: string;
  event: string;
  data: string;
}

/** A server that is silent for this long, in ms, is gone: it sends a heartbeat every 15 s. */
const SILENCE_MS = 45_000;

interface StreamSource {
  transport: Transport;
  /** The call whose answer is the stream. */
  call: Call;
  /**
   * The call that continues the stream after its connection broke, if not the original one. @param execution id of the
   * execution
   */
  resumed?: (execution: string) => Call;
  /** The id of the event after which the stream begins; absent: the call determines it. */
  begin?: () => Promise<string>;
  /** Whether the stream ends with `done`; `false`: it continues until the caller leaves it. */
  ends: boolean;
  /** What to do when the caller leaves before the end. */
  left?: (execution: string) => Promise<unknown>;
  settings: CallSettings;
}

/**
 * The events of a run, to be read once: as events (`for await`), as text, or only the result. After a broken connection
 * the stream continues after the last event that was seen.
 * @typeParam Done content of the last event in addition to `ok`
 */
export class EventStream<Done> implements AsyncIterable<HullEvent> {
  readonly #events: AsyncGenerator<HullEvent, void, undefined>;
  /** Ends the stream while it waits for an event. */
  readonly #leaving = new AbortController();

  constructor(source: StreamSource) {
    const { signal: own } = source.settings;
    const left = this.#leaving.signal;
    const signal = own === undefined ? left : AbortSignal.any([own, left]);
    this.#events = follow({ ...source, settings: { ...source.settings, signal } });
  }

  /** Each event as it arrives. A failed run sends the event `error`. Throws HullError if the call is refused. */
  [Symbol.asyncIterator](): AsyncGenerator<HullEvent, void, undefined> {
    return this.#events;
  }

  /** The whole answer so far, each time that it changes. Throws HullError if the run fails. */
  async *text(): AsyncGenerator<string, void, undefined> {
    const rounds: { round: number | undefined; text: string }[] = [];
    for await (const event of this.#events) {
      throwIfError(event);
      if (event.event === "round" && event.data.restarted === true) {
        const { round } = event.data;
        for (const known of rounds) if (known.round === round) known.text = "";
      } else if (event.event === "delta") {
        const { round, text = "" } = event.data;
        const last = rounds.at(-1);
        if (last !== undefined && last.round === round) last.text += text;
        else rounds.push({ round, text });
      } else continue;
      // `join` would copy the whole text with each piece.
      yield rounds.reduce((whole, { text }) => whole + text, "");
    }
  }

  /**
   * The pieces of the answer as bytes, text in UTF-8, e.g. for `new Response(stream.readable())`. The stream fails with
   * HullError if the run fails. The text of a round that restarts comes twice; `text` handles that.
   */
  readable(): ReadableStream<Uint8Array> {
    const events = this.#events;
    const leaving = this.#leaving;
    const encoder = new TextEncoder();
    return new ReadableStream({
      async pull(controller) {
        for (;;) {
          const { done, value: event } = await events.next();
          if (done === true) return controller.close();
          throwIfError(event);
          if (event.event !== "delta") continue;
          const { text, b64 = "" } = event.data;
          const piece = text === undefined ? fromBase64(b64) : encoder.encode(text);
          if (piece.length > 0) return controller.enqueue(piece);
        }
      },
      async cancel() {
        leaving.abort();
        await events.return();
      },
    });
  }

  /** The content of the last event. Throws HullError if the run fails. */
  async result(): Promise<Ended<Done>> {
    for await (const event of this.#events) {
      throwIfError(event);
      if (event.event === "done" && isResult<Done>(event.data)) return event.data;
    }
    throw new TypeError("The stream has been read before, or ended without a result.");
  }
}

const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** The server made it, in the shape of its OpenAPI document. */
const isResult = <Done>(data: object): data is Ended<Done> => "ok" in data;

function throwIfError({ event, data }: HullEvent): void {
  if (event !== "error") return;
  const { retry_after_ms: retry } = data;
  throw new HullError(data, data.status, typeof retry === "number" ? retry : null);
}

/** What has arrived so far. */
interface Seen {
  /** Number of the last event. */
  seq: number;
  /** Its id. */
  id: string | null;
  /** The execution that the answer named. */
  execution: string | null;
}

async function* follow(source: StreamSource): AsyncGenerator<HullEvent, void, undefined> {
  const { transport, call, begin, resumed, ends, left, settings } = source;
  const { signal } = settings;
  const seen: Seen = { seq: -1, id: null, execution: null };
  let leaves = true;
  /** Consecutive attempts without an event. */
  let failures = 0;
  try {
    if (begin !== undefined) seen.id = await begin();
    for (;;) {
      const again = seen.id !== null && seen.execution !== null ? resumed?.(seen.execution) : undefined;
      const request = await transport.prepare(streaming(again ?? call, seen), settings);
      let cut: unknown;
      try {
        for await (const event of connection(source, request, seen, failures)) {
          failures = 0;
          leaves = !(ends && event.event === "done");
          yield event;
          if (!leaves) return;
        }
        // An upstream's events have names of their own and end in any way.
        leaves = !(ends && seen.id === null);
        if (!leaves) return;
        throw new HullConnectionError(transport.origin, "the stream ended before its last event");
      } catch (error) {
        leaves = signal?.aborted === true;
        if (leaves) throw signal?.reason;
        if (error instanceof HullError && !(error instanceof RefusedForNow)) throw error;
        if (failures >= transport.retries || !(await isRepeatable(call))) {
          const named = error instanceof HullError || error instanceof HullConnectionError;
          throw named ? error : new HullConnectionError(transport.origin, error);
        }
        cut = error;
      }
      leaves = true;
      const wait = cut instanceof RefusedForNow ? cut.wait : waitBefore(failures);
      failures += 1;
      await pause(wait, signal);
    }
  } finally {
    if (leaves && seen.execution !== null) await left?.(seen.execution).catch(() => {});
  }
}

/** A later attempt at the same stream may succeed. */
class RefusedForNow extends HullError {
  readonly wait: number;

  constructor({ problem, status, retryAfterMs }: HullError, wait: number) {
    super(problem, status, retryAfterMs);
    this.wait = wait;
  }
}

/** The call for the events after those that have arrived. */
const streaming = (call: Call, { id }: Seen): Call => ({
  ...call,
  headers: { accept: "text/event-stream", ...call.headers, ...(id === null ? {} : { "last-event-id": id }) },
});

/** The new events of one connection, to its end. Throws the error that breaks it. */
async function* connection(
  { transport, settings }: StreamSource,
  request: Prepared,
  seen: Seen,
  failures: number,
): AsyncGenerator<HullEvent, void, undefined> {
  const { signal } = settings;
  const own = new AbortController();
  const leave = (): void => own.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    const response = await transport.open(request, own.signal);
    if (!response.ok) {
      const error = await errorOf(response);
      const wait = transport.waitAfter(error, response, failures);
      throw wait === null ? error : new RefusedForNow(error, wait);
    }
    seen.execution ??= response.headers.get("x-hull-execution-id");
    for await (const { id, event, data } of wireEvents(response, own)) {
      const seq = /:(\d+)$/.exec(id)?.[1];
      if (seq !== undefined) {
        if (Number(seq) <= seen.seq) continue;
        seen.seq = Number(seq);
        seen.id = id;
      }
      // The vocabulary may grow: readers ignore unknown names.
      const known: HullEvent = JSON.parse(
        `{"id":${JSON.stringify(id)},"event":${JSON.stringify(event)},"data":${data}}`,
      );
      yield known;
    }
  } finally {
    signal?.removeEventListener("abort", leave);
    own.abort();
  }
}

/**
 * The events of an answer in their wire form (https://html.spec.whatwg.org/multipage/server-sent-events.html). With
 * eventsource-parser, the whole client would be 40 % larger.
 * @param connection aborted if the silence is so long that the server must be gone
 */
async function* wireEvents(
  response: Response,
  connection: AbortController,
): AsyncGenerator<WireEvent, void, undefined> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  let rest = "";
  let fields: { id: string; event: string; data: string[] } = { id: "", event: "message", data: [] };
  try {
    for (;;) {
      const silent = setTimeout(() => connection.abort("nothing came, not even a heartbeat"), SILENCE_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(silent));
      const piece = done ? "" : decoder.decode(value, { stream: true });
      rest += piece;
      // Splits a line of many pieces only once, since each look at its text takes time in proportion to its length.
      if (!done && !/[\r\n]/.test(piece)) continue;
      // A CR at the end of the text so far may be the first half of a CR LF.
      const lines = rest.split(done ? /\r\n|\n|\r/ : /\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          const { id, event, data } = fields;
          if (data.length > 0) yield { id, event, data: data.join("\n") };
          fields = { id, event: "message", data: [] };
          continue;
        }
        const colon = line.indexOf(":");
        const name = colon === -1 ? line : line.slice(0, colon);
        const given = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (name === "data") fields.data.push(given);
        else if (name === "id" || name === "event") fields[name] = given;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
