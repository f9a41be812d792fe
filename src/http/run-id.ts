/** The names of runs that an answer waits for. */
import type { RequestContext } from "./context.ts";

/** The header by which the front of local dev names a run. */
export const RUN_ID = "x-hull-run-id";

/** Names the run. In local dev the front chooses the name, so that it can stop the run if the client leaves. */
export function runId({ request, settings }: RequestContext): string {
  const given = settings.local ? request.headers.get(RUN_ID) : null;
  return given !== null && /^ex_[0-9a-f]{32}$/.test(given)
    ? given
    : `ex_${crypto.randomUUID().replaceAll("-", "")}`;
}
