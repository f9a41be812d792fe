/** Calls of a conversation that have no results. Pure. */
import { interruptedCall } from "./agent/texts.ts";
import type { Message, ToolCallBlock, ToolResultMessage } from "./messages.ts";

/**
 * The messages as providers require them: the results of each turn's calls directly after it. A call without a result, as in the
 * transcript of a waiting run or in an injected message, gets the result that it was interrupted.
 */
export function withResults(messages: readonly Message[]): Message[] {
  const turns: Message[][] = [[]];
  for (const message of messages) {
    if (message.role === "assistant") turns.push([message]);
    else turns.at(-1)?.push(message);
  }
  return turns.flatMap(completed);
}

/** The call with this id in the last turn, if it has no result yet. */
export function openCall(messages: readonly Message[], id: string): ToolCallBlock | null {
  const at = messages.findLastIndex(({ role }) => role === "assistant");
  const [turn, ...rest] = at === -1 ? [] : messages.slice(at);
  if (turn === undefined || resultsIn(rest).some(({ call_id }) => call_id === id)) return null;
  return callsOf(turn).find((call) => call.id === id) ?? null;
}

const callsOf = (turn: Message): ToolCallBlock[] =>
  turn.role === "assistant" ? turn.content.filter((block) => block.type === "tool_call") : [];
const resultsIn = (messages: readonly Message[]): ToolResultMessage[] =>
  messages.flatMap((message) => (message.role === "tool" ? message.results : []));

/** A turn of the model with the messages up to the next one. */
function completed([turn, ...rest]: Message[]): Message[] {
  if (turn === undefined) return [];
  const calls = callsOf(turn);
  const after = new Set(resultsIn(rest.slice(0, 1)).map(({ call_id }) => call_id));
  if (calls.every(({ id }) => after.has(id))) return [turn, ...rest];
  const found = resultsIn(rest);
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
