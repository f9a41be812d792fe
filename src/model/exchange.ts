/** One HTTP attempt at a model call: sends the request, reads the answer or failure. */

import { wellFormedJson } from "../bytes.ts";
import type { Message, ModelTurn, ProviderPassthrough, Verbatim } from "../engine/messages.ts";
import { ProviderRedirectRefused, ProviderUnreachable, ReplayMissing } from "../errors/provider.ts";
import { causeOf, HullError } from "../errors.ts";
import { isObject } from "../skill/json.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { JsonObject } from "../skill/manifest.ts";
import type { Clock } from "./clock.ts";
import { withExtra } from "./extra.ts";
import { type Failure, failureOfStatus, retryAfterMs } from "./failure.ts";
import { readFrames } from "./frames.ts";
import { cutOff, failedAnswer, unusable } from "./provider-document.ts";
import type { HttpTarget } from "./providers.ts";
import { notRecorded } from "./proxy.ts";
import { readUsage } from "./usage.ts";
import { wholeCharacters } from "./whole-characters.ts";
import { callIdSource, type Sink, type StreamReader, type Wire, type WireTarget } from "./wire.ts";

/** Limit of an answer in one piece, and of one event. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Limit of a stream: a token takes some hundred bytes. The kept part of it has its own limit. */
const MAX_STREAM_BYTES = 128 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

export type Outcome = { ok: true; turn: ModelTurn } | Failure;

/** The members that every kind of request has. */
interface Sent {
  messages?: readonly Message[];
  extra?: JsonObject | undefined;
  verbatim?: Verbatim | undefined;
  passthrough?: ProviderPassthrough | undefined;
}

export interface ExchangeOptions {
  stream: boolean;
  /** Aborts when nobody needs the attempt's result any more. */
  signal: AbortSignal;
  sink: Sink;
  fetch: typeof fetch;
  /** Unix ms, for a `Retry-After` that is a date. */
  now: number;
  /** Default: the system's. */
  clock?: Pick<Clock, "after"> | undefined;
  /** Called at the beginning of a stream and for every piece of it. */
  onBytes?: (() => void) | undefined;
}

/**
 * Sends the request and reads the answer, streamed or whole as the provider chose.
 * @throws anything when `signal` is aborted
 */
export async function exchange<Request extends Sent>(
  request: Request,
  wire: Wire<Request>,
  target: HttpTarget,
  options: ExchangeOptions,
): Promise<Outcome> {
  // `fetch` must be called without an object: in Workers, it refuses another `this`.
  const { fetch, signal } = options;
  const { provider, model } = target;
  const stream = options.stream || wire.framing === "ndjson";
  const verbatim = request.verbatim?.protocol === target.protocol ? request.verbatim : null;
  const passthrough = request.passthrough?.protocol === target.protocol ? request.passthrough : null;
  const body =
    verbatim === null
      ? withPassthrough(withExtra(wire.body(request, target, stream), request.extra, target), passthrough)
      : { ...verbatim.body, model, ...(stream ? { stream } : {}) };
  let response: Response;
  try {
    response = await fetch(target.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: stream ? STREAM_TYPES[wire.framing] : "application/json",
        "user-agent": "hull",
        ...target.headers,
        ...(verbatim === null
          ? withBetas(wire.headers?.(request, target) ?? {}, passthrough?.headers ?? {})
          : verbatim.headers),
      },
      body: wellFormedJson(body),
      redirect: "manual",
      signal,
    });
  } catch (error) {
    if (error instanceof HullError) throw error;
    signal.throwIfAborted();
    const inner = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
    const cause = causeOf(error) + inner;
    return { ok: false, retry: true, error: new ProviderUnreachable({ provider, model, cause }) };
  }
  if (response.status >= 300 && response.status < 400) {
    await discard(response);
    const error = new ProviderRedirectRefused({ provider, model, provider_status: response.status });
    return { ok: false, retry: false, error };
  }
  if (!response.ok) {
    const text = await readBeginning(response);
    signal.throwIfAborted();
    const explanation = notRecorded(response, target, text);
    if (explanation !== null) {
      return { ok: false, retry: false, error: new ReplayMissing({ provider, model, explanation }) };
    }
    return failureOfStatus({
      provider,
      model,
      variable: target.variable,
      status: response.status,
      text,
      retry_after_ms: retryAfterMs(response.headers.get("retry-after"), options.now),
    });
  }
  try {
    const { sink, end } = wholeCharacters({
      ...options.sink,
      onEvent: verbatim === null ? undefined : options.sink.onEvent,
    });
    const reader = wire.stream(target, sink);
    const answer = await readAnswer(response, wire.framing, reader, target, options);
    end();
    if (isObject(answer.document)) sink.onUsage?.(readUsage(answer.document.usage));
    const turn = wire.parse(answer.document, target, callIdSource(request.messages ?? []), answer.text);
    if (!answer.streamed) announce(turn, options.sink);
    const { document } = answer;
    return { ok: true, turn: verbatim !== null && isObject(document) ? { ...turn, document } : turn };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HullError) return { ok: false, retry: false, error };
    throw error;
  }
}

function withPassthrough(body: object, passthrough: ProviderPassthrough | null): object {
  if (passthrough === null) return body;
  const own = "tools" in body && Array.isArray(body.tools) ? body.tools : [];
  const tools = passthrough.tools.length === 0 ? {} : { tools: [...own, ...passthrough.tools] };
  return { ...body, ...passthrough.body, ...tools };
}

