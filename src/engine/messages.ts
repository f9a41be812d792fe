/**
 * The canonical conversation, whatever the provider (agent-runtime.md §1.3): what the engine's records hold and what
 * `src/model` maps to and from each wire protocol. JSON-safe.
 */
import type { Json, JsonObject } from "../skill/manifest.ts";

/** A part of a user message. `data` of an image is Base64. */
export type Part = { type: "text"; text: string } | { type: "image"; media_type: string; data: string };

/** A piece of a model's turn, in the order received. */
export type Block =
  | { type: "output_text"; text: string }
  /** Private reasoning; `signature` must go back unchanged to the provider that made it. */
  | { type: "reasoning"; text: string; signature?: string }
  | ToolCallBlock
  /** A provider's own block that has no canonical form; goes back verbatim to that provider, is dropped for others. */
  | { type: "opaque"; provider: string; value: Json };

export interface ToolCallBlock {
  type: "tool_call";
  /** The provider's id; a made-up one (`call_<n>`) where it sent none. */
  id: string;
  name: string;
  /** `null` when the raw text is not a JSON object; `raw` then says what came. */
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

/** Normalised stop reasons (agent-runtime.md §3.6); `pause` asks to call again with the turn so far. */
export type StopReason =
  | "end_turn"
  | "max_tokens"
  | "tool_use"
  | "stop_sequence"
  | "refusal"
  | "content_filter"
  | "pause"
  | "other";

/** Tokens; 0 where a provider does not say. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
}

/** One answered model call. */
export interface ModelTurn {
  blocks: Block[];
  stop_reason: StopReason;
  /** The provider's own word. */
  raw_stop_reason: string | null;
  usage: Usage;
  provider: string;
  /** As the provider named it. */
  model: string;
}

/** A tool as offered to a model; `parameters` is a JSON Schema object. */
export interface ToolDefinition {
  name: string;
  description: string;
  parameters: JsonObject;
}

/** One model call, independent of provider. */
export interface ModelRequest {
  system: string;
  messages: Message[];
  tools: ToolDefinition[];
  /** `none`: the tools stay declared (providers want them beside tool history) but may not be called. */
  tool_choice: "auto" | "none";
  max_tokens: number;
  /** Ask for a JSON answer where the provider has such a mode. */
  json: boolean;
}
