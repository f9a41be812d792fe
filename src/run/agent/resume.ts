/** A run that continues from a snapshot. */
import * as z from "zod/mini";
import type { AgentSpec, DaemonOptions } from "../../engine/agent/spec.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { HullError } from "../../errors.ts";
import { messageShape, readMessages } from "../../llm/messages.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { RunContext } from "../context.ts";
import { clientWorkspace, sessionClient } from "../session-client.ts";

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
  const found = await known(() => clientWorkspace(client).findFile(path));
  if (found === null || found.size > MAX_BYTES) throw refused(`The session has no snapshot "${path}".`);
  const stored = await context.env.FILES.get(found.key);
  const parsed = snapshot.safeParse(stored === null ? null : parsedJson(await stored.text()));
  if (!parsed.success) throw refused(`The file "${path}" is no snapshot of a daemon.`);
  const { visible_messages, total_iterations: earlier_iterations } = parsed.data;
  const { length } = await client.ask("view", null);
  const prompt = length > 0 ? [] : readMessages(visible_messages, "visible_messages").messages;
  const begins_idle = visible_messages.at(-1)?.role !== "user";
  return { prompt, daemon: { earlier_iterations, begins_idle } };
}

/** Reads from a session; `null`: the session does not exist, so it has no files. */
async function known<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof HullError && error.code === "not_found") return null;
    throw error;
  }
}
