/** How long to wait before answering a request that begins a run. */
import type { Wait } from "../session/conversation/rpc.ts";
import { oneOf } from "./parameters.ts";

/** The value of `?wait=`, or `none` for `Prefer: respond-async`; `null`: the default for the run. @throws BadRequest */
export function waitIn(request: Request): Wait | null {
  if (prefersAsync(request)) return "none";
  if (!request.url.includes("wait")) return null;
  return oneOf(new URL(request.url).searchParams, "wait", ["terminal", "idle", "none"]);
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
