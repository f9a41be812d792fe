/** A workflow session: a conversation and its workflow run, as one document that a client keeps. Pure. */
import { type Transcript, transcriptShape } from "../../llm/transcript.ts";
import { asJson, isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

export interface SessionParts {
  transcript: Transcript | null;
  /** The run's record; `null`: there is none. */
  run: JsonObject | null;
  /** Where it can be restored from. */
  persisted_path: string | null;
  status: Json;
}

/**
 * Reads a run's record, the answer of `execute` or `task_run`, or a session.
 * @returns `null` if the transcript is not one
 */
export function sessionParts(given: JsonObject): SessionParts | null {
  const run = given._type === "run_record" ? given : isObject(given.run) ? given.run : null;
  const stated = given.transcript ?? run?.transcript ?? null;
  const read = stated === null ? null : transcriptShape.safeParse(stated);
  if (read !== null && !read.success) return null;
  const path = given.persisted_path ?? run?.persisted_path;
  return {
    transcript: read?.data ?? null,
    run,
    persisted_path: typeof path === "string" ? path : null,
    status: given.status ?? run?.status ?? null,
  };
}

export function sessionDocument({ transcript, run, persisted_path, status }: SessionParts): JsonObject {
  const { workflow_name = null, task = null, usage } = objectOf(run);
  return asJson({
    _type: "workflow_session",
    transcript,
    run,
    persisted_path,
    status,
    workflow: workflow_name,
    task,
    summary: transcript?.summary ?? null,
    transcript_state: transcript?.state ?? null,
    message_count: transcript?.messages.length ?? 0,
    event_count: transcript?.events.length ?? 0,
    asset_count: transcript?.assets.length ?? 0,
    usage: isObject(usage) ? usage : null,
  });
}
