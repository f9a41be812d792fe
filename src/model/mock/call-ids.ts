import type { Message } from "../../engine/messages.ts";
import { toolCallIds } from "../wire.ts";

/** `mock_call_<n>`, counted on over the whole conversation. */
export function mockIds(history: readonly Message[]): () => string {
  const taken = new Set(toolCallIds(history));
  let n = 0;
  return () => {
    let id = "";
    do id = `mock_call_${++n}`;
    while (taken.has(id));
    return id;
  };
}
