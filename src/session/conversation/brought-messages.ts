/** Messages that clients bring: those that they inject, and those of a model call outside of a run. */
import type { AgentRecordBody } from "../../engine/agent/records.ts";
import type { Message } from "../../engine/messages.ts";
import { openCall } from "../../engine/open-calls.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { InputInvalid } from "../../errors/request.ts";
import type { Conversation } from "./conversation.ts";
import type { ConversationOperations } from "./rpc.ts";
import type { SessionRow } from "./store.ts";

/**
 * Adds the messages now, or if a run is under way, when it rests: in the middle of a run they could part calls from their
 * results.
 * @throws CallNotFound for a newer session with this id
 */
export function keepCall(
  { log, runs }: Conversation,
  row: SessionRow,
  {
    messages,
    created_at = row.created_at,
    refused_searches: models = [],
  }: Omit<ConversationOperations["keep"]["in"], "request">,
): ConversationOperations["keep"]["out"] {
  if (created_at !== row.created_at) throw new CallNotFound({ what: "session", id: row.id });
  // A structured answer without a model's answer has no messages, so none are lost.
  if (row.state !== "active") return messages.length === 0 ? {} : { not_added: `it is ${row.state}` };
  const live = log.store.runs.live();
  const waits = live !== null && log.state().run?.stage !== "idle";
  if (waits && answersEarlierCalls(messages)) {
    return { not_added: `results of tools cannot follow the run ${live.id}, which began meanwhile` };
  }
  const kept = messages.map(
    (message): AgentRecordBody =>
      waits
        ? { type: "message_received", run: live.id, message, delivery: "wait_for_completion", at_rest: true }
        : { type: "message_added", message, source: "client" },
  );
  const refused: AgentRecordBody[] = models.length === 0 ? [] : [{ type: "searches_refused", models }];
  runs.receive([...refused, ...kept], false);
  log.store.touch(log.now());
  return {};
}

/** Whether the messages have a result whose call is not among them. */
const answersEarlierCalls = (messages: readonly Message[]): boolean =>
  messages.some(
    (message, at) =>
      message.role === "tool" &&
      message.results.some(({ call_id }) => openCall(messages.slice(0, at), call_id) === null),
  );

/**
 * Returns the message with the name of the tool added to each result.
 * @param visible the conversation before the message
 * @throws InputInvalid for a result whose call does not wait for one: providers refuse such a conversation
 */
export function fitting(visible: readonly Message[], message: Message): Message {
  if (message.role !== "tool") return message;
  const results = message.results.map((result) => {
    const call = openCall(visible, result.call_id);
    if (call !== null) return { ...result, name: call.name };
    const fault = `the last turn of the conversation has no call ${JSON.stringify(result.call_id)} without a result`;
    throw new InputInvalid({
      reason: `message.tool_call_id: ${fault}.`,
      errors: [{ path: "message.tool_call_id", message: fault }],
    });
  });
  return { role: "tool", results };
}
