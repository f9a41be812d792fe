/** What is known of a daemon at one time (agent-runtime.md §10.3). */
import { backoff } from "../../engine/daemon/schedule.ts";
import { withRecords } from "../../llm/history.ts";
import { messageJson } from "../../llm/messages.ts";
import { emptyTranscript, newId } from "../../llm/transcript.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { SessionLog } from "../conversation/session-log.ts";
import type { Daemon } from "./daemon.ts";
import { isoOrNull } from "./summary.ts";

/** Rows of records that the history of a snapshot reaches back: a daemon may live for ever. */
const RECENT_ROWS = 2000;

/** The snapshot's document. */
export function snapshotOf(daemon: Daemon, log: SessionLog): JsonObject {
  const row = daemon.row();
  const run = daemon.run(row);
  const { visible, summary, waiting } = log.state();
  const recent = log.store.records(Math.max(0, log.store.lastRecord() - RECENT_ROWS));
  const { messages, events } = withRecords(emptyTranscript(newId()), recent, newId);
  const snapshot = {
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
      .filter(({ delivery }) => delivery === "wait_for_completion")
      .flatMap(({ message }) => messageJson(message)),
    total_iterations: daemon.iterations(row),
    idle_backoff_ms: backoff(row.ticks),
    last_run_exit_code: run?.verification?.exit_code ?? null,
    watch_state: {},
  };
  return JSON.parse(JSON.stringify(snapshot));
}
