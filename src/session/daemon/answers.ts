/** What the routes of daemons answer: shapes, of which the Worker uses only the types. */
import * as z from "zod/mini";
import {
  about,
  count,
  document,
  json,
  maybe,
  named,
  object,
  ordinal,
  text,
  texts,
  time,
} from "../../answer-shape.ts";
import { WAKE_REASONS } from "../../engine/agent/records.ts";
import { WAKE_LIMITS } from "../../engine/agent/spec.ts";
import { messageShape } from "../../llm/messages.ts";
import type { TranscriptEvent } from "../../llm/transcript.ts";
import { listedDaemon } from "./listed.ts";

export type DaemonEvent = z.infer<typeof daemonEvent>;
const daemonEvent = z.object({ seq: ordinal(), enqueued_at: time(), payload: json() });
const reason = z.enum(WAKE_REASONS);
const reached = () => z.nullable(z.enum(WAKE_LIMITS));

export type DaemonSummary = z.infer<typeof daemonShape>;
export const daemonShape = named(
  "Daemon",
  z.extend(listedDaemon(), {
    persist_path: about(
      z.nullable(text()),
      "A folder of the session's files; `null`: it is a run of an ordinary session.",
    ),
    skill: about(
      z.nullable(text()),
      "The skill that it runs, and that declares it if a skill does; `null`: it runs none.",
    ),
    created_at: time(),
    session_id: text(),
    run_id: text(),
    snapshot_path: z.nullable(text()),
    pending_event_count: about(count(), "How many events wait, without the event in flight."),
    queued_event_count: about(count(), "How many events wait, with the event in flight."),
    event_queue_capacity: ordinal(),
    daemon_state: about(text(), "`active`, `idle`, or how its run ended."),
    saved_at: z.nullable(time()),
    next_wake_at: z.nullable(time()),
    resumes_at: about(z.nullable(time()), "When Hull resumes the failed daemon; `null`: it does not."),
    last_wake: z.nullable(z.object({ reason, at: time() })),
    wake_budget_reached: about(reached(), "The limit of `wake_budget` that ended its last wake."),
    pending_wakes: about(
      z.array(reason),
      "The reasons that wake it as soon as it is idle, the most urgent first.",
    ),
    inflight_event: maybe(daemonEvent),
    error: maybe(document("Problem")),
    result: maybe(about(object(), "Result of its run without the transcript, once the run has ended.")),
  }),
);

export type DaemonWake = z.infer<typeof daemonWake>;
export const daemonWake = z.object({
  reason,
  at: time(),
  watch_paths: about(texts(), "The changed files that woke it."),
  run_id: text(),
  iterations: about(count(), "Iterations that the wake began."),
  ended_at: about(z.nullable(time()), "`null`: it is not over."),
  daemon_state: about(text(), "`active`, `idle`, or how its run ended."),
  wake_budget_reached: about(reached(), "The limit of `wake_budget` that ended it."),
});

/** The members that the answer shares with a daemon's stored snapshot. */
const snapshot = {
  _type: z.literal("daemon_snapshot"),
  saved_at: z.nullable(time()),
  daemon_state: daemonShape.shape.daemon_state,
  visible_messages: z.array(messageShape),
  recorded_messages: z.array(messageShape),
  transcript_summary: z.nullable(text()),
  transcript_events: z.array(object<TranscriptEvent>()),
  total_text: text(),
  last_iteration_text: text(),
  all_tools_used: texts(),
  rejected_tools: texts(),
  deferred_user_messages: z.array(messageShape),
  total_iterations: count(),
  idle_backoff_ms: count(),
  last_run_exit_code: z.nullable(z.int()),
  watch_state: about(z.record(text(), count()), "The versions of the watched files."),
};
export type StoredSnapshot = z.infer<typeof storedSnapshot>;
const storedSnapshot = z.object(snapshot);

export type DaemonSnapshot = z.infer<typeof daemonSnapshot>;
export const daemonSnapshot = z.extend(daemonShape, {
  ...snapshot,
  pending_events: about(z.array(daemonEvent), "The beginning of its queue, without the event in flight."),
});
