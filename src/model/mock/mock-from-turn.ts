/** Turns a model's turn into a mock that repeats it. Pure. */

import { type ModelTurn, textOfBlocks } from "../../engine/messages.ts";
import { present } from "../../skill/json.ts";
import type { Mock } from "./mock.ts";

export function mockFromTurn({ blocks, stop_reason, raw_stop_reason, usage, model }: ModelTurn): Mock {
  const text = textOfBlocks(blocks);
  const thinking = textOfBlocks(blocks, "reasoning");
  const thinking_summary = textOfBlocks(blocks, "reasoning_summary");
  const tool_calls = blocks.flatMap((block) =>
    block.type === "tool_call" ? [{ name: block.name, arguments: block.arguments ?? {} }] : [],
  );
  return {
    ...present({ text, thinking, thinking_summary, tool_calls }),
    stop_reason: raw_stop_reason ?? stop_reason,
    model,
    ...usage,
  };
}
