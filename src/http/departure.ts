/**
 * Clients that leave local dev before the first byte of their answer. Local workerd does not tell the Worker, but the dev
 * front sees it, and sends a request that names the run.
 */
import type { Deployment } from "../deployment.ts";
import { RUN_ID } from "./run-id.ts";

/** The header of that request. The front lets no client send it. */
const CLIENT_LEFT = "x-hull-client-left";

/** Whether the request is the front's notice; if it is, ends the run that it names. */
export function isNotice({ headers }: Request, { settings, clients }: Deployment): boolean {
  const run = settings.local ? headers.get(CLIENT_LEFT) : null;
  if (run !== null) clients.get(run)?.();
  return run !== null;
}

/** In local dev, the request with a signal that also aborts at the front's notice; else the request itself. */
export function withNotice(request: Request, { settings, clients }: Deployment): Request {
  const run = settings.local ? request.headers.get(RUN_ID) : null;
  if (run === null) return request;
  const { promise, resolve } = Promise.withResolvers<void>();
  const left = new AbortController();
  // The continuation runs in this request, not in the notice, which may not end what this request has begun.
  void promise.then(() => left.abort());
  clients.set(run, resolve);
  return new Request(request, { signal: AbortSignal.any([request.signal, left.signal]) });
}
