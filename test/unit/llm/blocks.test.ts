/** Blocks of turns in results: what a caller sees, and nothing that only Hull needs. */
import { expect, test } from "vitest";
import type { Block } from "../../../src/engine/messages.ts";
import { resultBlock } from "../../../src/llm/blocks.ts";

const native = { provider: "anthropic", value: { signature: "of the provider" } };

test.each<[Block, object | null]>([
  [
    { type: "output_text", text: "Yes." },
    { type: "output_text", text: "Yes.", visibility: "public" },
  ],
  [
    { type: "reasoning", text: "Why.", signature: "s", native },
    { type: "reasoning", text: "Why.", signature: "s", visibility: "private" },
  ],
  [
    { type: "reasoning_summary", text: "In short.", native },
    { type: "reasoning_summary", text: "In short.", visibility: "private" },
  ],
  [
    { type: "tool_call", id: "c1", name: "look", arguments: { a: 1 }, raw: '{"a": 1}' },
    { type: "tool_call", id: "c1", name: "look", arguments: { a: 1 }, visibility: "internal" },
  ],
  [
    { type: "tool_call", id: "c1", name: "look", arguments: null, raw: "[1" },
    {
      type: "tool_call",
      id: "c1",
      name: "look",
      arguments: { __parse_error: "The arguments are not a JSON object: [1" },
      visibility: "internal",
    },
  ],
  [
    { type: "tool_search_query", id: "s1", name: "search", query: "x", native },
    { type: "tool_search_query", id: "s1", name: "search", query: "x", visibility: "internal" },
  ],
  [
    { type: "tool_search_result", tool_use_id: "s1", tool_references: [{ tool_name: "look" }], native },
    {
      type: "tool_search_result",
      tool_use_id: "s1",
      tool_references: [{ tool_name: "look" }],
      visibility: "internal",
    },
  ],
  [{ type: "opaque", provider: "anthropic", value: { secret: true } }, null],
])("a result shows %j without the provider's form", (block, shown) => {
  expect(resultBlock(block)).toEqual(shown);
});
