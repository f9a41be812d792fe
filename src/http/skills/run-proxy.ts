/** Runs a proxy skill: sends the call to an upstream and returns its answer, both as streams. */

import { streamFrom, utf8 } from "../../bytes.ts";
import { UnsupportedMediaType } from "../../errors/request.ts";
import {
  ClientClosedRequest,
  UpstreamRedirectRefused,
  UpstreamTimeout,
  UpstreamUnreachable,
} from "../../errors/run.ts";
import { causeOf, Internal, toHullError } from "../../errors.ts";
import { Redactor } from "../../redact.ts";
import { formatEvent } from "../../run/events.ts";
import { isActive } from "../../run/output-files.ts";
import { logError, problemOf } from "../../run/problem.ts";
import { SentVariables } from "../../run/sent-variables.ts";
import { inSpan } from "../../run/spans.ts";
import { grantsOf } from "../../run/variables.ts";
import type { Manifest, SkillRecord } from "../../skill/manifest.ts";
import { bodyChunks, declaredLength, discardBody } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { accepts, typeOf } from "../media-type.ts";
import { type UpstreamBody, UpstreamReader } from "./proxy-body.ts";
import { proxySettings, returnedHeaders, upstreamHeaders, upstreamUrl } from "./proxy-request.ts";

/** Methods whose requests have no body. */
const BODILESS = ["GET", "HEAD"];

/**
 * Passes the call to the upstream and returns its answer.
 * @param limit bytes of the request's body
 * @param signal aborted when the client goes away
 * @param onEnd called when the upstream's answer is over, unless this function throws
 */
export async function runProxy(
  context: RequestContext,
  record: SkillRecord,
  limit: number,
  signal: AbortSignal,
  onEnd: () => void,
): Promise<Response> {
  const { manifest } = record;
  const { slug } = manifest;
  const proxy = proxySettings(record);
  if (proxy === undefined) throw new Internal({ cause: `the proxy skill ${slug} has no proxy settings` });
  const { request } = context;
  const variables = new SentVariables(context.settings.read, grantsOf(context.settings, record));
  const url = upstreamUrl(proxy, variables, request.url);
  const headers = upstreamHeaders(proxy, variables, request.headers);
  context.redactAlso(new Redactor(variables.used));
  const method = request.method === "HEAD" ? "HEAD" : (proxy.method ?? request.method);
  const call = new AbortController();
  const body = BODILESS.includes(method) ? null : await sentBody(context, manifest, limit, call);
  const started = Date.now();
  // Not the address: it may contain secrets.
  const about = { "hull.skill": slug, "http.request.method": method };
  const upstream = await inSpan(
    context,
    `upstream ${slug}`,
    () => about,
    async (span) => {
      const answer = await reach(url, { method, headers, body, redirect: "manual" }, manifest, call, signal);
      span.set(() => ({ "http.response.status_code": answer.status }));
      return answer;
    },
  );
  context.time("upstream", Date.now() - started);
  if (upstream.status >= 300 && upstream.status < 400 && upstream.status !== 304) {
    await upstream.body?.cancel();
    throw new UpstreamRedirectRefused({ skill: slug });
  }
  const down = returnedHeaders(proxy, upstream.headers, url);
  if (isActive(down.get("content-type") ?? "")) down.set("content-disposition", "attachment");
  const answer = await passDown(upstream, down, context, {
    skill: slug,
    idleMs: manifest.idle_timeout_ms,
    onFault: (error) => logError(error, context),
    onEnd,
  });
  return new Response(answer, { status: upstream.status, headers: down });
}

/**
 * The body for the upstream: what the client sends, as it is, if the skill takes any.
 * @throws UnsupportedMediaType if the skill takes files of other types
 */
async function sentBody(
  context: RequestContext,
  { input, input_mime }: Manifest,
  limit: number,
  call: AbortController,
): Promise<ReadableStream<Uint8Array> | null> {
  const { request } = context;
  if (input === "none") {
    await discardBody(context);
    return null;
  }
  const type = typeOf(request);
  if (request.body !== null && input === "file" && !accepts(input_mime, type))
    throw new UnsupportedMediaType({ type, accepted: input_mime });
  return uploadOf(request, limit, call);
}

/** Sends the request and waits for the upstream's headers; `call` aborts it with its reason. */
async function reach(
  url: URL,
  init: RequestInit,
  { slug, timeout_ms }: Manifest,
  call: AbortController,
  signal: AbortSignal,
): Promise<Response> {
  const leave = (): void => call.abort(new ClientClosedRequest({}));
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  const timer = setTimeout(() => call.abort(new UpstreamTimeout({ skill: slug, timeout_ms })), timeout_ms);
  try {
    const response = await fetch(url, { ...init, signal: call.signal });
    call.signal.throwIfAborted();
    const { status } = response;
    if (status >= 200 && status < 600) return response;
    await response.body?.cancel();
    throw new UpstreamUnreachable({ skill: slug, cause: `it answered with the status ${status}`, status });
  } catch (error) {
    if (call.signal.aborted) throw toHullError(call.signal.reason);
    if (error instanceof UpstreamUnreachable) throw error;
    const cause = causeOf(error);
    throw new UpstreamUnreachable({ skill: slug, cause: withoutAddress(cause, url) });
  } finally {
    clearTimeout(timer);
  }
}

/** Removes an upstream's address, which only the operator may know. */
function withoutAddress(text: string, url: URL): string {
  return text.replace(/https?:\/\/\S+/gi, "[upstream]").replaceAll(url.host, "[upstream]");
}

/**
 * The request's body on its way upstream, within the limit, with its declared length if any. A body that exceeds the
 * limit or breaks off aborts the call: the upstream must not take a part for the whole.
 */
function uploadOf(request: Request, limit: number, call: AbortController): ReadableStream<Uint8Array> | null {
  if (request.body === null) return null;
  const stream = streamFrom(uploaded(request, limit, call));
  const declared = declaredLength(request);
  return declared === null ? stream : stream.pipeThrough(new FixedLengthStream(declared));
}

async function* uploaded(
  request: Request,
  limit: number,
  call: AbortController,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* bodyChunks(request, limit);
  } catch (error) {
    call.abort(toHullError(error));
    throw error;
  }
}

/**
 * The answer's body in a form that reveals an early end: by its length, by a last event, or by an error of the stream.
 * @param down the headers that go with it
 */
async function passDown(
  upstream: Response,
  down: Headers,
  context: RequestContext,
  body: UpstreamBody,
): Promise<ReadableStream<Uint8Array> | null> {
  if (upstream.body === null || [204, 304].includes(upstream.status) || context.request.method === "HEAD") {
    await upstream.body?.cancel();
    body.onEnd();
    return null;
  }
  const reader = new UpstreamReader(upstream.body, body);
  // The length of a compressed body is not that of the text that `fetch` makes of it.
  const coded = upstream.headers.get("content-encoding") !== null;
  const length = coded ? null : upstream.headers.get("content-length");
  if (length !== null) return reader.stream().pipeThrough(new FixedLengthStream(Number(length)));
  if ((upstream.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
    return reader.stream((fault) =>
      utf8(`\n\n${formatEvent(problemOf(toHullError(fault), context), "error")}`),
    );
  }
  // What compresses a text on its way, as the proxy of wrangler does, keeps the pieces until the end.
  down.set("content-encoding", "identity");
  return reader.hold();
}
