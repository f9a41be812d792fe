/** What a model can do. */

import type { CapabilityRule } from "./registry/layer.ts";

type Stated = Omit<Required<CapabilityRule>, "model_match" | "version_min">;
/** Abilities that are always known. In all others `null` means unknown, which never refuses a call. */
type Known =
  | "native_tools"
  | "defer_loading"
  | "tool_search"
  | "prompt_caching"
  | "thinking"
  | "text_tool_wire_format_supported";
type Fixed<T> = T extends readonly (infer Item)[] ? readonly Item[] : T;

export type ThinkingMode = Stated["thinking_modes"][number];

/** One row of the matrix: what its rules say. */
export type Capabilities = {
  [Name in keyof Stated]: Fixed<Stated[Name]> | (Name extends Known ? never : null);
} & {
  /** Whether a rule of the matrix covers this model; if none does, nothing counts as known. */
  matched: boolean;
};

/** What a rule that leaves these out means, even one of a user that hides a shipped rule. */
export const NO_TOOLS = {
  native_tools: false,
  defer_loading: false,
  tool_search: [],
  max_tools: null,
  prompt_caching: false,
} satisfies Partial<Capabilities>;

/** A model that the matrix does not cover. */
export const ALL_OFF: Capabilities = {
  ...NO_TOOLS,
  thinking: false,
  thinking_modes: null,
  vision: null,
  audio: null,
  pdf: null,
  structured_output: null,
  interleaved_thinking_supported: null,
  anthropic_beta_features: null,
  preserve_thinking: null,
  requires_completion_tokens: null,
  reasoning_effort_supported: null,
  honors_chat_template_kwargs: null,
  server_parser: null,
  recommended_endpoint: null,
  text_tool_wire_format_supported: true,
  matched: false,
};
