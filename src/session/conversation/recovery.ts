/** How far the dead run attempts got. */
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { RunEvent } from "../../run/events.ts";
import type { RunRow } from "./run-rows.ts";
import type { SessionLog } from "./session-log.ts";

/** Records from outside: a run that gets only these makes no progress. */
const FROM_OUTSIDE: readonly AgentRecord["type"][] = [
  "message_received",
  "feedback_received",
  "approval_decided",
  "client_tool_answered",
  "woke",
];

/** The most events to search for the last one of the run itself. */
const LOOKED_AT = 100;
const isOwn = ({ data }: RunEvent): boolean => !("parent_run_id" in data);

/** Whether the run attempts since the last recovery made any progress. */
export function madeProgress({ store }: SessionLog, { progress }: RunRow): boolean {
  for (const record of store.records(progress)) {
    if (!FROM_OUTSIDE.includes(record.type)) return true;
  }
  return false;
}

/** A run attempt that died during a model's answer has sent a part of it, which is now void. */
export function sendRestart({ store, events }: SessionLog): void {
  // Events of a delegated run come in between.
  const last = store.events(Math.max(0, store.lastEvent() - LOOKED_AT)).findLast(isOwn);
  if (last?.event !== "delta" && last?.event !== "thought") return;
  const { round = 0 } = last.data;
  store.appendEvent({ event: "round", data: { round, restarted: true } });
  events.announce();
}
