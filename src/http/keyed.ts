/**
 * `Idempotency-Key` for routes whose answer the Worker makes itself: Hull stores the first request's answer for a day,
 * and every repetition receives it. If the client of the first request leaves, the request continues as long as the
 * platform permits.
 */

import { join, sha256 } from "../bytes.ts";
import { BadRequest, IdempotencyKeyReused } from "../errors/request.ts";
import { AnswerLost, ClientClosedRequest } from "../errors/run.ts";
import { toHullError } from "../errors.ts";
import { logFault } from "../log.ts";
import { once } from "../memo.ts";
import {
  type AnswerHead,
  claimAnswer,
  keepAnswer,
  noteEffects,
  type OwnClaim,
  RENEW_MS,
  releaseClaim,
  renewClaim,
} from "../registry/kept-answers/rows.ts";
import { declaredLength, readBody } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { formParts } from "./form.ts";
import { callName, idempotencyKey, requestHash } from "./idempotency.ts";
import { isForm } from "./media-type.ts";
import type { Handler, Params } from "./routes.ts";
import { dialectOf } from "./v1/dialect.ts";
import { errorResponse } from "./v1/errors.ts";

/**
 * A larger body is not read twice, so its key has no effect. The limit is 32 MiB for a file, plus the form around it.
 */
const MAX_KEYED_BYTES = 32 * 1024 * 1024 + 64 * 1024;
/** How often a request checks for the first one's answer, in ms; the wait doubles. */
const POLL_MS = { first: 50, most: 1000 };

/**
 * A handler that runs once for all requests with the same key. If its process dies or it fails, a request begins again, in
 * another process too, unless it has called `beforeEffects`. What it creates before has an id from `madeId`, so that it
 * finds what an earlier attempt made.
 * @param options `ownKeys`: whether the handler itself handles the key of a request with this body. `effects`: a request
 * does not begin again once its process has died
 */
export function keyed(
  handle: Handler,
  {
    ownKeys = () => false,
    effects = false,
  }: { ownKeys?: (body: Uint8Array) => boolean; effects?: boolean } = {},
): Handler {
  return async (context, params) => {
    const key = idempotencyKey(context.request);
    if (key === null || (declaredLength(context.request) ?? 0) > MAX_KEYED_BYTES)
      return handle(context, params);
    const bytes = await readBody(context.request, MAX_KEYED_BYTES);
    if (ownKeys(bytes)) {
      const { signal } = context.request;
      const inner = context.within(new Request(copyOf(context.request, bytes), { signal }));
      inner.route = context.route;
      const response = await handle(inner, params);
      context.finished = inner.finished;
      return response;
    }
    const name = await callName(context, key, `POST ${pathOf(context.route, params)}`);
    const request_hash = await requestHash(context, await contentHash(copyOf(context.request, bytes), bytes));
    const wanted = { name, request_hash, effects };
    for (let wait = POLL_MS.first; ; wait = Math.min(wait * 2, POLL_MS.most)) {
      const claimed = await claimAnswer(context.env, wanted);
      switch (claimed.state) {
        case "claimed": {
          const work = (inner: RequestContext) => handle(inner, params);
          const answer = firstAnswer(context, claimed.claim, work, bytes);
          // The request continues when its client leaves.
          context.background(answer.catch(() => {}));
          return answer;
        }
        case "answered":
          return replayed(claimed.head, claimed.body);
        case "other_request":
          throw new IdempotencyKeyReused({ key });
        case "lost":
          throw new AnswerLost({});
      }
      if (context.request.signal.aborted) throw new ClientClosedRequest({});
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  };
}

/** The path of a request to a route. @param params the values of the route's parameters */
const pathOf = (route: string, params: Params): string =>
  route.replace(/:(\w+)/g, (named, name) => encodeURIComponent(params[name] ?? named));

function replayed({ status, headers }: AnswerHead, body: Uint8Array<ArrayBuffer>): Response {
  const all = new Headers(headers);
  all.set("x-hull-replayed", "1");
  return new Response(body, { status, headers: all });
}

/** The request with its body restored; it does not notice that the client leaves. */
const copyOf = ({ url, method, headers }: Request, body: Uint8Array<ArrayBuffer>): Request =>
  new Request(url, { method, headers, body });

/** A hash of the content. It does not depend on how a form is split into parts. */
async function contentHash(request: Request, bytes: Uint8Array): Promise<string> {
  if (!isForm(request)) return sha256(bytes);
  const parts: (string | null)[][] = [];
  try {
    for await (const { name, filename, type, body } of formParts(request, MAX_KEYED_BYTES)) {
      const pieces = await Array.fromAsync(body, (piece) => new Uint8Array(piece));
      parts.push([name, filename, type, await sha256(join(pieces))]);
    }
  } catch (error) {
    // The handler will refuse the form with its own message.
    if (error instanceof BadRequest) return sha256(bytes);
    throw error;
  }
  return sha256(JSON.stringify(parts));
}

/** Does the work of the first request with a key. */
async function firstAnswer(
  context: RequestContext,
  claim: OwnClaim,
  handle: (context: RequestContext) => Promise<Response> | Response,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Response> {
  const { env, log } = context;
  /** The code in the log before the request: an earlier message of its batch may have failed. */
  const codeBefore = log.code;
  let effects = false;
  const inner = context.within(copyOf(context.request, bytes));
  inner.route = context.route;
  inner.attempt = claim.first;
  inner.beforeEffects = once(async () => {
    if (!(await noteEffects(env, claim))) throw new AnswerLost({});
    // Not before: if this failed, nothing has happened, and the next request with the key begins again.
    effects = true;
  });
  const renewing = setInterval(() => context.background(renewClaim(env, claim).catch(() => {})), RENEW_MS);
  /**
   * Stores the answer, or releases the key after a failure, if the request may be repeated under it. A stream that failed
   * has logged the code of its error. If this fails, the client still gets the answer, and a repetition finds a process
   * that is gone.
   */
  const settle = async ({ status, headers }: Response, body: Uint8Array): Promise<void> => {
    const failed = status >= 400 || log.code !== codeBefore;
    const settled =
      failed && !effects
        ? releaseClaim(env, claim, status >= 400 && status < 500)
        : keepAnswer(env, claim, { status, headers: [...headers] }, body);
    await settled.catch((error: unknown) => {
      logFault(context, { event: "answer_not_kept" }, error);
    });
  };
  const settled = (): void => clearInterval(renewing);
  try {
    const response = await handle(inner);
    context.finished = inner.finished;
    if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
      const body = new Uint8Array(await response.arrayBuffer());
      await settle(response, body).finally(settled);
      return new Response(body, response);
    }
    const [shown, kept] = (response.body ?? new Blob([]).stream()).tee();
    const whole = new Response(kept).arrayBuffer();
    context.background(whole.then((body) => settle(response, new Uint8Array(body))).finally(settled));
    return new Response(shown, response);
  } catch (thrown) {
    settled();
    const error = toHullError(thrown);
    context.namesProvider = inner.namesProvider;
    const refusal = errorResponse(error, inner, dialectOf(inner));
    await settle(refusal, new Uint8Array(await refusal.arrayBuffer()));
    throw error;
  }
}
