/** Options that have no effect beside the others, and are told of (agent-runtime.md §0.3). */
import type { Warning } from "../../engine/messages.ts";
import { isObject } from "../../skill/json.ts";
import { listOf, type RunOptions } from "./option-shapes.ts";

/** What only a run that idles looks at. */
const OF_DAEMONS = [
  ...(["persist_path", "resume_path", "wake_interval_ms", "cron", "time_zone", "watch_paths"] as const),
  ...(["watch_events", "consolidate_on_idle", "idle_watchdog_attempts", "wake_budget"] as const),
];

/** @param session `null`: an anonymous run */
export function ignoredOptions(options: RunOptions, session: string | null): Warning[] {
  return [...daemonOptions(options, session), ...skillKeys(options)];
}

function daemonOptions(options: RunOptions, session: string | null): Warning[] {
  if (options.daemon !== true) {
    const given = OF_DAEMONS.filter((name) => options[name] !== undefined);
    return given.map((name) => ignored(name, "it counts with daemon: true only"));
  }
  const watches = session === null && listOf(options.watch_paths).length > 0;
  return watches ? [ignored("watch_paths", "a run without a session has no files")] : [];
}

/** Skills that a request brings along may say which model they are written for. */
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

const ignored = (option: string, why: string): Warning => ({
  code: "option_ignored",
  option,
  message: `${option} has no effect: ${why}.`,
});
