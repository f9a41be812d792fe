/** Why a turn ended, in the words of the vendors' APIs. */
import { type ModelTurn, refusalOf } from "../engine/messages.ts";
import { stopWords } from "../engine/stop-reason.ts";

type Turn = Pick<ModelTurn, "stop_reason" | "blocks">;

const calls = ({ blocks }: Turn): boolean => blocks.some((block) => block.type === "tool_call");

export const anthropicStop = (turn: Turn) =>
  stopWords(turn.stop_reason).anthropic ?? (calls(turn) ? "tool_use" : "end_turn");

export function openAiStop(turn: Turn) {
  // A refusal with a text is a complete answer. Without one, a content filter cut the answer.
  if (turn.stop_reason === "refusal" && refusalOf(turn.blocks) !== null) return "stop";
  return stopWords(turn.stop_reason).chat ?? (calls(turn) ? "tool_calls" : "stop");
}
