/** Turns an Anthropic message into the canonical turn. */

import * as z from "zod/mini";
import type { Block, ModelTurn } from "../engine/messages.ts";
import { exactJson } from "../skill/exact-json.ts";
import { isObject, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { readShape } from "./provider-document.ts";
import { type CallIdSource, stopReason, turnOf, type WireTarget } from "./wire.ts";

const messageShape = z.lazy(() => {
  const optionalText = z.nullish(z.string());
  return z.object({
    model: optionalText,
    content: z.array(z.looseObject({ type: z.string() })),
    stop_reason: optionalText,
    stop_details: z.optional(z.unknown()),
    usage: z.optional(z.unknown()),
    container: z.optional(z.unknown()),
  });
});
// Compatible servers write `null` for what Anthropic leaves out.
const textBlock = z.lazy(() => z.object({ text: z.nullable(z.string()) }));
const thinkingBlock = z.lazy(() =>
  z.object({ thinking: z.nullable(z.string()), signature: z.nullish(z.string()) }),
);
const toolUseBlock = z.lazy(() =>
  z.object({ id: z.nullish(z.string()), name: z.string(), input: z.optional(z.custom<Json>()) }),
);
const serverToolUse = z.lazy(() => z.object({ id: z.string(), name: z.string() }));
const searchResult = z.lazy(() => {
  const references = z.catch(z.optional(z.array(z.object({ tool_name: z.string() }))), undefined);
  return z.object({ tool_use_id: z.string(), content: z.object({ tool_references: references }) });
});

/** @throws ProviderBadResponse if it is an error object or has another shape */
export function parseMessage(
  answer: unknown,
  target: WireTarget,
  callId: CallIdSource,
  text = "",
): ModelTurn {
  const message = readShape(messageShape, answer, target);
  const raw = message.stop_reason ?? null;
  const { explanation } = objectOf(message.stop_details);
  const last = message.content.at(-1);
  // The answer does not show whether the token limit cut a call's arguments, so its last call counts as cut.
  const cut = raw !== null && stopReason(raw) === "max_tokens";
  const blocks = message.content.map((block, index) => {
    const written = (input: Json): string => exactJson(input, text, (sent) => inputAt(sent, index));
    return parseBlock(block, { cut: cut && block === last, written }, target, callId);
  });
  return {
    ...turnOf(target, message, blocks, raw),
    ...(raw === null ? { stop_reason: "other" as const } : {}),
    ...(typeof explanation === "string" ? { refusal: explanation } : {}),
    ...(isObject(message.container) ? { container: message.container } : {}),
  };
}

/** The input of a block of the document, by its index. */
function inputAt(document: Json, index: number): Json | undefined {
  const blocks = isObject(document) && Array.isArray(document.content) ? document.content : [];
  return objectOf(blocks[index]).input;
}

interface BlockFacts {
  /** Whether the token limit may have cut it. */
  cut: boolean;
  /** An input as JSON, with all its digits. */
  written: (input: Json) => string;
}

function parseBlock(
  block: { type: string },
  facts: BlockFacts,
  target: WireTarget,
  callId: CallIdSource,
): Block {
  const value: JsonObject = objectOf(block);
  const native = { provider: target.provider, value };
  switch (block.type) {
    case "text":
      return { type: "output_text", text: readShape(textBlock, block, target).text ?? "" };
    case "thinking": {
      const { thinking, signature } = readShape(thinkingBlock, block, target);
      return { type: "reasoning", text: thinking ?? "", ...(signature ? { signature } : {}) };
    }
    case "tool_use": {
      const { id, name, input } = readShape(toolUseBlock, block, target);
      return { type: "tool_call", id: callId(id), name, ...readInput(input, facts) };
    }
    case "server_tool_use": {
      const { id, name } = readShape(serverToolUse, block, target);
      if (!name.startsWith("tool_search_tool")) return { type: "opaque", ...native };
      return { type: "tool_search_query", id, name, query: value.input ?? null, native };
    }
    case "tool_search_tool_result": {
      const { tool_use_id, content } = readShape(searchResult, block, target);
      const tool_references = content.tool_references ?? [];
      return { type: "tool_search_result", tool_use_id, tool_references, native };
    }
    default:
      return { type: "opaque", ...native };
  }
}

/** A text instead of an object is a streamed input that did not parse. */
function readInput(
  input: Json | undefined,
  { cut, written }: BlockFacts,
): { arguments: JsonObject | null; raw: string } {
  const given = input === undefined || input === null || input === "" ? {} : input;
  const raw = typeof given === "string" ? given : written(given);
  return { arguments: isObject(given) && !cut ? given : null, raw };
}
