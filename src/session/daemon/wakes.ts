/** The wakes of a daemon: what woke it, and what came of it. */
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { ConversationStore } from "../conversation/store.ts";
import type { DaemonWake } from "./answers.ts";

/** Every row of records that holds a wake contains this text. */
const WOKE = '"type":"woke"';

const iso = (ms: number): string => new Date(ms).toISOString();

/**
 * A page of wakes, the newest first.
 * @param before number of a row of records: only the wakes in earlier rows
 */
export function wakesPage(
  store: ConversationStore,
  { before, limit }: { before: number; limit: number },
): { data: DaemonWake[]; next: number | null } {
  const rows = store.lastRowsWith(before, WOKE, limit + 1);
  const shown = rows.slice(0, limit);
  const data = shown.flatMap((seq) => wakeIn(store.records(seq - 1)) ?? []);
  return { data, next: rows.length > limit ? (shown.at(-1) ?? null) : null };
}

/** The first wake in these records, up to the next one; `null`: they hold none. */
function wakeIn(records: Iterable<AgentRecord>): DaemonWake | null {
  let wake: DaemonWake | null = null;
  for (const record of records) {
    if (record.type === "woke") {
      if (wake !== null) return wake;
      const { reason, watch_paths } = record.wake;
      const yet = { iterations: 0, ended_at: null, daemon_state: "active", wake_budget_reached: null };
      wake = { reason, at: iso(record.at), watch_paths, run_id: record.run, ...yet };
    } else if (wake === null) continue;
    else if (record.type === "iteration_started") wake.iterations += 1;
    else if (record.type === "went_idle") {
      const { at, reached = null } = record;
      return { ...wake, ended_at: iso(at), daemon_state: "idle", wake_budget_reached: reached };
    } else if (record.type === "run_settled") {
      return { ...wake, ended_at: iso(record.at), daemon_state: record.status };
    }
  }
  return wake;
}
