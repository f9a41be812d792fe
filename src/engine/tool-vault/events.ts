/** What a search leaves in transcripts and streams, the same whoever searched. */

import type { Json } from "../../skill/manifest.ts";
import type { Block } from "../messages.ts";
import type { Strategy } from "./option.ts";

/** Who searched; a provider is named by the shape that it speaks. */
type SearchMode = "anthropic" | "openai" | "client";

/** What was asked for; role `assistant`, visibility `internal`. Comes before the search runs. */
export interface SearchQueryEvent {
  type: "tool_search_query";
  id: string;
  /** Of a search by Hull: the name that Anthropic's search of that kind has. */
  name: string;
  /** The arguments as they came. */
  query: Json;
  strategy?: Strategy;
  mode: SearchMode;
}

/** What was found; role `tool`, visibility `internal`. */
export interface SearchResultEvent {
  type: "tool_search_result";
  tool_use_id: string;
  tool_references: { tool_name: string }[];
  mode: SearchMode;
  /** Names that became callable by it. */
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
