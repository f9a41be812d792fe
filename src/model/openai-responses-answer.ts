/** Turns a response into the canonical turn. */

import * as z from "zod/mini";
import { type Block, type ModelTurn, refusalOf } from "../engine/messages.ts";
import type { StopReason } from "../engine/stop-reason.ts";
import { isObject } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { textBlocks } from "./openai-chat-answer.ts";
import {
  failedAnswer,
  optionalText,
  parseArguments,
  rawArguments,
  readShape,
  textIn,
} from "./provider-document.ts";
import { searchBlock } from "./tool-search-blocks.ts";
import { type CallIdSource, turnOf, type WireTarget } from "./wire.ts";

const responseShape = z.lazy(() => {
  const text = optionalText();
  return z.object({
    model: text,
    status: text,
    incomplete_details: z.catch(z.nullish(z.object({ reason: text })), null),
    output: z.array(z.looseObject({ type: z.string() })),
    usage: z.optional(z.unknown()),
  });
});

/** @throws ProviderBadResponse if it failed, is an error object or has another shape */
export function parseResponse(answer: unknown, target: WireTarget, callId: CallIdSource): ModelTurn {
  const response = readShape(responseShape, answer, target);
  if (response.status === "failed" || response.status === "cancelled") {
    throw failedAnswer(target, `its status is ${response.status}`, answer);
  }
  const blocks: Block[] = [];
  let search = "";
  for (const item of response.output) {
    if (!isObject(item)) continue;
    const found = searchBlock(item, target.provider, search);
    if (found?.type === "tool_search_query") search = found.id;
    blocks.push(...(found === null ? itemBlocks(item, target, callId) : [found]));
  }
  const incomplete = response.status === "incomplete" ? (response.incomplete_details?.reason ?? null) : null;
  const status = response.status ?? null;
  return {
    ...turnOf(target, response, blocks, incomplete ?? status),
    stop_reason: stopReason(status, incomplete, blocks),
  };
}

function stopReason(status: string | null, incomplete: string | null, blocks: readonly Block[]): StopReason {
  if (incomplete === "max_output_tokens" || incomplete === "max_tokens") return "max_tokens";
  if (incomplete === "content_filter" || refusalOf(blocks) !== null) return "refusal";
  if (status !== "completed" && status !== null) return "other";
  return blocks.some((block) => block.type === "tool_call") ? "tool_use" : "end_turn";
}

function itemBlocks(item: JsonObject, target: WireTarget, callId: CallIdSource): Block[] {
  const { provider } = target;
  switch (item.type) {
    case "message":
      return messageBlocks(item, provider);
    case "reasoning":
      return reasoningBlocks(item, provider);
    case "function_call": {
      const raw = rawArguments(item.arguments);
      return [
        {
          type: "tool_call",
          id: callId(textIn(item, "call_id") || textIn(item, "id")),
          name: textIn(item, "name"),
          arguments: item.status === "incomplete" ? null : parseArguments(raw),
          raw,
        },
      ];
    }
    default:
      return [{ type: "opaque", provider, value: item }];
  }
}

function messageBlocks(item: JsonObject, provider: string): Block[] {
  const parts = Array.isArray(item.content) ? item.content.filter(isObject) : [];
  const blocks = parts.flatMap((part): Block[] => {
    if (part.type === "output_text") return textBlocks(textIn(part, "text"));
    return part.type === "refusal"
      ? [{ type: "opaque", provider, value: { refusal: textIn(part, "refusal") } }]
      : [];
  });
  // The provider wants it back with its message.
  const { phase } = item;
  return typeof phase === "string" ? [...blocks, { type: "opaque", provider, value: { phase } }] : blocks;
}

/**
 * The blocks of a reasoning item. The first block carries the whole item, which goes back unchanged; an item that only
 * the provider can read has no other form.
 */
function reasoningBlocks(item: JsonObject, provider: string): Block[] {
  const texts = (list: unknown): string[] =>
    (Array.isArray(list) ? list : [])
      .filter(isObject)
      .map((part) => textIn(part, "text"))
      .filter((text) => text !== "");
  const said = [
    ...texts(item.content).map((text) => ({ type: "reasoning" as const, text })),
    ...texts(item.summary).map((text) => ({ type: "reasoning_summary" as const, text })),
  ];
  const native = { provider, value: item };
  if (said.length === 0) return [{ type: "opaque", ...native }];
  return said.map((block, n) => (n === 0 ? { ...block, native } : block));
}
