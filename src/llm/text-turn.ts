/** Tool calls in text, for models without a native channel. */

import { type ModelTurn, type ToolDefinition, textOfBlocks } from "../engine/messages.ts";
import { parseTextTurn } from "../engine/text-tools/parse.ts";
import { toolCall } from "../model/provider-document.ts";
import type { CallTurn } from "./result.ts";

/** A turn with the calls in its text. Native calls count, too. */
export function readTextTurn(turn: ModelTurn, tools: readonly ToolDefinition[]): CallTurn {
  const text = textOfBlocks(turn.blocks);
  const read = parseTextTurn(
    text,
    tools.map(({ name }) => name),
  );
  const taken = turn.blocks.filter((block) => block.type === "tool_call").length;
  const calls = read.calls.map((call, n) => toolCall(`call_${taken + n + 1}`, call.name, call.arguments));
  const blocks = [...turn.blocks, ...calls];
  return {
    ...turn,
    blocks,
    text,
    stop_reason: blocks.some((block) => block.type === "tool_call") ? "tool_use" : turn.stop_reason,
    text_format: {
      prose: read.prose,
      canonical_text: read.canonical,
      protocol_violations: read.violations,
      tool_parse_errors: read.errors,
      done_marker: read.done,
    },
  };
}
