/** The options of a daemon, with their defaults. */
import type { DaemonOptions } from "../../engine/agent/spec.ts";
import { refused } from "../../llm/prepare.ts";
import { isTimeZone, parseCron } from "../../skill/cron.ts";
import { writeFault } from "../../tool/workspace-path.ts";
import { listOf, type RunOptions } from "./option-shapes.ts";

/**
 * @param session `null`: an anonymous run, which has no files
 * @throws InputInvalid for an invalid schedule, and for paths that no file of a session can have
 */
export function daemonOptions(options: RunOptions, session: string | null): DaemonOptions {
  const { cron = null, time_zone = "UTC" } = options;
  const parsed = cron === null ? null : parseCron(cron);
  const path = "options.cron";
  if (parsed !== null && "fault" in parsed) {
    throw refused([{ path, message: `${path}: "${cron}" ${parsed.fault}` }]);
  }
  if (!isTimeZone(time_zone)) {
    const at = "options.time_zone";
    throw refused([{ path: at, message: `${at}: "${time_zone}" is no time zone, e.g. Europe/Berlin` }]);
  }
  const watch_paths = listOf(options.watch_paths).map((given) => given.normalize("NFC"));
  const outside = watch_paths.find((given) => /^\/./.test(given) || given.split("/").includes(".."));
  if (outside !== undefined) {
    const at = "options.watch_paths";
    const message = `${at}: "${outside}" is outside of the session's files: relative, without ..`;
    throw refused([{ path: at, message }]);
  }
  for (const name of ["persist_path", "resume_path"] as const) {
    const given = options[name];
    const fault = given === undefined ? null : writeFault(given);
    if (fault === null) continue;
    const at = `options.${name}`;
    throw refused([{ path: at, message: `${at}: "${given}" ${fault}` }]);
  }
  return {
    bounded: options.max_iterations !== undefined,
    ...(options.wake_budget === undefined ? {} : { wake_budget: options.wake_budget }),
    wake_interval_ms: options.wake_interval_ms ?? 0,
    cron,
    time_zone,
    watch_paths,
    watch_events: options.watch_events ?? ["change", "create", "delete"],
    consolidate_on_idle: options.consolidate_on_idle ?? false,
    idle_watchdog_attempts: options.idle_watchdog_attempts ?? null,
    persist_path: session === null ? null : (options.persist_path ?? null),
    resume_path: options.resume_path ?? null,
  };
}
