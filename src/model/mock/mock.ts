/** The answers that a test queues to replace a provider's, and the calls that it can inspect afterwards. JSON-safe. */
import type { Message, Thinking, ToolDefinition } from "../../engine/messages.ts";
import type { ErrorCategory } from "../../errors/failure-class.ts";
import type { JsonObject } from "../../skill/manifest.ts";

/** One queued answer. Without `match` it answers the next call, which uses it up. */
export interface Mock {
  /** Default: none. */
  text?: string;
  tool_calls?: { name: string; arguments?: JsonObject }[];
  /** Answers calls with a message that matches this pattern; `*` stands for anything. */
  match?: string;
  /** The first call uses up a mock with `match`. */
  consume_match?: boolean;
  /** Tokens; default: a count of the bytes of all messages. */
  input_tokens?: number;
  /** Default: 30. */
  output_tokens?: number;
  /** Default: 0. */
  cache_read_tokens?: number;
  cache_write_tokens?: number;
  /** Reasoning, and a summary of reasoning. */
  thinking?: string;
  thinking_summary?: string;
  /** A normalised reason or any provider's own word; default: `tool_use` with calls, else `end_turn`. */
  stop_reason?: string;
  /** The model that the answer names; default: `mock`. */
  model?: string;
  /** The call fails with this error. */
  error?: MockError;
}

export interface MockError {
  category: ErrorCategory;
  /** The provider's supposed words. */
  message?: string;
  retry_after_ms?: number;
}

/** One attempt at a call, as the provider would have received it. */
export interface MockCall {
  messages: Message[];
  system: string;
  /** The offered tools, whether in the provider's own form or in the system text. */
  tools: ToolDefinition[];
  thinking?: Thinking;
}
