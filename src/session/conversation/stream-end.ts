/**
 * Where the stream of a run's events ends: with the run, when the run rests, or with the whole answer of the route that
 * began it.
 */
import type { RunEvent } from "../../run/events.ts";
import { defined } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { Ending } from "../event-log.ts";
import type { StreamUntil } from "./rpc.ts";
import type { Runs } from "./runs.ts";
import type { SessionLog } from "./session-log.ts";
import { runAnswer } from "./views.ts";

interface Streamed {
  log: SessionLog;
  runs: Runs;
  /** What the route that began the run answers instead of the run's result; `null`: the result. */
  answerOf: (run: string) => JsonObject | null;
}

/** A last event's data with this answer. */
export const answeredBy = (answer: JsonObject, { data }: RunEvent): object => ({
  ...("ok" in data ? { ok: data.ok } : {}),
  ...answer,
});

export function streamEnd(streamed: Streamed, run_id: string, until: StreamUntil): Ending {
  const last = ({ event }: RunEvent): boolean => event === "done";
  if (until === "answer")
    return {
      last,
      data: (event) => {
        const answer = streamed.answerOf(run_id);
        return answer === null ? event.data : answeredBy(answer, event);
      },
    };
  const { run } = streamed.log.state();
  const daemon = run !== null && run.spec.run_id === run_id && run.spec.daemon !== null;
  const rests = until === "rest" || (until === "usual" && daemon);
  return rests ? { last, rest: atRest(streamed, run_id) } : { last };
}

/** Returns, once the run rests, a last event with its present result. */
function atRest({ log, runs }: Streamed, run_id: string): () => RunEvent | null {
  let resting: RunEvent | null = null;
  const wait = async (): Promise<void> => {
    for (;;) {
      await runs.wait(run_id, "idle");
      const row = runs.row(run_id);
      if (row.settled_at !== null) return;
      const { result, awaiting, approvals } = runAnswer(log, row);
      // Something else may have woken the run by now.
      if (result === undefined) continue;
      resting = { event: "done", data: { ok: true, ...result, ...defined({ awaiting, approvals }) } };
      log.events.announce();
      return;
    }
  };
  // When a session is removed, it ends its streams itself.
  wait().catch(() => {});
  return () => resting;
}
