/** Whether dead run attempts made progress, and what clients must discard of their output. */
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { RunEvent } from "../../run/events.ts";
import type { RunRow } from "./run-rows.ts";
import type { SessionLog } from "./session-log.ts";

/** Records that come from outside: they alone do not show that a run progresses. */
const FROM_OUTSIDE: readonly AgentRecord["type"][] = [
  "message_received",
  "feedback_received",
  "approval_decided",
  "client_tool_answered",
  "woke",
];

/** The most events to search for the run's own last one. */
const LOOKED_AT = 100;
const isOwn = ({ data }: RunEvent): boolean => !("parent_run_id" in data);

/** Whether the run attempts since the last recovery made any progress. */
export function madeProgress({ store }: SessionLog, { progress }: RunRow): boolean {
  for (const record of store.records(progress)) if (!FROM_OUTSIDE.includes(record.type)) return true;
  return false;
}

/** Tells clients to discard the partial answer that a dead run attempt sent. */
export function sendRestart({ store, events }: SessionLog): void {
  // Events of delegated runs may come in between.
  const last = store.events(Math.max(0, store.lastEvent() - LOOKED_AT)).findLast(isOwn);
  if (last?.event !== "delta" && last?.event !== "thought") return;
  const { round = 0 } = last.data;
  store.appendEvents([{ event: "round", data: { round, restarted: true } }]);
  events.announce();
}
