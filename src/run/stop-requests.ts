/** How Hull ends what the runner still does for a run that is over. The Worker's entry loads `runner.ts` without it. */
import { cancelRequest } from "../tool/runner-client.ts";
import type { RunContext } from "./context.ts";
import { runnerEndpoint } from "./runner.ts";

/** Ends what the runner may still be doing for requests. It never rejects. @param name as for `runnerEndpoint` */
export async function stopRequests(
  context: RunContext,
  name: string,
  requests: readonly string[],
): Promise<void> {
  const runner = await runnerEndpoint(context, name).catch(() => null);
  if (runner === null) return;
  for (const request of requests) await cancelRequest(runner, request, Date.now());
}
