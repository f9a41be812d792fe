/**
 * The canonical conversation, independent of the provider. The engine's records hold it, and `src/model` maps it to and
 * from each wire protocol. JSON-safe.
 */
import * as z from "zod/mini";
import { count, maybe, type Shaped, text } from "../answer-shape.ts";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import type { StopReason } from "./stop-reason.ts";

/** The bytes of a part: in Base64, or at a URL that the provider fetches. */
export type Media = { media_type: string; data: string } | { url: string };

/** A part of a user message. */
export type Part =
  | { type: "text"; text: string }
  | ({ type: "image"; detail?: "auto" | "low" | "high" } & Media)
  /** A PDF. */
  | ({ type: "document"; filename?: string } & Media)
  | { type: "audio"; media_type: string; data: string };

/** A block in the shape of the provider that made it. That provider gets it back verbatim, in the same place. */
export interface Native {
  provider: string;
  value: Json;
}

/** A piece of a model's turn, in the order received. */
export type Block =
  | { type: "output_text"; text: string }
  /** Private reasoning; `signature` must go back unchanged to the provider that made it. */
  | { type: "reasoning"; text: string; signature?: string; native?: Native }
  | { type: "reasoning_summary"; text: string; native?: Native }
  | ToolCallBlock
  /** The provider's own tool search: the model's query, and the tools that it found. */
  | { type: "tool_search_query"; id: string; name: string; query: Json; native?: Native }
  | {
      type: "tool_search_result";
      tool_use_id: string;
      tool_references: { tool_name: string }[];
      native?: Native;
    }
  /** A provider's block without a canonical form. It goes back verbatim to that provider; others do not get it. */
  | { type: "opaque"; provider: string; value: Json };

export interface ToolCallBlock {
  type: "tool_call";
  /** The provider's id; a generated one (`call_<n>`) if it sent none. */
  id: string;
  name: string;
  /** `null`: the raw text, in `raw`, is not a JSON object. */
  arguments: JsonObject | null;
  /** The arguments as the model wrote them; `""` counts as `{}`. */
  raw: string;
}

export interface ToolResultMessage {
  call_id: string;
  name: string;
  content: string;
  is_error: boolean;
}

export type Message =
  | { role: "user"; content: Part[] }
  | { role: "assistant"; content: Block[] }
  /** Results of one assistant turn, in call order. */
  | { role: "tool"; results: ToolResultMessage[] };

/** Tokens; 0 if a provider does not report them. */
export type Usage = Shaped<typeof usageShape>;
export const usageShape = () =>
  z.object({
    input_tokens: count(),
    output_tokens: count(),
    cache_read_tokens: count(),
    cache_write_tokens: count(),
  });

export const NO_USAGE: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
};

export const totalUsage = (one: Usage, other: Usage): Usage => ({
  input_tokens: one.input_tokens + other.input_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
  cache_read_tokens: one.cache_read_tokens + other.cache_read_tokens,
  cache_write_tokens: one.cache_write_tokens + other.cache_write_tokens,
});

/** One answered model call. */
export interface ModelTurn {
  blocks: Block[];
  stop_reason: StopReason;
  /** The stop reason in the provider's own word. */
  raw_stop_reason: string | null;
  usage: Usage;
  provider: string;
  /** The model's name, as the provider reports it. */
  model: string;
  /** Why the model refused, if its provider says so outside of the blocks. */
  refusal?: string;
  /** Parts of the request that did not reach the provider as requested, and how the answer is not whole. */
  warnings?: Warning[];
  /** The provider's own document, for a request that it got verbatim. */
  document?: JsonObject;
  /** The container in which the provider itself ran code, with its skills. Absent: it ran none. */
  container?: JsonObject;
}

/** Something in the request that Hull did not do, or did differently. `code` is stable, e.g. `option_ignored`. */
export type Warning = Shaped<typeof warningShape>;
const warningShape = () => z.object({ code: text(), message: text(), option: maybe(text()) });
/** The warnings of an answer. Absent: none. */
export const warnings = () => maybe(z.readonly(z.array(warningShape())));

/** A tool for a model; `parameters` is a JSON Schema object. */
export interface ToolDefinition {
  name: string;
  description: string;
  parameters: JsonObject;
  /** Not in the model's context until a search finds it. */
  defer_loading?: boolean;
  /** Groups deferred tools for providers that support groups. */
  namespace?: string;
  /** The provider should hold the arguments to `parameters`. Only OpenAI's protocols get it. */
  strict?: boolean;
}

/** `none`: the tools stay declared (providers require them together with tool history) but may not be called. */
export type ToolChoice = "auto" | "none" | "required" | { name: string };

/** How much a model should reason; absent: its default. */
export type Thinking =
  | { mode: "enabled"; budget_tokens?: number }
  /** The model decides whether it reasons. */
  | { mode: "adaptive" }
  /** `adaptive`: the model decides whether it reasons; absent: it must be able to. */
  | { mode: "effort"; level: "low" | "medium" | "high"; adaptive?: true };

