/**
 * The canonical conversation, whatever the provider: what the engine's records hold and what
 * `src/model` maps to and from each wire protocol. JSON-safe.
 */
import type { Json, JsonObject } from "../skill/manifest.ts";

/** Where the bytes of a part are: in Base64, or at a URL that the provider fetches. */
export type Media = { media_type: string; data: string } | { url: string };

/** A part of a user message. */
export type Part =
  | { type: "text"; text: string }
  | ({ type: "image"; detail?: "auto" | "low" | "high" } & Media)
  /** A PDF. */
  | ({ type: "document"; filename?: string } & Media)
  | { type: "audio"; media_type: string; data: string };

/** A block in the shape of the provider that made it: goes back to that provider verbatim, in the block's place. */
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
  /** The provider's own tool search: what the model asked for, and the tools that it found. */
  | { type: "tool_search_query"; id: string; name: string; query: Json; native?: Native }
  | {
      type: "tool_search_result";
      tool_use_id: string;
      tool_references: { tool_name: string }[];
      native?: Native;
    }
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

/** Normalised stop reasons; `pause` asks to call again with the turn so far. */
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
  /** What of the request did not reach the provider as asked. */
  warnings?: Warning[];
  /** The provider's own document, of a request that it got verbatim. */
  document?: JsonObject;
  /** Where the provider itself ran code: its container, with the skills in it. Absent: it did not. */
  container?: JsonObject;
}

/** Something that was asked for and not honoured, or not as asked. */
export interface Warning {
  /** Stable, e.g. `option_ignored`. */
  code: string;
  message: string;
  option?: string;
}

/** A tool as offered to a model; `parameters` is a JSON Schema object. */
export interface ToolDefinition {
  name: string;
  description: string;
  parameters: JsonObject;
  /** Not in the model's context until a search surfaces it. */
  defer_loading?: boolean;
  /** Groups deferred tools, where a provider knows groups. */
  namespace?: string;
}

/** `none`: the tools stay declared (providers want them beside tool history) but may not be called. */
export type ToolChoice = "auto" | "none" | "required" | { name: string };

/** How much a model is to reason; absent: as it does by itself. */
export type Thinking =
  | { mode: "enabled"; budget_tokens?: number }
  | { mode: "adaptive" }
  | { mode: "effort"; level: "low" | "medium" | "high" };

/** Parameters of the choice among next tokens. */
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

/** One model call, independent of provider. */
export interface ModelRequest {
  system: string;
  messages: Message[];
  tools: ToolDefinition[];
  /** Instead of `tools` where the model has no channel for them: what `system` tells of. Not sent. */
  tools_in_text?: ToolDefinition[];
  tool_choice: ToolChoice;
  max_tokens: number;
  /** Ask for a JSON answer where the provider has such a mode. */
  json: boolean;
  /** The JSON Schema of that answer; `strict`: the provider is to enforce it. */
  schema?: { schema: JsonObject; strict: boolean };
  /** Whoever asked reads the answer's text only: no tool may stand in for a JSON mode. */
  json_as_text?: boolean;
  sampling?: Sampling;
  thinking?: Thinking;
  /** Anthropic: reasoning between tool calls, and further beta features by name. */
  interleaved_thinking?: boolean;
  beta_features?: string[];
  /** The provider's own tool search over the deferred tools. */
  tool_search?: { variant: "bm25" | "regex" | "hosted" };
  /** Text that the answer starts with. */
  prefill?: string;
  /** The text between these is wanted: `messages` ask it of a model whose provider has no endpoint for completions. */
  completion?: { prefix: string; suffix?: string };
  /** Mark the prompt for the provider's prompt cache. */
  cache?: boolean;
  /** Merged into the request body last, verbatim. */
  extra?: JsonObject;
  verbatim?: Verbatim;
  beside?: Beside;
}

/**
 * The request as its client wrote it, in the words of a wire protocol: a target that speaks this protocol gets it as it is, with its
 * own model. The other members say the same, for whoever counts tokens and for other targets.
 */
export interface Verbatim {
  protocol: "anthropic";
  body: JsonObject;
  /** Beside the target's own headers, over which they win. */
  headers: { [name: string]: string };
}

/**
 * What the client of a vendor's API wrote beside what is canonical: targets that speak this protocol get it as it is, others get
 * nothing of it.
 */
export interface Beside {
  protocol: "anthropic" | "openai-chat";
  /** Members of the body; they win. */
  body: JsonObject;
  /** Tools that the provider itself runs, after the others. */
  tools: JsonObject[];
  /** Over the target's own; betas are added to its betas. */
  headers: { [name: string]: string };
}

/** Ids of all tool calls, in their order. */
export function toolCallIds(history: readonly Message[]): string[] {
  return history.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((block) => (block.type === "tool_call" ? [block.id] : []))
      : [],
  );
}
