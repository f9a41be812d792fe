/** Turns OpenAI's tool search, from entries of a chat message or items of a response, into canonical blocks. */

import type { Block } from "../engine/messages.ts";
import { isObject } from "../skill/json.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

type SearchBlock = Block & { type: "tool_search_query" | "tool_search_result" };

/**
 * The block of a `tool_search_call` or `tool_search_output`; `null` for any other entry.
 * @param asked id of the preceding search, since entries of a hosted search have no common id
 */
export function searchBlock(entry: JsonObject, provider: string, asked: string): SearchBlock | null {
  const native = { provider, value: entry };
  if (entry.type === "tool_search_call") {
    const id = idOf(entry.call_id, entry.id) ?? "tool_search";
    return { type: "tool_search_query", id, name: "tool_search", query: queryOf(entry), native };
  }
  if (entry.type === "tool_search_output") {
    const tool_use_id = idOf(entry.call_id, entry.tool_use_id, entry.tool_call_id) ?? asked;
    const names = namesIn(entry.tools ?? entry.tool_references ?? entry.tool_names ?? []);
    const tool_references = names.map((tool_name) => ({ tool_name }));
    return { type: "tool_search_result", tool_use_id, tool_references, native };
  }
  return null;
}

const idOf = (...ids: (Json | undefined)[]): string | undefined =>
  ids.find((id): id is string => typeof id === "string" && id !== "");

function queryOf({ arguments: args, query, input }: JsonObject): Json {
  const asked = args ?? query ?? input ?? null;
  return typeof asked === "string" ? (parsedJson(asked) ?? asked) : asked;
}

/** Names of tools, including those inside namespaces. */
function namesIn(tools: Json): string[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool): string[] => {
    if (typeof tool === "string") return [tool];
    if (!isObject(tool)) return [];
    if (tool.type === "namespace") return namesIn(tool.tools ?? []);
    const inner = isObject(tool.function) ? tool.function : tool;
    const name = inner.name ?? inner.tool_name;
    return typeof name === "string" ? [name] : [];
  });
}
