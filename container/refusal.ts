/** The runner's refusals: a status, a `refusal` body (protocol.ts) and, if waiting helps, `Retry-After`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Refusal } from "../src/tool/protocol.ts";

const STATUS: Record<Refusal["code"], number> = {
  bad_request: 400,
  unauthenticated: 401,
  not_found: 404,
  execution_not_found: 404,
  execution_conflict: 409,
  execution_lost: 502,
  bundle_missing: 424,
  bundle_invalid: 422,
  workspace_missing: 424,
  workspace_invalid: 422,
  runner_busy: 503,
  runner_draining: 503,
  concurrency_limited: 429,
  client_closed_request: 499,
  internal: 500,
};

export class Refused extends Error {
  override name = "Refused";
  readonly refusal: Refusal;
  readonly status: number;

  constructor(
    code: Refusal["code"],
    detail: string,
    further: Pick<Refusal, "retry_after_s" | "digest"> = {},
  ) {
    super(detail);
    this.refusal = { code, detail, ...further };
    this.status = STATUS[code];
  }
}

/** The rest of a refused request's body is dropped for at most this long; then the connection is cut. */
const LINGER_MS = 5000;

/**
 * Sends a whole answer, even if the request's body was not read. The rest of the body is read and dropped, so that the
 * connection stays usable: closing it immediately could destroy the answer on its way. `body` is JSON text or "".
 */
export function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  response.writeHead(status, {
    ...(body === "" ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    ...headers,
  });
  response.end(body);
  if (request.complete) return;
  request.unpipe();
  request.resume();
  const timer = setTimeout(() => request.socket.destroy(), LINGER_MS).unref();
  request.once("close", () => clearTimeout(timer));
}

export function refuse(request: IncomingMessage, response: ServerResponse, refused: Refused): void {
  const retry = refused.refusal.retry_after_s;
  const headers: Record<string, string> = retry === undefined ? {} : { "retry-after": String(retry) };
  answer(request, response, refused.status, JSON.stringify(refused.refusal), headers);
}
