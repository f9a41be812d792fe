/** Routes that change a session's conversation; the session stores each change as a record. */
import { compactBody, forkAtBody, forkBody, injectBody, trimBody } from "../../api/bodies/sessions.ts";
import type { SessionState } from "../../engine/agent/records.ts";
import type { Message } from "../../engine/messages.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { InputInvalid } from "../../errors/request.ts";
import { type PublicMessage, readMessages } from "../../llm/messages.ts";
import { readJson, readJsonIfAny } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { MAX_MODEL_BODY_BYTES } from "../operations.ts";
import { jsonNow } from "../page.ts";
import type { Handler } from "../routes.ts";
import { noteReplay, withHeaders } from "../run-headers.ts";
import { idempotencyKey } from "../skills/idempotency.ts";
import { plainRequestName, requestName, sessionOf } from "./object.ts";
import { createdSession, newSessionId } from "./sessions.ts";

/** `POST /sessions/:id/reset`: an empty conversation. */
export const resetSession: Handler = async (context, { id = "" }) => {
  const request = await plainRequestName(context);
  return jsonNow(await sessionOf(context, id).ask("reset", { request }));
};

/** `POST /sessions/:id/trim`: keeps only the last messages. */
export const trimSession: Handler = async (context, { id = "" }) => {
  const body = await readJson(context.request, trimBody, MAX_MODEL_BODY_BYTES);
  const request = await requestName(context, body);
  return jsonNow(await sessionOf(context, id).ask("trim", { ...body, request }));
};

/** `POST /sessions/:id/inject`: a message of any role at the end of the conversation. */
export const injectMessage: Handler = async (context, { id = "" }) => {
  const body = await readJson(context.request, injectBody, MAX_MODEL_BODY_BYTES);
  const request = await requestName(context, body);
  const messages = injected(body.message);
  return jsonNow(await sessionOf(context, id).ask("add", { messages, request }));
};

function injected(message: PublicMessage): Message[] {
  if (message.role === "system") {
    const detail = 'A session has no system messages: give "system" with a run.';
    throw new InvalidRequest({ option: "message.role", detail });
  }
  const { messages } = readMessages([message], "message");
  if (messages.length > 0) return messages;
  const fault = { path: "message.content", message: "holds nothing" };
  throw new InputInvalid({ reason: "message.content holds nothing.", errors: [fault] });
}

/** `POST /sessions/:id/compact`: replaces older messages by a summary. */
export const compactSession: Handler = async (context, { id = "" }) => {
  const body = await readJsonIfAny(context.request, compactBody, MAX_MODEL_BODY_BYTES);
  const { strategy, keep_first, keep_last, summary = null, options = {} } = body;
  const asks = strategy === "llm" && summary === null;
  // Options are checked even if no model is asked.
  const checked = asks || Object.keys(options).length > 0 ? options : null;
  const request = await requestName(context, body);
  const call = { strategy, keep_first, keep_last, summary, options: checked, request };
  return jsonNow(await sessionOf(context, id).ask("compact", call));
};

/** `POST /sessions/:id/fork`: another session that begins in the present state of this one. */
export const forkSession: Handler = async (context, { id = "" }) => {
  const body = await readJsonIfAny(context.request, forkBody, MAX_MODEL_BODY_BYTES);
  return fork(context, id, { ...body, keep_first: null });
};

/** `POST /sessions/:id/fork-at`: a session that begins with the first messages of this one. */
export const forkSessionAt: Handler = async (context, { id = "" }) =>
  fork(context, id, await readJson(context.request, forkAtBody, MAX_MODEL_BODY_BYTES));

async function fork(
  context: RequestContext,
  id: string,
  body: { dst?: string; keep_first: number | null },
): Promise<Response> {
  const request = await requestName(context, body);
  // An `Idempotency-Key` counts for one route only.
  const { pathname } = new URL(context.request.url);
  const dst = body.dst ?? (await newSessionId(context, pathname));
  const session = sessionOf(context, id);
  const keyed = idempotencyKey(context.request) !== null;
  if (keyed && (await session.ask("known", { request }))) noteReplay(context);
  const made = await session.ask("fork", { dst, keep_first: body.keep_first, request });
  const view = await sessionOf(context, made).ask("view", null);
  return withHeaders(createdSession(view, true), context.runHeaders);
}

const changing =
  (state: SessionState): Handler =>
  async (context, { id = "" }) => {
    const request = await plainRequestName(context);
    return jsonNow(await sessionOf(context, id).ask("set_state", { state, request }));
  };

/** The session then accepts no runs until it is resumed. Fails while a run is under way. */
export const archiveSession = changing("archived");
/** The same for an abandoned conversation; also cancels a run under way. */
export const abandonSession = changing("abandoned");
export const closeSession = changing("closed");

/** `POST /sessions/:id/resume`: makes it active again, and wakes an idle run. */
export const resumeSession: Handler = async (context, { id = "" }) => {
  const request = await plainRequestName(context);
  return jsonNow(await sessionOf(context, id).ask("resume", { request }));
};
