/** The settings of a task for tests. */
import type { TaskSettings } from "../../src/run/task/handle.ts";
import { NOTHING_ASKED } from "../../src/run/task/sub-agent.ts";

/** Of a sub-agent that digs. @param parent id of the session above */
export function settingsOf(parent: string): TaskSettings {
  return {
    name: "digger",
    task: "Dig.",
    mode: "sub_agent",
    request: { ...NOTHING_ASKED, task: "Dig.", system: null },
    stage: null,
    carry: {
      artifact_mode: "inherit",
      transcript_mode: "inherit",
      context_policy: {},
      persist_state: false,
      retriggerable: false,
      policy: null,
    },
    execution: null,
    artifacts: [],
    parent: { session_id: parent, run_id: null, task_id: null },
    token_budget: null,
  };
}
