/** Answers and streams for callers whose key was revoked meanwhile, or whose browser signed out. */
import { Unauthenticated } from "../errors/request.ts";
import type { RequestContext } from "./context.ts";
import { isEventStream } from "./sse.ts";

/** How often a stream asks, in ms. Hull promises that a revoked key stops working within 10 s. */
const CHECK_MS = 5000;

/** @throws Unauthenticated if the caller of a request that may have waited is no longer admitted */
export async function checkAdmitted({ stillAdmitted }: RequestContext): Promise<void> {
  if (stillAdmitted === null || (await stillAdmitted())) return;
  throw new Unauthenticated({
    reason: "This API key was revoked, or its sign-in ended, during the request.",
  });
}

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
