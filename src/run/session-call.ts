/** A model call that continues a session's conversation and is kept in it. */
import type { Message, Warning } from "../engine/messages.ts";
import { messageJson, readMessages } from "../llm/messages.ts";
import type { CallInput } from "../llm/prepare.ts";
import { emptyTranscript, newId, type Transcript } from "../llm/transcript.ts";
import { asJson, fromJson, objectOf } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import type { RunContext } from "./context.ts";
import type { Durable } from "./handle.ts";
import { type SessionClient, sessionClient } from "./session-client.ts";

/** The session that the options of a call name; `null`: none, or the options are invalid. */
export function sessionNamed(options: JsonObject = {}): string | null {
  const { session_id, transcript } = options;
  // The reader of options refuses both together.
  return typeof session_id === "string" && (transcript === undefined || transcript === null)
    ? session_id
    : null;
}

interface Warned {
  warnings?: readonly Warning[];
}

/** What a call answers, and what its session keeps of it. */
export interface CallAnswer<Result extends Warned> {
  result: Result;
  /** The conversation with the messages of the call; `null`: no model answered. */
  transcript: Transcript | null;
  /** As of `CallOutcome`. */
  refused_searches: string[];
}

/** The result of a call that a session keeps. */
interface KeptCall<Result extends Warned> {
  result: Result;
  added: Message[];
  /** As of `CallOutcome`. Absent in calls that an earlier version of Hull stored. */
  refused_searches?: string[];
  /** When the session was created (Unix ms). Absent in calls that an earlier version of Hull stored. */
  created_at?: number;
}

/**
 * Makes the call and returns its result. If the call outlives its process, stores the result before it passes it to the
 * session.
 * @param name name of the request, so that the session adds an answer only once
 * @throws CallNotFound if the tenant has no such session, or if a new one has taken its id by the end of the call;
 * RunInProgress, SessionNotActive at the beginning of the call only
 */
export async function callInSession<Result extends Warned>(
  context: RunContext,
  options: { input: CallInput; session: string; name: string; durable: Durable | null },
  call: (input: CallInput) => Promise<CallAnswer<Result>>,
): Promise<Result> {
  const { session: id, name, durable } = options;
  const session = sessionClient(context, id);
  // An earlier run attempt stored this value, see below.
  const known = fromJson<KeptCall<Result> | null>(durable?.memo ?? null);
  const kept = known ?? (await callAfter(session, options.input, call));
  if (known === null) durable?.remember(asJson(kept));
  const { added: messages, created_at, refused_searches = [] } = kept;
  const of = created_at === undefined ? {} : { created_at };
  const request = { name, hash: "" };
  const { not_added } = await session.ask("keep", { messages, ...of, refused_searches, request });
  return not_added === undefined ? kept.result : notKept(kept.result, id, not_added);
}

/** The answer to a call whose messages the session does not take. */
function notKept<Result extends Warned>(result: Result, session: string, reason: string): Result {
  const has = "transcript" in result ? " The result's transcript has them." : "";
  const message = `The session ${session} does not have this call's messages: ${reason}.${has}`;
  const warning = { code: "not_added_to_session", message, option: "session_id" };
  return { ...result, warnings: [...(result.warnings ?? []), warning] };
}

async function callAfter<Result extends Warned>(
  session: SessionClient,
  input: CallInput,
  call: (input: CallInput) => Promise<CallAnswer<Result>>,
): Promise<KeptCall<Result>> {
  const { messages, summary, created_at, refused_searches: known } = await session.ask("history", null);
  const said = messages.flatMap(messageJson);
  const { session_id: _, ...options } = input.options;
  const before = { ...emptyTranscript(newId()), messages: said, ...(summary === null ? {} : { summary }) };
  const { result, transcript, refused_searches } = await call({
    ...input,
    refused_searches: known,
    options: { ...options, transcript: objectOf(before) },
  });
  const { messages: added } = readMessages(transcript?.messages.slice(said.length) ?? []);
  return { result, added, created_at, refused_searches };
}
