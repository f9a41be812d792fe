/** What a model can do. */

export type ThinkingMode = "enabled" | "adaptive" | "effort";
type SearchVariant = "bm25" | "regex" | "hosted" | "client";

/**
 * One row of the matrix. The fields up to `thinking` are always known; in the others `null` means unknown, which never
 * refuses a call.
 */
export interface Capabilities {
  native_tools: boolean;
  defer_loading: boolean;
  /** The provider's own tool searches, preferred first. */
  tool_search: readonly SearchVariant[];
  /** The most tools of one request; `null`: no limit is known. */
  max_tools: number | null;
  prompt_caching: boolean;
  thinking: boolean;
  thinking_modes: readonly ThinkingMode[] | null;
  vision: boolean | null;
  audio: boolean | null;
  pdf: boolean | null;
  structured_output: "native" | "tool_use" | "format_kw" | "json_object" | null;
  interleaved_thinking_supported: boolean | null;
  anthropic_beta_features: readonly string[] | null;
  preserve_thinking: boolean | null;
  requires_completion_tokens: boolean | null;
  reasoning_effort_supported: boolean | null;
  honors_chat_template_kwargs: boolean | null;
  server_parser: string | null;
  recommended_endpoint: string | null;
  text_tool_wire_format_supported: boolean;
  /** Whether a rule of the matrix covers this model; if none does, nothing counts as known. */
  matched: boolean;
}

/** A model that the matrix does not cover. */
export const ALL_OFF: Capabilities = {
  native_tools: false,
  defer_loading: false,
  tool_search: [],
  max_tools: null,
  prompt_caching: false,
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
