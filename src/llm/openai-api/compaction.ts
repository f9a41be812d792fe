/** Compaction: a model's summary, in one item, replaces the conversation before it. */
import { instructionsFor, linesOf, modelSummary } from "../../engine/agent/compaction.ts";
import type { Message, ModelRequest } from "../../engine/messages.ts";
import { isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { decodeBlock, encodeBlock } from "../foreign-blocks.ts";
import { wrong } from "../members.ts";

const SUMMARY_TOKENS = 8192;

/** The model call that writes the summary. @throws InvalidRequest if there is nothing to summarise */
export function summaryRequest(messages: readonly Message[], instructions: string): ModelRequest {
  const lines = messages.flatMap(linesOf);
  if (lines.length === 0) throw wrong("input", "a message is required");
  return {
    system: instructions,
    messages: [{ role: "user", content: [{ type: "text", text: instructionsFor(lines, messages.length) }] }],
    tools: [],
    tool_choice: "none",
    max_tokens: SUMMARY_TOKENS,
    json: false,
  };
}

/**
 * The items with which the client continues: the messages to the model, and the summary.
 * @param count how many messages the summary replaces
 * @param id of the new item
 */
export function compactedItems(
  items: readonly JsonObject[],
  summary: string,
  { count, id }: { count: number; id: string },
): JsonObject[] {
  const kept = items.filter(({ type = "message", role }) => type === "message" && role !== "assistant");
  const text = modelSummary(summary, count);
  return [...kept, { id, type: "compaction", encrypted_content: encodeBlock({ type: "output_text", text }) }];
}

/** The summary in an item of type `compaction`. @throws InvalidRequest for an item that Hull did not make */
export function compactedText({ encrypted_content }: JsonObject, path: string): string {
  const block = typeof encrypted_content === "string" ? decodeBlock(encrypted_content) : null;
  if (isObject(block) && block.type === "output_text") return block.text;
  throw wrong(`${path}.encrypted_content`, "what POST /v1/responses/compact answered is expected");
}
