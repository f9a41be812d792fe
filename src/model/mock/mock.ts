/** What a test queues in a provider's place, and what it can look at afterwards. JSON-safe. */
import type { Message, Thinking, ToolDefinition } from "../../engine/messages.ts";
import type { ErrorCategory } from "../../errors/failure-class.ts";
import type { JsonObject } from "../../skill/manifest.ts";

/** One queued answer. Without `match` it is the answer to the next call, and used up by it. */
export interface Mock {
  /** Default: none. */
  text?: string;
  tool_calls?: { name: string; arguments?: JsonObject }[];
  /** Answers calls with a message that this pattern fits; `*` stands for anything. */
  match?: string;
  /** A mock with `match` is used up by its first call. */
  consume_match?: boolean;
  /** Tokens; default: the bytes of all messages. */
  input_tokens?: number;
  /** Default: 30. */
  output_tokens?: number;
  /** Default: 0. */
  cache_read_tokens?: number;
  cache_write_tokens?: number;
  /** Reasoning, and the summary of one. */
  thinking?: string;
  thinking_summary?: string;
  /** A normalised reason or any provider's own word; default: `tool_use` with calls, else `end_turn`. */
  stop_reason?: string;
  /** What the answer says that it is from; default: `mock`. */
  model?: string;
  /** Fails instead. */
  error?: MockError;
}

export interface MockError {
  category: ErrorCategory;
  /** What the provider is to have said. */
  message?: string;
  retry_after_ms?: number;
}

/** One attempt at a call, as the provider would have got it. */
export interface MockCall {
  messages: Message[];
  system: string;
  /** What was offered, whether in the provider's own form or in the system text. */
  tools: ToolDefinition[];
  thinking?: Thinking;
}
