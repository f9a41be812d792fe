/** A daemon as its routes return it. */

import type { AgentRecord, WakeReason } from "../../engine/agent/records.ts";
import { entersNextCall } from "../../engine/agent/state.ts";
import { least } from "../../engine/least.ts";
import { pageOfRows } from "../../list-page.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { readEnd } from "../conversation/done.ts";
import type { SessionLog } from "../conversation/session-log.ts";
import type { ConversationStore } from "../conversation/store.ts";
import type { DaemonEvent, DaemonSummary, DaemonWake } from "./answers.ts";
import type { Daemon } from "./daemon.ts";
import type { DaemonRow } from "./store.ts";

/** The most queued events to show, and the most characters of their payloads. */
const SHOWN_EVENTS = 100;
const SHOWN_CHARACTERS = 1024 * 1024;

const iso = (ms: number): string => new Date(ms).toISOString();
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

/** @throws CallNotFound */
export function summaryOf(daemon: Daemon, log: SessionLog): DaemonSummary {
  const row = daemon.settled();
  const id = log.store.session()?.id ?? "";
  const status = daemon.status(row);
  const running = status === "running";
  const pending = daemon.pending(row);
  const inflight = inflightEvent(daemon, row);
  return {
    id,
    name: row.name,
    status,
    session_id: id,
    skill: row.skill ?? daemon.run(row)?.spec.agent ?? null,
    persist_path: row.persist_path,
    snapshot_path: daemon.run(row)?.spec.daemon?.persist_path ?? null,
    run_id: row.run,
    pending_event_count: pending,
    queued_event_count: pending + (inflight === null ? 0 : 1),
    event_queue_capacity: row.capacity,
    daemon_state: daemon.state(row),
    created_at: iso(row.created_at),
    saved_at: isoOrNull(row.saved_at),
    resumes_at: isoOrNull(daemon.resumesAt(row)),
    next_wake_at: running ? isoOrNull(least(row.cron_at, row.timer_at)) : null,
    last_wake:
      row.wake_reason === null || row.wake_at === null
        ? null
        : { reason: row.wake_reason, at: iso(row.wake_at) },
    wake_budget_reached: daemon.run(row)?.wakeReached ?? null,
    pending_wakes: daemon.mayWake(row) ? pendingWakes(row, pending, log) : [],
    ...(inflight === null ? {} : { inflight_event: inflight }),
    ...(running ? {} : endOf(row, log)),
  };
}

/** The beginning of the queue, without the event in flight. */
export function waitingEvents(daemon: Daemon, { inflight }: DaemonRow): DaemonEvent[] {
  const shown: DaemonEvent[] = [];
  let characters = 0;
  for (const event of daemon.store.events(inflight ?? 0)) {
    characters += JSON.stringify(event).length;
    if (shown.length >= SHOWN_EVENTS || characters > SHOWN_CHARACTERS) break;
    shown.push(event);
  }
  return shown;
}

function inflightEvent(daemon: Daemon, { inflight }: DaemonRow): DaemonEvent | null {
  if (inflight === null) return null;
  for (const event of daemon.store.events(inflight - 1)) return event.seq === inflight ? event : null;
  return null;
}

function pendingWakes(row: DaemonRow, events: number, log: SessionLog): WakeReason[] {
  const now = log.now();
  const said = log.state().waiting.some(entersNextCall);
  const wakes: [WakeReason, boolean][] = [
    ["message", said],
    ["event", events > 0],
    ["resume", row.asked_at !== null],
    ["watch", row.watched.length > 0],
    ["cron", row.cron_at !== null && row.cron_at <= now],
    ["timer", row.timer_at !== null && row.timer_at <= now],
  ];
  return wakes.flatMap(([reason, due]) => (due ? [reason] : []));
}

/** Error and result of its last run, if it has ended. */
function endOf(row: DaemonRow, log: SessionLog): { error?: JsonObject; result?: JsonObject } {
  const run = log.store.runs.find(row.run);
  if (run === null) return {};
  const { error, result } = readEnd(log.store, run);
  if (error !== undefined) return run.status === "error" ? { error } : {};
  const { transcript: _, ...short } = result ?? {};
  return { result: short };
}

/** Every row of records that holds a wake contains this text. */
const WOKE = '"type":"woke"';

/**
 * A page of wakes, the newest first.
 * @param before number of a row of records: only the wakes in earlier rows
 */
export function wakesPage(
  store: ConversationStore,
  { before, limit }: { before: number; limit: number },
): { data: DaemonWake[]; next: number | null } {
  const found = store.lastRowsWith(before, WOKE, limit + 1);
  const { data: rows, next_cursor: next } = pageOfRows(found, limit, (seq) => seq);
  return { data: rows.flatMap((seq) => wakeIn(store.records(seq - 1)) ?? []), next };
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
