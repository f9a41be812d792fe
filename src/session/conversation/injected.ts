/** Checks a message that a client injects. */
import type { Message } from "../../engine/messages.ts";
import { openCall } from "../../engine/open-calls.ts";
import { InputInvalid } from "../../errors/request.ts";

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
