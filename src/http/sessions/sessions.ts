/** `/sessions`: makes, lists, shows and removes sessions. */
import { openBody } from "../../api/bodies/sessions.ts";
import { sha256 } from "../../bytes.ts";
import { SESSION_ID } from "../../engine/session-id.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import type { Transcript } from "../../llm/transcript.ts";
import { transcriptHistory } from "../../llm/transcript-history.ts";
import type { SessionView } from "../../session/conversation/answers.ts";
import { flushRows } from "../../session/index-rows.ts";
import * as sessionIndex from "../../session/session-index.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { readJsonIfAny } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { idDigits } from "../idempotency.ts";
import { MAX_MODEL_BODY_BYTES } from "../operations.ts";
import { jsonNow, numberedPage, pageFrom, wantedPage } from "../page.ts";
import { flagIn, oneOf, WORDS } from "../parameters.ts";
import type { Handler } from "../routes.ts";
import { MAX_METADATA, sessionOf, shownNow, shows } from "./object.ts";

/**
 * `POST /sessions`: 201 with a new session, or 200 if the session of this id exists. If the request names no id, the id is
 * derived from its `Idempotency-Key`, so a request that begins again opens the same session.
 */
export async function openSession(context: RequestContext): Promise<Response> {
  const body = await readJsonIfAny(context.request, openBody, MAX_MODEL_BODY_BYTES);
  const metadata: JsonObject = body.metadata ?? {};
  if (JSON.stringify(metadata).length > MAX_METADATA)
    throw memberInvalid("metadata", `is longer than ${MAX_METADATA} characters`, ".");
  const id = body.id ?? (await newSessionId(context));
  const imported = body.transcript === undefined ? null : importedFrom(body.transcript);
  const request_hash = imported === null ? null : await sha256(JSON.stringify(body));
  const { created, session } = await sessionOf(context, id).ask("open", { metadata, request_hash, imported });
  return createdSession(context, session, created || body.id === undefined);
}

/** @throws InvalidRequest */
function importedFrom(transcript: Transcript) {
  const read = transcriptHistory(transcript, "transcript");
  if (read.system.length > 0) {
    const detail = "A session keeps no system messages. Give the text to its runs, in system.";
    throw new InvalidRequest({ option: "transcript.messages", detail });
  }
  return { messages: read.messages, summary: transcript.summary ?? null };
}

/** The id of a session that the client did not name; the same `Idempotency-Key` gives the same id. */
export const newSessionId = async (context: RequestContext): Promise<string> =>
  `ses_${await idDigits(context)}`;

export function createdSession(context: RequestContext, session: SessionView, created: boolean): Response {
  return shownNow(context, session, created ? 201 : 200, { location: `/sessions/${session.id}` });
}

/** `GET /sessions`: the tenant's, the newest first; with `?stages=true` also the sessions of workflow stages. */
export async function listSessions(context: RequestContext): Promise<Response> {
  const wanted = wantedPage(context);
  const stages = flagIn(context.query, "stages", WORDS);
  await flushRows(context.deployment);
  return shownNow(context, await sessionIndex.listSessions(context, { ...wanted, stages }));
}

export const getSession = shows("view", () => null);

/** `DELETE /sessions/:id`: stops its run and removes all its data. */
export const deleteSession: Handler = async (context, { id = "" }) => {
  await sessionOf(context, id).ask("remove", null);
  return new Response(null, { status: 204 });
};

export const sessionExists: Handler = async (context, { id = "" }) => {
  const exists = SESSION_ID.test(id) && (await sessionOf(context, id).ask("exists", null));
  return jsonNow({ exists });
};

export const sessionLength = shows(
  "view",
  () => null,
  ({ length }) => ({ length }),
);

export const sessionAncestry = shows(
  "view",
  () => null,
  ({ parent_id, child_ids, branched_at_event_index }) => ({
    parent_id,
    child_ids,
    branched_at_event_index,
  }),
);

/** `GET /sessions/:id/messages`: the messages that the next model call would send, oldest first. */
export const listMessages = shows("messages", pageFrom, numberedPage);

/** `GET /sessions/:id/transcript`: the whole conversation, as text for readers, or as JSON with `?view=raw`. */
export const getTranscript: Handler = async (context, { id = "" }) => {
  const view = oneOf(context.query, "view", ["visible", "full", "raw"]) ?? "visible";
  return sent(await sessionOf(context, id).document(view), view === "raw" ? JSON_TYPE : TEXT_TYPE);
};

/** `GET /sessions/:id/cassette`: the recorded answers of its models and tools, for runs that replay them. */
export const getCassette: Handler = async (context, { id = "" }) =>
  sent(await sessionOf(context, id).document("cassette"), JSON_TYPE);

const JSON_TYPE = "application/json";
const TEXT_TYPE = "text/plain; charset=utf-8";

function sent(body: ReadableStream<Uint8Array>, type: string): Response {
  return new Response(body, { headers: { "content-type": type, "cache-control": "no-store" } });
}
