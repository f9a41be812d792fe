/** A turn of any provider as the chat completion that an OpenAI client expects. */

import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessage,
  ChatCompletionMessageFunctionToolCall,
} from "openai/resources/chat/completions";
import type { CompletionUsage } from "openai/resources/completions";
import {
  type Block,
  type ModelTurn,
  refusalIn,
  refusalOf,
  type ToolCallBlock,
  textOfBlocks,
  type Usage,
} from "../../engine/messages.ts";
import { present } from "../../skill/json.ts";
import { encodeBlock } from "../foreign-blocks.ts";
import { openAiStop } from "../stop-words.ts";

/** Further members of providers of this protocol, under the names that clients know. */
interface Reasoning {
  reasoning_content?: string;
  /** Blocks that the client sends back unchanged; each goes to the provider that made it. */
  reasoning_details?: { type: "reasoning.encrypted"; data: string }[];
}
type Answer = ChatCompletionMessage & Reasoning;

interface WireCompletion extends Omit<ChatCompletion, "choices"> {
  choices: (Omit<ChatCompletion.Choice, "message"> & { message: Answer })[];
}
export interface WireChunk extends Omit<ChatCompletionChunk, "choices"> {
  choices: (Omit<ChatCompletionChunk.Choice, "delta"> & {
    delta: ChatCompletionChunk.Choice.Delta & Reasoning;
  })[];
}

export interface CompletionHead {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
}

/** @param now Unix ms */
export const completionHead = (model: string, now: number): CompletionHead => ({
  id: `chatcmpl-${crypto.randomUUID().replaceAll("-", "")}`,
  created: Math.floor(now / 1000),
  model,
});

/** @param excludesCached whether the provider counts cached tokens separately from `input_tokens`, as Anthropic does */
export function completionUsage(usage: Usage, excludesCached: boolean): CompletionUsage {
  const { input_tokens, output_tokens, cache_read_tokens: read, cache_write_tokens: write } = usage;
  const prompt_tokens = excludesCached ? input_tokens + read + write : input_tokens;
  return {
    prompt_tokens,
    completion_tokens: output_tokens,
    total_tokens: prompt_tokens + output_tokens,
    prompt_tokens_details: { cached_tokens: read },
  };
}

export function completionOf(turn: ModelTurn, excludesCached: boolean, now: number): WireCompletion {
  const content = textOfBlocks(turn.blocks);
  const reasoning = turn.blocks.map((block) => (isThought(block) ? block.text : "")).join("");
  const message: Answer = {
    role: "assistant",
    content: content === "" ? null : content,
    refusal: refusalOf(turn.blocks),
    ...present({ reasoning_content: reasoning }),
    ...sentBack(turn.blocks),
    ...present({ tool_calls: wireCalls(turn.blocks) }),
  };
  return {
    ...completionHead(turn.model, now),
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: openAiStop(turn), logprobs: null }],
    usage: completionUsage(turn.usage, excludesCached),
  };
}

export const wireCalls = (blocks: readonly Block[]): ChatCompletionMessageFunctionToolCall[] =>
  blocks.flatMap((block) => (block.type === "tool_call" ? [wireCall(block)] : []));

const wireCall = ({ id, name, raw }: ToolCallBlock): ChatCompletionMessageFunctionToolCall => ({
  id,
  type: "function",
  function: { name, arguments: raw.trim() === "" ? "{}" : raw },
});

/** The blocks that the client sends back. */
export function sentBack(blocks: readonly Block[]): Pick<Reasoning, "reasoning_details"> {
  const details = blocks.filter(mustGoBack).map((block) => {
    return { type: "reasoning.encrypted" as const, data: encodeBlock(block) };
  });
  return present({ reasoning_details: details });
}

export const isThought = (block: Block) => block.type === "reasoning" || block.type === "reasoning_summary";

/** Whether a provider wants its block back. A refusal has a member of its own. */
export function mustGoBack(block: Block): boolean {
  if (block.type === "reasoning") return block.signature !== undefined || block.native !== undefined;
  if (block.type === "reasoning_summary") return block.native !== undefined;
  return block.type === "opaque" && refusalIn(block) === null;
}
