/**
 * Sends one message to an MCP server over Streamable HTTP and reads its answer: JSON or events. It follows redirects
 * only to permitted addresses, and limits the answer.
 */
import * as z from "zod/mini";
import { sleep } from "../../at-most.ts";
import { textWithin, wellFormedJson } from "../../bytes.ts";
import { Internal } from "../../errors.ts";
import { readFrames } from "../../model/frames.ts";
import { exactJson } from "../../skill/exact-json.ts";
import { isObject } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { type AllowedHosts, addressFault } from "./address.ts";
import { failed, type Reply } from "./failure.ts";

/** Limit of one answer in any form. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const MAX_REDIRECTS = 3;
/** How many times Hull continues a stream that ended without its answer, and the wait before, in ms, if none is asked for. */
const MAX_CONTINUED = 20;
const CONTINUE_MS = 1000;
/** The longest wait of a timer. */
const MAX_WAIT_MS = 2 ** 31 - 1;
/** Redirects that keep the method and the body. */
const FOLLOWED = new Set([307, 308]);

export interface Wire {
  url: URL;
  /** The server's own headers with their secrets: they go only to its origin. */
  headers: Headers;
  /** `null`: it is a process, which `fetch` reaches without an address. */
  allowed: AllowedHosts | null;
  /** How long a server has to show that it speaks a revision without `initialize`. */
  discover_ms: number;
  fetch: (url: URL, init: RequestInit) => Promise<Response>;
}

interface Sent {
  message: JsonObject;
  /** The arguments of a call as they were sent to Hull: numbers are passed on with all their digits. Absent: none. */
  raw?: string;
  /** Headers of the protocol. */
  headers: Record<string, string>;
  signal: AbortSignal;
  /** Receives what the server sends before it answers. */
  onMessage?: (message: JsonObject) => void;
}

/** A server's answer: `null` if it accepted a message that has no answer. */
export interface Received {
  message: JsonObject | null;
  status: number;
  headers: Headers;
  /** As in `McpFailure`. */
  forgotten?: true;
}

/** Sends one message. Every failure is an outcome, also that of the signal. */
export async function post(wire: Wire, sent: Sent): Promise<Reply<Received>> {
  try {
    const opened = await open(wire, sent);
    return opened.ok ? await read(wire, opened.value, sent) : opened;
  } catch (error) {
    return brokenOff(error, sent.signal) ?? failed("unavailable", "It cannot be reached.");
  }
}

/** The outcome for a caller whose time limit passed, or who gave up; `null`: the error is another one. */
export function brokenOff(error: unknown, { aborted }: AbortSignal): ReturnType<typeof failed> | null {
  const timeout = error instanceof DOMException && error.name === "TimeoutError";
  if (timeout) return failed("timeout", "It took too long.");
  return aborted ? failed("unavailable", "Hull gave up on the call.") : null;
}

/** Sends the message. @param after id of the last event of its answer that came: Hull asks only for the rest */
async function open(
  wire: Wire,
  { message, raw, headers, signal }: Sent,
  after?: string,
): Promise<Reply<Response>> {
  let { url } = wire;
  for (let hops = 0; ; hops++) {
    const fault = wire.allowed === null ? null : addressFault(url, wire.allowed);
    if (fault !== null) return failed("refused", fault);
    const own = url.origin === wire.url.origin ? wire.headers : new Headers();
    const all = new Headers(own);
    for (const [name, value] of Object.entries(headers)) all.set(name, value);
    const request: RequestInit = { method: "GET", headers: all, redirect: "manual", signal };
    if (after === undefined) {
      all.set("content-type", "application/json");
      all.set("accept", "application/json, text/event-stream");
      request.method = "POST";
      request.body =
        raw === undefined ? wellFormedJson(message) : exactJson(message, `{"params":{"arguments":${raw}}}`);
    } else {
      all.set("accept", EVENTS);
      all.set("last-event-id", after);
    }
    const response = await wire.fetch(url, request);
    if (response.status < 300 || response.status >= 400) return { ok: true, value: response };
    await response.body?.cancel();
    const target = response.headers.get("location");
    if (!FOLLOWED.has(response.status) || target === null || !URL.canParse(target, url.href)) {
      return failed("refused", "It redirects in a way that Hull does not follow.", {
        status: response.status,
      });
    }
    if (hops === MAX_REDIRECTS) return failed("refused", `It redirects more than ${MAX_REDIRECTS} times.`);
    url = new URL(target, url);
  }
}

