/** Ends the streams of callers whose key was revoked, or whose browser signed out. */
import type { RequestContext } from "./context.ts";
import { isEventStream } from "./sse.ts";

/** How often a stream asks, in ms. Hull promises that a revoked key stops working within 10 s. */
const CHECK_MS = 5000;

/** The response; if it is a stream of events, it breaks off once its caller is no longer admitted. */
export function whileAdmitted(context: RequestContext, response: Response): Response {
  const { stillAdmitted, background } = context;
  if (stillAdmitted === null || response.body === null || !isEventStream(response)) return response;
  const over = new AbortController();
  const check = async (): Promise<void> => {
    // A client whose key is valid resumes a stream that ended because Hull could not ask.
    if (!(await stillAdmitted().catch(() => false))) over.abort();
  };
  const timer = setInterval(() => background(check()), CHECK_MS);
  const { readable, writable } = new IdentityTransformStream();
  const sent = response.body.pipeTo(writable, { signal: over.signal });
  const stop = (): void => clearInterval(timer);
  background(sent.then(stop, stop));
  return new Response(readable, response);
}
