/** How a wake changes a daemon's run. Pure. */
import { NOTHING_SPENT } from "../shares.ts";
import type { Wake, WakeReason } from "./records.ts";
import type { AgentSpec } from "./spec.ts";
import { ownSpent } from "./spent.ts";
import type { RunState } from "./state.ts";

/** How much a daemon remembers of its own words and actions: a limit, since it may live for ever. */
const KEPT_CHARACTERS = 128 * 1024;
const KEPT_CALLS = 1000;
const KEPT_FEEDBACK = 100;

/** What can wake a daemon. A run without a session has no files that could change, and nobody can address it. */
export function wakeSources({ daemon, session_id }: AgentSpec): WakeReason[] {
  if (daemon === null) return [];
  const reached: WakeReason[] = session_id === null ? [] : ["message", "event", "resume"];
  if (session_id !== null && daemon.watch_paths.length > 0) reached.push("watch");
  if (daemon.cron !== null) reached.push("cron");
  if (daemon.wake_interval_ms > 0) reached.push("timer");
  return reached;
}

/** A wake: each reason has only some of the parts. */
export const wakeOf = (reason: WakeReason, parts: Partial<Omit<Wake, "reason" | "resumed">> = {}): Wake => ({
  reason,
  feedback: null,
  messages: [],
  watch_paths: [],
  resumed: reason === "resume",
  ...parts,
});

/** Resets counters of a turn and repetitions, which do not add up over several wakes. */
export function wokenRun(run: RunState): RunState {
  const { wakeReached: _, ...rest } = run;
  const { delegated = NOTHING_SPENT } = run;
  return {
    ...rest,
    wakeFrom: { ...ownSpent(run), delegated },
    stage: "open",
    status: "running",
    wakeIterations: 0,
    taken: null,
    calls: [],
    textOnly: 0,
    loop: {},
    texts: latestTexts(run.texts),
    tools_used: run.tools_used.slice(-KEPT_CALLS),
    feedback: run.feedback.slice(-KEPT_FEEDBACK),
  };
}

function latestTexts(texts: readonly string[]): string[] {
  let characters = 0;
  const from = texts.findLastIndex((text) => {
    characters += text.length;
    return characters > KEPT_CHARACTERS;
  });
  return texts.slice(from + 1);
}