const EVENTS = "text/event-stream";
const typeOf = ({ headers }: Response): string =>
  (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

async function read(wire: Wire, response: Response, sent: Sent): Promise<Reply<Received>> {
  const { message, onMessage } = sent;
  const { status, headers } = response;
  const type = typeOf(response);
  const asked = message.id ?? null;
  if (asked === null || response.body === null) {
    await response.body?.cancel();
    if (status < 300) return { ok: true, value: { message: null, status, headers } };
    return failed("unavailable", `It answered with the status ${status}.`, {
      status,
      ...forgottenBy(status, ""),
    });
  }
  if (type === EVENTS && status < 300) {
    const found = await fromEvents(wire, response.body, asked, sent);
    return found.ok ? { ok: true, value: { message: found.value, status, headers } } : found;
  }
  const text = await textWithin(response.body, MAX_ANSWER_BYTES);
  if (text === null)
    return failed("protocol", `It answered with more than ${MAX_ANSWER_BYTES} bytes.`, { status });
  const messages = type === "application/json" ? messagesIn(text) : [];
  const answer = messages.find((found) => isResponse(found, asked));
  if (answer !== undefined) {
    for (const other of messages) if (other !== answer) onMessage?.(other);
    return { ok: true, value: { message: answer, status, headers, ...forgottenBy(status, "") } };
  }
  // The error lacks the id of its request, e.g. because of a missing header.
  const [only] = messages;
  const refusal = forgottenBy(status, text);
  if (only !== undefined && status >= 400 && errorShape.safeParse(only.error).success) {
    return { ok: true, value: { message: only, status, headers, ...refusal } };
  }
  if (status >= 400)
    return failed("unavailable", `It answered with the status ${status}.`, { status, ...refusal });
  return failed("protocol", "Its answer is not a message of MCP.", { status });
}

/**
 * Whether a server has forgotten the session, e.g. because it was restarted. The protocol's answer is 404 (2025-11-25,
 * "Session Management"); many servers answer 400 and say so. @param text what a server that did not read the request says
 */
const forgottenBy = (status: number, text: string): { forgotten?: true } =>
  status === 404 || (status === 400 && /session|not initiali[sz]ed/i.test(text)) ? { forgotten: true } : {};

export const errorShape = z.lazy(() =>
  z.object({ code: z.number(), message: z.string(), data: z.optional(z.unknown()) }),
);

function isResponse(message: JsonObject, id: Json): boolean {
  return message.id === id && (Object.hasOwn(message, "result") || Object.hasOwn(message, "error"));
}

/** The messages of a JSON text: one, or (2025-03-26) a batch; none if it has another form. */
function messagesIn(text: string): JsonObject[] {
  const value = parsedJson(text);
  return (Array.isArray(value) ? value : [value]).filter(isObject);
}

/** The place in a server's events from which they can be continued. */
interface Place {
  /** `null`: the events have no ids. */
  id: string | null;
  wait_ms: number;
}

/**
 * The answer among events. A server may end a stream before its answer, also on purpose, and send the rest to who asks for
 * what follows an event (2025-11-25, "Resumability and Redelivery").
 */
async function fromEvents(
  wire: Wire,
  first: ReadableStream<Uint8Array>,
  id: Json,
  sent: Sent,
): Promise<Reply<JsonObject>> {
  const place: Place = { id: null, wait_ms: CONTINUE_MS };
  let body = first;
  for (let continued = 0; ; continued++) {
    const found = await oneStream(body, id, sent, place);
    if (found.ok || found.failure.kind !== "unavailable") return found;
    if (place.id === null || continued === MAX_CONTINUED) return failed("protocol", found.failure.message);
    await sleep(Math.min(place.wait_ms, MAX_WAIT_MS), sent.signal);
    sent.signal.throwIfAborted();
    const next = await open(wire, sent, place.id);
    if (!next.ok || next.value.status !== 200 || typeOf(next.value) !== EVENTS || next.value.body === null) {
      if (next.ok) await next.value.body?.cancel();
      return failed("protocol", found.failure.message);
    }
    body = next.value.body;
  }
}

/** The answer in one stream; a failure is `unavailable` if the stream ended without one. */
async function oneStream(
  body: ReadableStream<Uint8Array>,
  id: Json,
  { signal, onMessage }: Sent,
  place: Place,
): Promise<Reply<JsonObject>> {
  let found: JsonObject | null = null;
  let failure = failed("unavailable", "Its events end without an answer.");
  let ended = false;
  const note = (kind: "unavailable" | "protocol", reason: string) => {
    ended = true;
    failure = failed(kind, reason);
    return new Internal({ cause: reason });
  };
  const options = {
    framing: "sse" as const,
    max_event: MAX_ANSWER_BYTES,
    max_bytes: MAX_ANSWER_BYTES,
    signal,
    unusable: (reason: string) => note("protocol", `Hull cannot use its answer: ${reason}.`),
    cutOff: () => note("unavailable", "Its answer broke off."),
    onId: (last: string) => {
      place.id = last === "" ? null : last;
    },
    onRetry: (ms: number) => {
      place.wait_ms = ms;
    },
  };
  try {
    await readFrames(body, options, ({ data, unfinished }) => {
      for (const message of unfinished === true ? [] : messagesIn(data)) {
        if (found === null && isResponse(message, id)) found = message;
        else onMessage?.(message);
      }
      return found !== null;
    });
  } catch (error) {
    if (!ended) throw error;
  }
  return found === null ? failure : { ok: true, value: found };
}