/** How the model chooses the next token. */
export interface Sampling {
  temperature?: number;
  top_p?: number;
  top_k?: number;
  /** Never empty. */
  stop?: string[];
  seed?: number;
  frequency_penalty?: number;
  presence_penalty?: number;
}

/** A text of the system prompt. */
export interface SystemBlock {
  text: string;
  /** The caller's mark up to which the provider caches the prompt, unchanged. Absent: no mark. */
  cache_control?: JsonObject;
}

/** One model call, independent of provider. */
export interface ModelRequest {
  system: string;
  /**
   * The texts that `system` consists of, joined by blank lines, with the caller's marks. For providers that take marks;
   * others get only `system`, or with `system_listed` the texts.
   */
  system_blocks?: SystemBlock[];
  /** The caller sent these texts as the list of a chat message: so do targets of the chat protocol. */
  system_listed?: true;
  messages: Message[];
  tools: ToolDefinition[];
  /** Replaces `tools` for a model without a channel for them: the tools that `system` describes. Not sent. */
  tools_in_text?: ToolDefinition[];
  /** Absent: the provider's own default applies. */
  tool_choice?: ToolChoice;
  /** `false`: at most one call in a turn. Absent: the provider's own default applies. */
  parallel_tool_calls?: boolean;
  max_tokens: number;
  /** Ask for a JSON answer if the provider has such a mode. */
  json: boolean;
  /** The JSON Schema of that answer; `strict`: the provider should enforce it. */
  schema?: { schema: JsonObject; strict: boolean };
  /** The caller reads only the answer's text: no tool may replace a JSON mode. */
  json_as_text?: boolean;
  sampling?: Sampling;
  thinking?: Thinking;
  /** Anthropic: reasoning between tool calls, and further beta features by name. */
  interleaved_thinking?: boolean;
  beta_features?: string[];
  /** The provider's own search of the deferred tools. */
  tool_search?: { variant: "bm25" | "regex" | "hosted" };
  /** Text that the answer starts with. */
  prefill?: string;
  /**
   * The caller wants the text between these. `messages` ask for it if the provider has no endpoint for completions.
   * `system`: the caller's own.
   */
  completion?: { prefix: string; suffix?: string; system?: string };
  /** Mark the prompt for the provider's prompt cache. */
  cache?: boolean;
  /** Merged into the request body last, verbatim. */
  extra?: JsonObject;
  verbatim?: Verbatim;
  passthrough?: ProviderPassthrough;
}

/**
 * The client's own request in a wire protocol. A target with this protocol gets it unchanged, except for the model. The
 * other members of the request mean the same, for code that counts tokens and for other targets.
 */
export interface Verbatim {
  protocol: "anthropic";
  body: JsonObject;
  /** Headers that are added to the target's own and override them. */
  headers: { [name: string]: string };
}

/**
 * The parts of a vendor request that have no canonical form. Targets that speak this protocol get them unchanged,
 * others get none of them.
 */
export interface ProviderPassthrough {
  protocol: "anthropic" | "openai-chat";
  /** Members of the body, which override Hull's. */
  body: JsonObject;
  /** Tools that the provider itself runs, after the others. */
  tools: JsonObject[];
  /** Headers that override the target's own; its betas are kept and these added. */
  headers: { [name: string]: string };
}

/** The tool calls of a model's turn; of another message none. */
export const callsOf = (message: Message): ToolCallBlock[] =>
  message.role === "assistant" ? message.content.filter((block) => block.type === "tool_call") : [];

/** Ids of all tool calls, in their order. */
export const toolCallIds = (history: readonly Message[]): string[] =>
  history.flatMap(callsOf).map(({ id }) => id);

/** The texts of all blocks of a kind, joined. */
export function textOfBlocks(
  blocks: readonly Block[],
  type: "output_text" | "reasoning" | "reasoning_summary" = "output_text",
): string {
  return blocks.map((block) => (block.type === type ? block.text : "")).join("");
}

/** The refusal text that a block of a model of OpenAI's protocols holds; `null`: it holds none. */
export function refusalIn(block: Block): string | null {
  if (block.type !== "opaque" || !isObject(block.value)) return null;
  return typeof block.value.refusal === "string" ? block.value.refusal : null;
}

/** The first refusal text of a turn; `null`: the model did not refuse. */
export const refusalOf = (blocks: readonly Block[]): string | null =>
  blocks.map(refusalIn).find((refusal) => refusal !== null) ?? null;

/** Whether the model refused, or a filter of its provider ended the answer. */
export const isRefused = ({ stop_reason }: Pick<ModelTurn, "stop_reason">): boolean =>
  stop_reason === "refusal" || stop_reason === "content_filter";
