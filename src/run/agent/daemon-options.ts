/** The options of a daemon, with their defaults. */

import * as z from "zod/mini";
import type { AgentSpec, DaemonOptions } from "../../engine/agent/spec.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { messageShape, readMessages } from "../../llm/messages.ts";
import { refusedOption } from "../../llm/prepare.ts";
import { isTimeZone, parseCron } from "../../skill/cron.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import { leadsOutside } from "../../skill/watch-path.ts";
import { writeFault } from "../../tool/workspace-path.ts";
import type { RunContext } from "../context.ts";
import { clientWorkspace, ignoreMissing, sessionClient } from "../session-client.ts";
import { readContent } from "../workspace/store.ts";
import { listOf, type RunOptions } from "./option-shapes.ts";

/**
 * @param session `null`: an anonymous run, which has no files
 * @throws InputInvalid for an invalid schedule, and for paths that no file of a session can have
 */
export function daemonOptions(options: RunOptions, session: string | null): DaemonOptions {
  const { cron = null, time_zone = "UTC" } = options;
  const parsed = cron === null ? null : parseCron(cron);
  if (parsed !== null && "fault" in parsed) throw refusedOption("cron", `"${cron}" ${parsed.fault}`);
  if (!isTimeZone(time_zone))
    throw refusedOption("time_zone", `"${time_zone}" is not a time zone, such as Europe/Berlin`);
  const watch_paths = listOf(options.watch_paths).map((given) => given.normalize("NFC"));
  const outside = watch_paths.find(leadsOutside);
  if (outside !== undefined) {
    const what = `"${outside}" is outside of the session's files: relative, without ..`;
    throw refusedOption("watch_paths", what);
  }
  for (const name of ["persist_path", "resume_path"] as const) {
    const given = options[name];
    const fault = given === undefined ? null : writeFault(given);
    if (fault !== null) throw refusedOption(name, `"${given}" ${fault}`);
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
    ...(options.resume_after_ms === undefined ? {} : { resume_after_ms: options.resume_after_ms }),
  };
}

const snapshot = z.lazy(() =>
  z.object({
    _type: z.literal("daemon_snapshot"),
    visible_messages: z.array(messageShape),
    total_iterations: z.int().check(z.nonnegative()),
  }),
);

/** Bytes of the longest snapshot that Hull reads. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * What the run begins with. A session that has a conversation continues with that.
 * @param session `null`: an anonymous run
 * @throws InvalidRequest if there is no such snapshot
 */
export async function resumedFrom(
  context: RunContext,
  session: string | null,
  path: string,
): Promise<{
  prompt: AgentSpec["prompt"];
  daemon: Pick<DaemonOptions, "earlier_iterations" | "begins_idle">;
}> {
  const refused = (detail: string) => new InvalidRequest({ option: "resume_path", detail });
  if (session === null) throw refused("resume_path needs a session: an anonymous run has no files.");
  const client = sessionClient(context, session);
  const found = (await clientWorkspace(client).findFile(path).catch(ignoreMissing)) ?? null;
  if (found === null || found.size > MAX_BYTES) throw refused(`The session has no snapshot "${path}".`);
  const stored = await readContent(context.env.FILES, found);
  const parsed = snapshot.safeParse(stored === null ? null : parsedJson(new TextDecoder().decode(stored)));
  if (!parsed.success) throw refused(`The file "${path}" is not the snapshot of a daemon.`);
  const { visible_messages, total_iterations: earlier_iterations } = parsed.data;
  const { length } = await client.ask("view", null);
  const prompt = length > 0 ? [] : readMessages(visible_messages, "visible_messages").messages;
  const begins_idle = visible_messages.at(-1)?.role !== "user";
  return { prompt, daemon: { earlier_iterations, begins_idle } };
}
