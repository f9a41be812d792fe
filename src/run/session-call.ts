/** A model call that goes on with a session's conversation, and is kept in it (agent-runtime.md §12.1). */
import type { CallOutcome } from "../llm/call.ts";
import { messageJson, readMessages } from "../llm/messages.ts";
import type { CallInput } from "../llm/prepare.ts";
import { emptyTranscript, newId } from "../llm/transcript.ts";
import type { JsonObject } from "../skill/manifest.ts";
import type { RunContext } from "./context.ts";
import { sessionClient } from "./session-client.ts";

/** The session that the options of a call name; `null`: none, or not so that they can be used. */
export function sessionNamed(options: JsonObject = {}): string | null {
  const { session_id, transcript } = options;
  // Both together are refused where options are read.
  return typeof session_id === "string" && (transcript === undefined || transcript === null)
    ? session_id
    : null;
}

/**
 * @param name of the request, so that an answer is kept once however often it is made
 * @throws CallNotFound for a session that is none of the tenant's, RunInProgress, SessionNotActive
 */
export async function callInSession(
  context: RunContext,
  { input, session: id, name }: { input: CallInput; session: string; name: string },
  call: (input: CallInput) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const session = sessionClient(context, id);
  const { messages, summary } = await session.ask("history", null);
  const said = messages.flatMap(messageJson);
  const { session_id: _, ...options } = input.options;
  const transcript = {
    ...emptyTranscript(newId()),
    messages: said,
    ...(summary === null ? {} : { summary }),
  };
  const outcome = await call({
    ...input,
    options: { ...options, transcript: JSON.parse(JSON.stringify(transcript)) },
  });
  const added = readMessages(outcome.result.transcript.messages.slice(said.length)).messages;
  await session.ask("add", { messages: added, source: "client", request: { name, hash: "" } });
  return outcome;
}
