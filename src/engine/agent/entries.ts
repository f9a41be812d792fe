/** The entries of a session's transcript: messages, and notes between them. Pure. */
import type { JsonObject } from "../../skill/manifest.ts";
import type { Message, ModelTurn, ToolCallBlock } from "../messages.ts";
import type { Applied } from "./apply.ts";
import type { AgentToolResult } from "./records.ts";
import type { AgentState, OpenCall } from "./state.ts";

export type Entry =
  | { type: "message"; message: Message }
  /** A model's turn: what its provider reported in addition to the message. */
  | { type: "turn"; turn: ModelTurn }
  /** `role`: who did it; absent: Hull. */
  | { type: "note"; kind: string; role?: "assistant" | "tool"; metadata: JsonObject };

/** The messages that the record added to the visible history, with the whole results of tools. */
export function messagesOf({ before, after }: Applied): Entry[] {
  const messages = after.visible.slice(before.visible.length);
  if (messages.length === 0) return [];
  const calls = after.run?.calls.length === 0 ? before.run?.calls : after.run?.calls;
  return messages.map((message) => ({ type: "message", message: wholeResults(message, calls ?? []) }));
}

/** Restores the whole results: the model may see less of a result than the tool returned. */
function wholeResults(message: Message, calls: readonly OpenCall[]): Message {
  if (message.role !== "tool") return message;
  const settled = calls.toReversed().filter(({ stage }) => stage === "settled");
  // Of several with one id, the first counts.
  const byId = new Map(settled.map(({ call, result }) => [call.id, result]));
  const results = message.results.map((result) => {
    const whole = byId.get(result.call_id) ?? null;
    return whole === null ? result : { ...result, content: whole.content };
  });
  return { role: "tool", results };
}

/** A call with its final arguments and its result. */
export interface SettledCall {
  call: ToolCallBlock;
  result: AgentToolResult;
}

/** The call that a record settles; `null`: the record settles none. */
export function settledBy({ before, after }: Applied): SettledCall | null {
  const open = new Set<string>();
  for (const { effect, stage } of before.run?.calls ?? []) if (stage !== "settled") open.add(effect);
  for (const { effect, stage, call, result } of after.run?.calls ?? [])
    if (stage === "settled" && result !== null && open.has(effect)) return { call, result };
  return null;
}

/** The messages at the end of a transcript: results of an incomplete turn, and messages that the run has not read. */
export function leftMessages({ run, waiting }: AgentState): Message[] {
  const results = (run?.stage === "tools" ? run.calls : []).flatMap(({ call, stage, result }) =>
    stage === "settled" && result !== null
      ? [{ call_id: call.id, name: call.name, content: result.content, is_error: result.status !== "ok" }]
      : [],
  );
  const finished: Message[] = results.length === 0 ? [] : [{ role: "tool", results }];
  return [...finished, ...waiting.map(({ message }) => message)];
}
