/** Turns a conversation from elsewhere into one that a session can continue. Pure. */
import { interruptedCall } from "../engine/agent/texts.ts";
import type { Message, ToolCallBlock, ToolResultMessage } from "../engine/messages.ts";

/**
 * The conversation with the results of each turn's calls directly after it, as providers require. A call without a
 * result, as in a transcript of a waiting run, gets the result that it was interrupted.
 */
export function withResults(messages: readonly Message[]): Message[] {
  const turns: Message[][] = [[]];
  for (const message of messages) {
    if (message.role === "assistant") turns.push([message]);
    else turns.at(-1)?.push(message);
  }
  return turns.flatMap(completed);
}

/** A turn of the model with the messages up to the next one. */
function completed([turn, ...rest]: Message[]): Message[] {
  if (turn === undefined) return [];
  const calls = turn.role === "assistant" ? turn.content.filter((block) => block.type === "tool_call") : [];
  if (calls.length === 0) return [turn, ...rest];
  const found = rest.flatMap((message) => (message.role === "tool" ? message.results : []));
  const own = new Set(calls.map(({ id }) => id));
  const left = rest.flatMap((message): Message[] => {
    if (message.role !== "tool") return [message];
    const results = message.results.filter(({ call_id }) => !own.has(call_id));
    return results.length === 0 ? [] : [{ role: "tool", results }];
  });
  return [turn, { role: "tool", results: calls.map((call) => resultOf(call, found)) }, ...left];
}

function resultOf({ id, name }: ToolCallBlock, found: readonly ToolResultMessage[]): ToolResultMessage {
  const result = found.find(({ call_id }) => call_id === id);
  return result ?? { call_id: id, name, content: interruptedCall(true), is_error: true };
}
