/** What a message that a client injects must fit. */
import type { Message } from "../../engine/messages.ts";
import { openCall } from "../../engine/open-calls.ts";
import { InputInvalid } from "../../errors/request.ts";

/**
 * The message with the names of the tools whose results it holds.
 * @param visible the conversation before it
 * @throws InputInvalid for a result of a call that does not wait for one: no provider would take the conversation any more
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
