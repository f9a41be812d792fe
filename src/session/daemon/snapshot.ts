/** Creates the snapshot of a daemon. */
import { backoff } from "../../engine/daemon/schedule.ts";
import { isWatched } from "../../engine/daemon/watch.ts";
import { messageJson } from "../../llm/messages.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import { allFiles } from "../../run/workspace/all-files.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { StoredSnapshot } from "./answers.ts";
import type { Daemon } from "./daemon.ts";
import { isoOrNull } from "./summary.ts";

/** The most rows of records, and bytes of them, in a snapshot's history: a daemon may live for ever. */
const RECENT_ROWS = 2000;
const RECENT_BYTES = 4 * 1024 * 1024;

/** The snapshot's document. */
export async function snapshotOf(
  daemon: Daemon,
  { log }: Pick<Conversation, "log">,
  files: Pick<WorkspaceAccess, "listFiles">,
): Promise<StoredSnapshot> {
  const { watch_paths = [] } = daemon.run(daemon.row())?.spec.daemon ?? {};
  const watchable = watch_paths.length === 0 ? [] : await allFiles(files);
  const watched = watchable.filter(({ path }) => isWatched({ watch_paths }, path));
  const row = daemon.row();
  const run = daemon.run(row);
  const { visible, summary, waiting } = log.state();
  const after = Math.max(0, log.store.lastRecord() - RECENT_ROWS);
  const { messages, events } = log.told(after, RECENT_BYTES).told.transcript;
  const snapshot: StoredSnapshot = {
    _type: "daemon_snapshot",
    saved_at: isoOrNull(row.saved_at),
    daemon_state: daemon.state(row),
    visible_messages: visible.flatMap(messageJson),
    recorded_messages: messages,
    transcript_summary: summary,
    transcript_events: events,
    total_text: run?.texts.join("") ?? "",
    last_iteration_text: run?.texts.at(-1) ?? "",
    all_tools_used: run?.tools_used ?? [],
    rejected_tools: run?.rejected_tools ?? [],
    deferred_user_messages: waiting
      .filter(({ delivery, at_rest }) => delivery === "wait_for_completion" && at_rest === undefined)
      .flatMap(({ message }) => messageJson(message)),
    total_iterations: daemon.iterations(row),
    idle_backoff_ms: backoff(row.ticks),
    last_run_exit_code: run?.verification?.exit_code ?? null,
    watch_state: Object.fromEntries(watched.map(({ path, version }) => [path, version])),
  };
  return log.answered(snapshot);
}
