/** Calls of a conversation that have no results, and results that have no calls. Pure. */
import { interruptedCall } from "./agent/texts.ts";
import { callsOf, type Message, type ToolCallBlock, type ToolResultMessage } from "./messages.ts";

/**
 * The messages as providers require them: the results of each turn's calls directly after it. A call without a result,
 * as in the transcript of a waiting run or in an injected message, gets the result that it was interrupted. A result
 * without its call, as in a conversation that somebody cut, is left out.
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

const resultsIn = (messages: readonly Message[]): ToolResultMessage[] =>
  messages.flatMap((message) => (message.role === "tool" ? message.results : []));

/** A turn of the model with the messages up to the next one; or the messages before the first turn. */
function completed(messages: Message[]): Message[] {
  if (isWhole(messages)) return messages;
  const [turn, ...rest] = messages.filter(({ role }) => role !== "tool");
  if (turn === undefined) return [];
  const calls = callsOf(turn);
  if (calls.length === 0) return [turn, ...rest];
  const found = Map.groupBy(resultsIn(messages), ({ call_id }) => call_id);
  const results = Array.from(Map.groupBy(calls, ({ id }) => id)).flatMap(
    ([id, same]) =>
      // A client may leave out the name of the tool.
      found.get(id)?.map((result) => ({ ...result, name: same.at(-1)?.name ?? result.name })) ??
      same.map(interrupted),
  );
  return [turn, { role: "tool", results }, ...rest];
}

/** Whether these are a turn and the results of its calls in their order, as Hull itself keeps them. */
function isWhole([turn, answer, further]: Message[]): boolean {
  if (turn?.role !== "assistant" || answer?.role !== "tool" || further !== undefined) return false;
  const calls = callsOf(turn);
  const { results } = answer;
  if (calls.length === 0 || calls.length !== results.length) return false;
  const isAnswered = ({ id, name }: ToolCallBlock, at: number): boolean =>
    results[at]?.call_id === id && results[at].name === name;
  return calls.every(isAnswered) && new Set(calls.map(({ id }) => id)).size === calls.length;
}

const interrupted = ({ id, name }: ToolCallBlock): ToolResultMessage => ({
  call_id: id,
  name,
  content: interruptedCall(true),
  is_error: true,
});
