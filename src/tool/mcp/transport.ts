/**
 * Sends one message to an MCP server over Streamable HTTP and reads its answer: JSON or events. It follows redirects
 * only to permitted addresses, and limits the answer.
 */
import * as z from "zod/mini";
import { textWithin } from "../../bytes.ts";
import { Internal } from "../../errors.ts";
import { readFrames } from "../../model/frames.ts";
import { exactJson } from "../../skill/exact-json.ts";
import { parsedObject } from "../../skill/json-depth.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { type AllowedHosts, addressFault } from "./address.ts";
import { failed, type Reply } from "./failure.ts";

/** Limit of one answer in any form. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const MAX_REDIRECTS = 3;
/** Redirects that keep the method and the body. */
const FOLLOWED = new Set([307, 308]);

export interface Wire {
  url: URL;
  /** The server's own headers with their secrets: they go only to its origin. */
  headers: Headers;
  allowed: AllowedHosts;
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
}

/** Sends one message. Every failure is an outcome, also that of the signal. */
export async function post(wire: Wire, sent: Sent): Promise<Reply<Received>> {
  try {
    const opened = await open(wire, sent);
    return opened.ok ? await read(opened.value, sent) : opened;
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

async function open(wire: Wire, { message, raw, headers, signal }: Sent): Promise<Reply<Response>> {
  let { url } = wire;
  for (let hops = 0; ; hops++) {
    const fault = addressFault(url, wire.allowed);
    if (fault !== null) return failed("refused", fault);
    const own = url.origin === wire.url.origin ? wire.headers : new Headers();
    const all = new Headers(own);
    for (const [name, value] of Object.entries(headers)) all.set(name, value);
    all.set("content-type", "application/json");
    all.set("accept", "application/json, text/event-stream");
    const body =
      raw === undefined ? JSON.stringify(message) : exactJson(message, `{"params":{"arguments":${raw}}}`);
    const response = await wire.fetch(url, {
      method: "POST",
      headers: all,
      body,
      redirect: "manual",
      signal,
    });
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

async function read(response: Response, { message, signal, onMessage }: Sent): Promise<Reply<Received>> {
  const { status, headers } = response;
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const asked = message.id ?? null;
  if (asked === null || response.body === null) {
    await response.body?.cancel();
    if (status < 300) return { ok: true, value: { message: null, status, headers } };
    return failed("unavailable", `It answered with the status ${status}.`, { status });
  }
  if (type === "text/event-stream" && status < 300) {
    const found = await fromEvents(response.body, asked, signal, onMessage);
    return found.ok ? { ok: true, value: { message: found.value, status, headers } } : found;
  }
  const text = await textWithin(response.body, MAX_ANSWER_BYTES);
  if (text === null)
    return failed("protocol", `It answered with more than ${MAX_ANSWER_BYTES} bytes.`, { status });
  const answer = type === "application/json" ? parsedObject(text) : null;
  if (answer !== null && isResponse(answer, asked))
    return { ok: true, value: { message: answer, status, headers } };
  // The error lacks the id of its request, e.g. because of a missing header.
  if (answer !== null && status >= 400 && errorShape.safeParse(answer.error).success) {
    return { ok: true, value: { message: answer, status, headers } };
  }
  if (status >= 400) return failed("unavailable", `It answered with the status ${status}.`, { status });
  return failed("protocol", "Its answer is not a message of MCP.", { status });
}

export const errorShape = z.lazy(() =>
  z.object({ code: z.number(), message: z.string(), data: z.optional(z.unknown()) }),
);

function isResponse(message: JsonObject, id: Json): boolean {
  return message.id === id && (Object.hasOwn(message, "result") || Object.hasOwn(message, "error"));
}

async function fromEvents(
  body: ReadableStream<Uint8Array>,
  id: Json,
  signal: AbortSignal,
  onMessage: Sent["onMessage"],
): Promise<Reply<JsonObject>> {
  let found: JsonObject | null = null;
  let fault: string | null = null;
  const note = (reason: string) => {
    fault ??= reason;
    return new Internal({ cause: reason });
  };
  const options = {
    framing: "sse" as const,
    max_event: MAX_ANSWER_BYTES,
    max_bytes: MAX_ANSWER_BYTES,
    signal,
    unusable: (reason: string) => note(`Hull cannot use its answer: ${reason}.`),
    cutOff: () => note("Its answer broke off."),
  };
  try {
    await readFrames(body, options, ({ data, unfinished }) => {
      const message = data === "" || unfinished === true ? null : parsedObject(data);
      if (message === null) return false;
      if (isResponse(message, id)) found = message;
      else onMessage?.(message);
      return found !== null;
    });
  } catch (error) {
    if (fault === null) throw error;
  }
  if (found !== null) return { ok: true, value: found };
  return failed("protocol", fault ?? "Its events end without an answer.");
}
