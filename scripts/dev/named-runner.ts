/** Whether the runner that hull.toml names takes work. */
import { reasonOf } from "../system-error.ts";

/** How long it may take to answer, in ms. */
const ANSWER_MS = 5000;

interface RunnerFault {
  message: string;
  remedy: string;
}

/** Why it takes none; `null`: it does. @param stop ends the question, with any answer */
export async function namedRunnerFault(url: string, stop?: AbortSignal): Promise<RunnerFault | null> {
  const limit = AbortSignal.timeout(ANSWER_MS);
  const signal = stop === undefined ? limit : AbortSignal.any([limit, stop]);
  const remedy = "Start it, or remove runner.url of hull.toml: hull dev then starts a runner itself.";
  try {
    const response = await fetch(`${url.replace(/\/$/, "")}/readyz`, { signal });
    await response.body?.cancel();
    if (response.ok) return null;
    return { message: `the runner ${url} of hull.toml answers ${response.status}`, remedy };
  } catch (error) {
    const why = limit.aborted ? "no answer in time" : reasonOf(error);
    return { message: `the runner ${url} of hull.toml does not answer: ${why}`, remedy };
  }
}
