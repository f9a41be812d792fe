/** The tools with which providers search deferred tools themselves. */
import type {
  ToolSearchToolBm25_20251119,
  ToolSearchToolRegex20251119,
} from "@anthropic-ai/sdk/resources/messages";
import type { ModelRequest, ToolDefinition } from "../engine/messages.ts";

type Search = NonNullable<ModelRequest["tool_search"]>;

/** The search tool in Anthropic's protocol. */
export type AnthropicSearchTool = ToolSearchToolBm25_20251119 | ToolSearchToolRegex20251119;

export const anthropicSearchTool = ({ variant }: Search): AnthropicSearchTool =>
  variant === "regex"
    ? { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" }
    : { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" };

/** Hosted tool search, as proxies of OpenAI's chat protocol expect it. */
export interface ChatSearchTool {
  type: "tool_search";
  mode: "hosted";
  namespaces?: string[];
}

export function chatSearchTool(tools: readonly ToolDefinition[]): ChatSearchTool {
  const namespaces = new Set(tools.flatMap(({ namespace }) => (namespace === undefined ? [] : [namespace])));
  const named = namespaces.size === 0 ? {} : { namespaces: Array.from(namespaces).sort() };
  return { type: "tool_search", mode: "hosted", ...named };
}
