/** How long to wait before answering a request that begins a run. */
import { BadRequest } from "../errors/request.ts";
import type { Wait } from "../session/conversation/rpc.ts";

/** The value of `?wait=`, or `none` for `Prefer: respond-async`; `null`: the default for the run. @throws BadRequest */
export function waitIn(request: Request): Wait | null {
  if (prefersAsync(request)) return "none";
  if (!request.url.includes("wait")) return null;
  const wait = new URL(request.url).searchParams.get("wait");
  if (wait === null || wait === "none" || wait === "terminal" || wait === "idle") return wait;
  throw new BadRequest({ detail: `wait must be terminal, idle or none, not "${wait}".` });
}

/** A quotation without an end takes the rest. */
const QUOTED = /"(?:\\.|[^"\\])*"?/g;

/** Whether the client does not want to wait: `respond-async` is one of its preferences. */
export function prefersAsync({ headers }: Request): boolean {
  const prefer = headers.get("prefer");
  if (prefer === null) return false;
  // Quoted text is the value of some preference.
  return prefer
    .replace(QUOTED, "")
    .split(",")
    .some((one) => /^\s*respond-async\s*(?:[;=]|$)/i.test(one));
}
