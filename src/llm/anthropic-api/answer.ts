/** A turn of any provider as the message that an Anthropic client expects. */
import type {
  BetaContentBlock,
  BetaMessage,
  BetaUsage,
} from "@anthropic-ai/sdk/resources/beta/messages/messages";
import {
  type Block,
  type ModelTurn,
  NO_USAGE,
  refusalIn,
  refusalOf,
  type Usage,
} from "../../engine/messages.ts";
import { withSentDigits } from "../../skill/exact-json.ts";
import { isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { parseErrorArguments } from "../blocks.ts";
import { encodeBlock } from "../foreign-blocks.ts";
import { anthropicStop } from "../stop-words.ts";

/** A typed block, or one of Anthropic's own, unchanged. */
type WireBlock = BetaContentBlock | JsonObject;
/** `beta.messages` of the SDKs expects all that `messages` expects, and more; both send the same request. */
type WireMessage = Omit<BetaMessage, "content"> & { content: WireBlock[] };

/** An id in Anthropic's form. */
const newMessageId = (): string => `msg_${crypto.randomUUID().replaceAll("-", "")}`;

/** @param excludesCached whether the provider counts cached tokens separately from `input_tokens`, as Anthropic does */
export function wireUsage(usage: Usage, excludesCached: boolean): BetaUsage {
  const { input_tokens, output_tokens, cache_read_tokens: read, cache_write_tokens: write } = usage;
  return {
    input_tokens: excludesCached ? input_tokens : Math.max(0, input_tokens - read - write),
    output_tokens,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: write,
    cache_creation: null,
    fallback_credit: null,
    inference_geo: null,
    iterations: null,
    output_tokens_details: null,
    server_tool_use: null,
    service_tier: null,
    speed: null,
  };
}

/** The message without content with which a stream begins. */
export function emptyMessage(model: string): WireMessage {
  return {
    id: newMessageId(),
    type: "message",
    role: "assistant",
    model,
    content: [],
    container: null,
    context_management: null,
    diagnostics: null,
    stop_details: null,
    stop_reason: null,
    stop_sequence: null,
    usage: wireUsage(NO_USAGE, true),
  };
}

/** The turn as a whole message: the provider's own document where there is one. */
export function messageOf(turn: ModelTurn, excludesCached: boolean): WireMessage | JsonObject {
  if (turn.document !== undefined) return turn.document;
  return {
    ...emptyMessage(turn.model),
    content: shownBlocks(turn.blocks).map(wireBlock),
    stop_reason: anthropicStop(turn),
    stop_details: stopDetails(turn),
    usage: wireUsage(turn.usage, excludesCached),
  };
}

/** Why the model refused; `null`: it did not. */
export function stopDetails(
  turn: Pick<ModelTurn, "stop_reason" | "blocks" | "refusal">,
): BetaMessage["stop_details"] {
  if (anthropicStop(turn) !== "refusal") return null;
  return {
    type: "refusal",
    category: null,
    explanation: turn.refusal ?? refusalOf(turn.blocks),
    fallback_credit_token: null,
    fallback_has_prefill_claim: null,
    recommended_model: null,
  };
}

/**
 * The blocks of a turn that the client gets. Clients such as Claude Code take the last block for the answer, so what only
 * goes back to the provider does not follow the text of a turn without calls. The provider can do without it then.
 * @param order `text first`: the client has the text already
 */
export function shownBlocks(
  blocks: readonly Block[],
  order: "in order" | "text first" = "in order",
): readonly Block[] {
  const text = blocks.findLastIndex(({ type }) => type === "output_text");
  if (text === -1 || blocks.some(({ type }) => type === "tool_call")) return blocks;
  const before = order === "in order" ? text : -1;
  return blocks.filter((block, n) => n <= before || !/thinking$/.test(String(wireBlock(block).type)));
}

/**
 * A block as Anthropic's clients know it: a refusal is text. Blocks that they do not know become `redacted_thinking`, which
 * they send back unchanged.
 */
export function wireBlock(block: Block): WireBlock {
  switch (block.type) {
    case "output_text":
      return { type: "text", text: block.text, citations: null };
    case "reasoning":
    case "reasoning_summary": {
      const own = block.type === "reasoning" ? block.signature : undefined;
      const signature = own ?? (block.native === undefined ? "" : encodeBlock(block));
      return { type: "thinking", thinking: block.text, signature };
    }
    case "tool_call": {
      const { id, name, arguments: given, raw } = block;
      return {
        type: "tool_use",
        id,
        name,
        input: given === null ? parseErrorArguments(raw) : withSentDigits(given, raw),
        caller: { type: "direct" },
      };
    }
    default: {
      const refusal = refusalIn(block);
      if (refusal !== null) return { type: "text", text: refusal, citations: null };
      return ownBlock(block) ?? { type: "redacted_thinking", data: encodeBlock(block) };
    }
  }
}

/** A block of what Anthropic itself ran, which its clients know; `null`: something else. */
function ownBlock(block: Block): JsonObject | null {
  if (block.type !== "opaque" || !isObject(block.value)) return null;
  const { type } = block.value;
  return typeof type === "string" && /^server_tool_use$|_tool_result$/.test(type) ? block.value : null;
}
