import { type Message, toolCallIds } from "../../engine/messages.ts";
import { resultIds } from "../../engine/text-tools/contract.ts";

/** `mock_call_<n>`, counted over the whole conversation, whatever the form of its calls and results. */
export function mockIds(history: readonly Message[]): () => string {
  const texts = history.flatMap((message) => (message.role === "user" ? message.content : []));
  const answered = texts.flatMap((part) => (part.type === "text" ? resultIds(part.text) : []));
  const taken = new Set([...toolCallIds(history), ...answered]);
  let n = 0;
  return () => {
    let id = "";
    do id = `mock_call_${++n}`;
    while (taken.has(id));
    return id;
  };
}
