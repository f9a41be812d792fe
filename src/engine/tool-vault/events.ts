/** Transcript entries and events of a tool search. They do not depend on who searched. */

import type { Json } from "../../skill/manifest.ts";
import type { Block } from "../messages.ts";
import type { Strategy } from "./option.ts";

/** Who searched. A provider is named by its wire shape. */
export const SEARCH_MODES = ["anthropic", "openai", "client"] as const;
type SearchMode = (typeof SEARCH_MODES)[number];

/** The search query; role `assistant`, visibility `internal`. It comes before the search runs. */
export interface SearchQueryEvent {
  type: "tool_search_query";
  id: string;
  /** For a search by Hull: the name of Anthropic's search of that kind. */
  name: string;
  /** The arguments as given. */
  query: Json;
  strategy?: Strategy;
  mode: SearchMode;
}

/** The search result; role `tool`, visibility `internal`. */
export interface SearchResultEvent {
  type: "tool_search_result";
  tool_use_id: string;
  tool_references: { tool_name: string }[];
  mode: SearchMode;
  /** Names of the tools that the search made callable. */
  promoted: string[];
  strategy?: Strategy;
}

export type SearchEvent = SearchQueryEvent | SearchResultEvent;

/** An event as a block of a turn, so that a search by Hull reads like one by a provider. */
export function searchBlock(event: SearchEvent): Block {
  if (event.type === "tool_search_query") {
    const { type, id, name, query } = event;
    return { type, id, name, query };
  }
  const { type, tool_use_id, tool_references } = event;
  return { type, tool_use_id, tool_references };
}