const BETAS = "anthropic-beta";

function withBetas(
  own: { [name: string]: string },
  further: { [name: string]: string },
): { [name: string]: string } {
  const betas = [own[BETAS], further[BETAS]].filter((list) => list !== undefined).join(",");
  return {
    ...own,
    ...further,
    ...(betas === "" ? {} : { [BETAS]: [...new Set(betas.split(","))].join(",") }),
  };
}

const STREAM_TYPES = { sse: "text/event-stream", ndjson: "application/x-ndjson" } as const;
const NO_ANSWER_TYPE = "its content type is neither JSON nor an event stream";
/** How a stream of events begins. */
const EVENTS = /^\s*(?::|data:|event:|id:|retry:)/;
const LINES = new Set(["application/x-ndjson", "application/ndjson", "application/jsonl"]);

/** The answer's document, according to its content type. @throws ProviderBadResponse */
async function readAnswer(
  response: Response,
  framing: Wire["framing"],
  reader: StreamReader,
  target: WireTarget,
  options: ExchangeOptions,
): Promise<{ document: unknown; text: string | undefined; streamed: boolean }> {
  const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const declared = framing === "sse" ? type === STREAM_TYPES.sse : LINES.has(type);
  // Some servers declare the stream that Hull asked for as text, or not at all.
  const undeclared = framing === "sse" && options.stream && (type === "" || type === "text/plain");
  if (response.body !== null && (declared || undeclared)) {
    options.onBytes?.();
    let stray = "";
    const onStray = (text: string): void => {
      const begins = undeclared ? !EVENTS.test(text) : text.trimStart().startsWith("{");
      if ((stray !== "" || begins) && stray.length < MAX_ANSWER_BYTES) stray += text;
    };
    try {
      const document = await readStream(response.body, framing, reader, target, { ...options, onStray });
      return { document, text: reader.text?.(), streamed: true };
    } catch (error) {
      // Some servers declare as a stream what comes in one piece: an error, or the whole answer.
      const document = stray === "" ? undefined : parsedJson(stray);
      if (document !== undefined) return { document, text: stray, streamed: false };
      throw undeclared && stray !== "" ? failedAnswer(target, NO_ANSWER_TYPE, stray) : error;
    }
  }
  if (type !== "" && type !== "application/json" && !type.endsWith("+json")) {
    const text = await readBeginning(response);
    throw failedAnswer(target, NO_ANSWER_TYPE, text);
  }
  const text = await readText(response, MAX_ANSWER_BYTES).catch(() => null);
  if (text === null) throw cutOff(target, "it broke off");
  if (text.cut) throw unusable(target, `it is longer than ${MAX_ANSWER_BYTES} bytes`);
  const document = parsedJson(text.value);
  if (document === undefined) {
    const reason = "it is not valid JSON";
    throw isHalf(text.value) ? cutOff(target, reason) : failedAnswer(target, reason, text.value);
  }
  return { document, text: text.value, streamed: false };
}

/** Begins like a document, but does not end like one. */
const isHalf = (text: string): boolean => /^\s*[{[]/.test(text) && !/[}\]]\s*$/.test(text);

/**
 * Feeds a stream to its reader, and stops at its terminal event.
 * @throws ProviderBadResponse if it breaks off, is cut or is too long
 */
export async function readStream(
  body: ReadableStream<Uint8Array>,
  framing: Wire["framing"],
  reader: StreamReader,
  target: WireTarget,
  options: Pick<ExchangeOptions, "signal" | "clock" | "onBytes"> & { onStray?: (text: string) => void },
): Promise<unknown> {
  await readFrames(
    body,
    {
      framing,
      max_event: MAX_ANSWER_BYTES,
      max_bytes: MAX_STREAM_BYTES,
      signal: options.signal,
      clock: options.clock,
      unusable: (reason) => unusable(target, reason),
      cutOff: (reason) => cutOff(target, reason),
      onBytes: options.onBytes,
      ...(options.onStray === undefined ? {} : { onStray: options.onStray }),
    },
    // Gateways keep a connection alive with events whose data is blank.
    (event) => (event.data.trim() !== "" || event.event === "error") && reader.push(event),
  );
  return reader.answer();
}

/** Passes a whole answer to a listener that expected a stream. */
export function announce(turn: ModelTurn, sink: Sink): void {
  for (const block of turn.blocks) {
    const thought = block.type === "reasoning" || block.type === "reasoning_summary";
    if (thought && block.text !== "") sink.onReasoning?.(block.text);
    if (block.type === "output_text" && block.text !== "") sink.onText?.(block.text);
  }
}

/** The beginning of an unusable body. If it cannot be read, the empty text. */
async function readBeginning(response: Response): Promise<string> {
  const text = await readText(response, MAX_ERROR_BYTES).catch(() => null);
  return text?.value ?? "";
}

/** A body as text, at most `limit` bytes of it; cancels the rest. */
async function readText(response: Response, limit: number): Promise<{ value: string; cut: boolean }> {
  if (response.body === null) return { value: "", cut: false };
  const declared =
    response.headers.get("content-encoding") === null ? response.headers.get("content-length") : null;
  if (declared !== null && Number(declared) <= limit) return { value: await response.text(), cut: false };
  const decoder = new TextDecoder();
  let value = "";
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > limit) return { value, cut: true };
    value += decoder.decode(chunk, { stream: true });
  }
  return { value: value + decoder.decode(), cut: false };
}

async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}
