/** Routes that change a session's conversation; the session stores each change as a record. */
import { compactBody, forkAtBody, forkBody, injectBody, trimBody } from "../../api/bodies/sessions.ts";
import type { SessionState } from "../../engine/agent/records.ts";
import type { Message } from "../../engine/messages.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { InputInvalid } from "../../errors/request.ts";
import { type PublicMessage, readMessages } from "../../llm/messages.ts";
import type { RequestContext } from "../context.ts";
import { modelBody, modelBodyIfAny } from "../operations.ts";
import type { Handler } from "../routes.ts";
import { changes, noBody, requestName, sessionOf } from "./object.ts";
import { createdSession, newSessionId } from "./sessions.ts";

/** `POST /sessions/:id/reset`: an empty conversation. */
export const resetSession = changes("reset", noBody, (_, request) => ({ request }));

/** `POST /sessions/:id/trim`: keeps only the last messages. */
export const trimSession = changes("trim", modelBody(trimBody), (body, request) => ({ ...body, request }));

/** `POST /sessions/:id/inject`: a message of any role at the end of the conversation. */
export const injectMessage = changes("add", modelBody(injectBody), ({ message }, request) => ({
  messages: injected(message),
  request,
}));

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
export const compactSession = changes(
  "compact",
  modelBodyIfAny(compactBody),
  ({ summary = null, options = {}, ...body }, request) => {
    const asks = body.strategy === "llm" && summary === null;
    // Options are checked even if no model is asked.
    const checked = asks || Object.keys(options).length > 0 ? options : null;
    return { ...body, summary, options: checked, request };
  },
);

/** `POST /sessions/:id/fork`: another session that begins in the present state of this one. */
export const forkSession: Handler = async (context, { id = "" }) => {
  const body = await modelBodyIfAny(forkBody)(context.request);
  return fork(context, id, { ...body, keep_first: null });
};

/** `POST /sessions/:id/fork-at`: a session that begins with the first messages of this one. */
export const forkSessionAt: Handler = async (context, { id = "" }) =>
  fork(context, id, await modelBody(forkAtBody)(context.request));

async function fork(
  context: RequestContext,
  id: string,
  body: { dst?: string; keep_first: number | null },
): Promise<Response> {
  const request = await requestName(context, body);
  const dst = body.dst ?? (await newSessionId(context));
  const session = sessionOf(context, id);
  const made = await session.ask("fork", { dst, keep_first: body.keep_first, request });
  const view = await sessionOf(context, made).ask("view", null);
  return createdSession(context, view, true);
}

const becomes = (state: SessionState): Handler =>
  changes("set_state", noBody, (_, request) => ({ state, request }));

/** The session then accepts no runs until it is resumed. Fails while a run is under way. */
export const archiveSession = becomes("archived");
/** The same for an abandoned conversation; also cancels a run under way. */
export const abandonSession = becomes("abandoned");
export const closeSession = becomes("closed");

/** `POST /sessions/:id/resume`: makes it active again, and wakes an idle run. */
export const resumeSession = changes("resume", noBody, (_, request) => ({ request }));
