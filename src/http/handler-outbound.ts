/**
 * Makes the requests of handlers to the outside: only to hosts in the tool's list, never to private addresses, and
 * within limits. A redirect goes back to the isolate, which requests the target here again, so every target is checked.
 */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { Bindings } from "../env.ts";
import { lazily } from "../lazily.ts";
import { jsonAnswer } from "./json.ts";

const hostFault = lazily(async () => (await import("../tool/public-host.ts")).hostFault);

/** The exit of the isolates. */
export class HandlerOutbound extends WorkerEntrypoint<Bindings, OutboundProps> {
  override fetch(request: Request): Promise<Response> {
    return fetchOutside(request, this.ctx.props);
  }
}

interface OutboundProps {
  /** `null` means any public host. */
  hosts: string[] | null;
}

/** Time limit for the headers of an answer. */
const TIMEOUT_MS = 60_000;
/** Limit of a body, in either direction. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The answer, or a 403 that says why the request was not made. */
async function fetchOutside(request: Request, { hosts }: OutboundProps): Promise<Response> {
  const url = new URL(request.url);
  const fault = await hostFault(url, hosts);
  if (fault !== null) return refused(`The host ${url.hostname} ${fault}.`);
  const { method, headers, body } = request;
  // A signal also ends the body of an answer, which may come for longer.
  const late = new AbortController();
  const timer = setTimeout(
    () => late.abort(new DOMException("No answer came in time.", "TimeoutError")),
    TIMEOUT_MS,
  );
  const signal = AbortSignal.any([request.signal, late.signal]);
  const sent = body === null ? {} : { body: body.pipeThrough(limited()) };
  const answer = await fetch(url, { method, headers, redirect: "manual", signal, ...sent }).finally(() =>
    clearTimeout(timer),
  );
  const { status, statusText, webSocket } = answer;
  if (webSocket !== null) return refused("WebSockets are not passed on.");
  const content = answer.body?.pipeThrough(limited()) ?? null;
  return new Response(content, { status, statusText, headers: answer.headers });
}

function refused(detail: string): Response {
  const problem = { type: "about:blank", title: "Request refused by Hull", status: 403, detail };
  return jsonAnswer(problem, { status: 403, headers: { "content-type": "application/problem+json" } });
}

function limited(): TransformStream<Uint8Array, Uint8Array> {
  let sum = 0;
  return new TransformStream({
    transform(chunk, controller) {
      sum += chunk.length;
      if (sum <= MAX_BYTES) controller.enqueue(chunk);
      else controller.error(new RangeError(`A body has more than ${MAX_BYTES} bytes.`));
    },
  });
}
