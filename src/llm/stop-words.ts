/** Why a turn ended, in the words of the vendors' APIs. */
import { type ModelTurn, refusalOf } from "../engine/messages.ts";

type Turn = Pick<ModelTurn, "stop_reason" | "blocks">;

const calls = ({ blocks }: Turn): boolean => blocks.some((block) => block.type === "tool_call");

export function anthropicStop(turn: Turn) {
  switch (turn.stop_reason) {
    case "max_tokens":
    case "stop_sequence":
    case "refusal":
      return turn.stop_reason;
    case "content_filter":
      return "refusal";
    case "pause":
      return "pause_turn";
    default:
      return calls(turn) ? "tool_use" : "end_turn";
  }
}

export function openAiStop(turn: Turn) {
  switch (turn.stop_reason) {
    case "max_tokens":
      return "length";
    // A refusal with a text is a complete answer. Without one, a content filter cut the answer.
    case "refusal":
      return refusalOf(turn.blocks) === null ? "content_filter" : "stop";
    case "content_filter":
      return "content_filter";
    default:
      return calls(turn) ? "tool_calls" : "stop";
  }
}
