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
  const results = message.results.map((result) => {
    const open = calls.find(({ call, stage }) => call.id === result.call_id && stage === "settled");
    return open?.result == null ? result : { ...result, content: open.result.content };
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
  const known = before.run?.calls ?? [];
  for (const { effect, stage, call, result } of after.run?.calls ?? []) {
    const settled = stage === "settled" && result !== null;
    if (settled && known.some((open) => open.effect === effect && open.stage !== "settled"))
      return { call, result };
  }
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
