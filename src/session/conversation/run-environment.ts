/** What the effects of a session's run may read, store and send. */
import type { RunEnvironment } from "../../run/agent/runtime.ts";
import type { ConversationStore } from "./store.ts";

type Given = "run_id" | "session_id" | "context" | "workspace" | "emit" | "remember" | "prepared";

/** @param given `memo`: as JSON */
export function runEnvironment(
  store: ConversationStore,
  given: Pick<RunEnvironment, Given> & { memo: string | null },
): RunEnvironment {
  const { memo } = given;
  return {
    ...given,
    memo: memo === null ? null : JSON.parse(memo),
    records: (after) => store.records(after),
    lastRecord: () => store.lastRecord(),
    artifact: (id) => store.artifacts.latest(id),
    known: (execution) => store.submitted.known(execution),
    note: (execution, fact) => store.submitted.note(execution, fact),
  };
}
