/** A response in the form that its client sees. */
import { isObject } from "../../../skill/json.ts";
import type { Json, JsonObject } from "../../../skill/manifest.ts";
import type { RequestContext } from "../../context.ts";

const ENCRYPTED = "reasoning.encrypted_content";

/** Whether the client sends reasoning back itself, or asked for it. Otherwise Hull stores the reasoning. */
export const showsReasoning = (include: readonly string[], store: boolean): boolean =>
  !store || include.includes(ENCRYPTED);

/** The same for a request that names it in its query, and for stored items. */
export function reasoningShown({ query }: RequestContext): boolean {
  return showsReasoning([...query.getAll("include"), ...query.getAll("include[]")], true);
}

/** An item without the members that only Hull needs. */
export function renderItem(item: Json, reasoning: boolean): Json {
  if (reasoning || !isObject(item) || item.type !== "reasoning") return item;
  const { encrypted_content: _, ...rest } = item;
  return rest;
}

export function renderResponse(response: JsonObject, reasoning: boolean): JsonObject {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  return { ...response, output: output.map((item) => renderItem(item, reasoning)) };
}

/** An event of a response's stream. */
export function renderEvent(event: JsonObject, reasoning: boolean): JsonObject {
  const { item, response } = event;
  if (item !== undefined) return { ...event, item: renderItem(item, reasoning) };
  return isObject(response) ? { ...event, response: renderResponse(response, reasoning) } : event;
}
