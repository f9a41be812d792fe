/** Options of a run that have no effect together with its other options. The result names them. */
import { strategyFault } from "../../engine/agent/skills.ts";
import type { Warning } from "../../engine/messages.ts";
import type { CallOptions } from "../../llm/options.ts";
import { readStructured } from "../../llm/structured.ts";
import { isObject } from "../../skill/json.ts";
import { listOf, type RunOptions } from "./option-shapes.ts";

const OF_DAEMONS = [
  ...(["wake_interval_ms", "cron", "time_zone", "watch_paths", "watch_events", "wake_budget"] as const),
  ...(["consolidate_on_idle", "idle_watchdog_attempts", "persist_path", "resume_path"] as const),
];
const OF_PERSISTENT = ["done_sentinel", "exit_when_verified", "break_unless_phase"] as const;

/**
 * @param session `null`: an anonymous run
 * @param skills number of the run's skills
 */
export function ignoredOptions(
  options: RunOptions,
  call: CallOptions,
  { session, skills }: { session: string | null; skills: number },
): Warning[] {
  const found: Warning[] = [];
  const given = (names: readonly (keyof RunOptions)[], why: string): void => {
    for (const name of names)
      if (options[name] !== undefined && options[name] !== false) found.push(ignored(name, why));
  };
  if (options.daemon !== true) given(OF_DAEMONS, "the run is not a daemon");
  else {
    if (options.auto_compact === false) given(["consolidate_on_idle"], "auto_compact is false");
    const why = "a run without a session has no files";
    if (session === null && listOf(options.watch_paths).length > 0) given(["watch_paths"], why);
    if (session === null) given(["persist_path"], why);
  }
  if (options.persistent !== true) given(OF_PERSISTENT, "the run is not persistent");
  if (options.turn_policy !== undefined) given(["nudge"], "turn_policy has words of its own");
  if (options.context_callback !== undefined) given(["context_filter"], "context_callback is given");
  if (options.task_ledger !== undefined) given(["deliverables"], "task_ledger is given");
  if (options.task_ledger === undefined && options.deliverables === undefined)
    given(["root_task"], "the run has neither task_ledger nor deliverables");
  for (const name of ["schema_retries", "schema_retry_nudge"] as const)
    if (call[name] !== undefined && readStructured(call) === null)
      found.push(ignored(name, "no structured output is asked for"));
  // With skills, the match tells of it.
  const strategy = skills > 0 ? null : strategyFault(options.skill_match?.strategy ?? "auto");
  if (strategy !== null) found.push(ignored("skill_match.strategy", strategy));
  return [...found, ...skillKeys(options)];
}

/** Warnings about skills in the request that name the model for which they are written. */
function skillKeys({ skills }: RunOptions): Warning[] {
  const list = isObject(skills) ? (skills.skills ?? skills) : (skills ?? []);
  return [list]
    .flat()
    .flatMap((skill, index) =>
      isObject(skill)
        ? ["model", "effort"]
            .filter((key) => skill[key] !== undefined)
            .map((key) => ignored(`skills.${index}.${key}`, "a run has one model, that of its own options"))
        : [],
    );
}

export const ignored = (option: string, why: string): Warning => ({
  code: "option_ignored",
  option,
  message: `${option} has no effect: ${why}.`,
});
