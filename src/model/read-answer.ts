/** Reads a provider's answer, whichever way it comes: a stream of events, or a document in one piece. */

import { parsedJson } from "../skill/json-depth.ts";
import type { Clock } from "./clock.ts";
import { readFrames } from "./frames.ts";
import { cutOff, failedAnswer, unusable } from "./provider-document.ts";
import type { StreamReader, Wire, WireTarget } from "./wire.ts";

/** Limit of an answer in one piece, and of one event. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Limit of a stream: a token takes some hundred bytes. The kept part of it has its own limit. */
const MAX_STREAM_BYTES = 128 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

const NO_ANSWER_TYPE = "its content type is neither JSON nor an event stream";
/** How a stream of events begins. */
const EVENTS = /^\s*(?::|data:|event:|id:|retry:)/;
/** Where an object begins, perhaps after the comments by which a gateway kept the connection alive. */
const OBJECT = /^[ \t]*\{/m;
const LINES = new Set(["application/x-ndjson", "application/ndjson", "application/jsonl"]);

/** The content type that each framing declares. */
export const STREAM_TYPES = { sse: "text/event-stream", ndjson: "application/x-ndjson" } as const;

export interface ReadOptions {
  /** Aborts when nobody needs the answer any more. */
  signal: AbortSignal;
  /** Default: the system's. */
  clock?: Pick<Clock, "after"> | undefined;
  /** Called at the beginning of a stream and for every piece of it. */
  onBytes?: (() => void) | undefined;
}

interface AnswerReader {
  framing: Wire["framing"];
  reader: StreamReader;
  target: WireTarget;
}

/** The document of an answer, and the JSON text that it came as; absent: unknown. */
interface Answer {
  document: unknown;
  text: string | undefined;
  /** The sink of the reader has received the answer. */
  streamed: boolean;
}

/**
 * The answer's document, according to its content type.
 * @param stream whether Hull asked for a stream
 * @throws ProviderBadResponse
 */
export async function readAnswer(
  response: Response,
  how: AnswerReader,
  options: ReadOptions & { stream: boolean },
): Promise<Answer> {
  const { framing, target } = how;
  const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const declared = framing === "sse" ? type === STREAM_TYPES.sse : LINES.has(type);
  // Some servers declare the stream that Hull asked for as text, or not at all.
  const undeclared = framing === "sse" && options.stream && (type === "" || type === "text/plain");
  if (response.body !== null && (declared || undeclared)) {
    return readEvents(response.body, declared, how, options);
  }
  if (type !== "" && type !== "application/json" && !type.endsWith("+json")) {
    throw failedAnswer(target, NO_ANSWER_TYPE, await readBeginning(response));
  }
  return readDocument(response, target);
}

/** Reads a stream, or what comes in one piece although it should be one: an error, or the whole answer. */
async function readEvents(
  body: ReadableStream<Uint8Array>,
  declared: boolean,
  { framing, reader, target }: AnswerReader,
  options: ReadOptions,
): Promise<Answer> {
  options.onBytes?.();
  let early = "";
  const onStray = (text: string): void => {
    if (early.length < MAX_ANSWER_BYTES) early += text;
  };
  try {
    const document = await readStream(body, framing, reader, target, { ...options, onStray });
    return { document, text: reader.text?.(), streamed: true };
  } catch (error) {
    const text = early.slice(Math.max(0, early.search(OBJECT)));
    const document = parsedJson(text);
    if (document !== undefined) return { document, text, streamed: false };
    throw declared || early === "" || EVENTS.test(early)
      ? error
      : failedAnswer(target, NO_ANSWER_TYPE, early);
  }
}

async function readDocument(response: Response, target: WireTarget): Promise<Answer> {
  const text = await readText(response, MAX_ANSWER_BYTES).catch(() => null);
  if (text === null) throw cutOff(target, "it broke off");
  if (text.cut) throw unusable(target, `it is longer than ${MAX_ANSWER_BYTES} bytes`);
  const document = parsedJson(text.value);
  if (document !== undefined) return { document, text: text.value, streamed: false };
  const reason = "it is not valid JSON";
  throw isHalf(text.value) ? cutOff(target, reason) : failedAnswer(target, reason, text.value);
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
  options: ReadOptions & { onStray?: (text: string) => void },
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

/** The beginning of an unusable body. If it cannot be read, the empty text. */
export async function readBeginning(response: Response): Promise<string> {
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
