/** Which deferred tools a model has found so far. */

import { objectOf, textsIn } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import type { SearchEvent } from "./events.ts";
import { type ToolSet, tokensOf } from "./tool-set.ts";

/** What a vault remembers of a run. JSON-safe: durable runs keep it in their records. */
export interface VaultState {
  /** Names of promoted tools, oldest first. */
  promoted: readonly string[];
}

export const EMPTY_VAULT: VaultState = { promoted: [] };

/** The state that a record or a run holds as JSON. */
export function vaultState(value: Json): VaultState {
  const names = textsIn(objectOf(value).promoted) ?? [];
  return names.length === 0 ? EMPTY_VAULT : { promoted: names };
}

/** The state after searches by the provider. */
export function afterSearches(state: VaultState, searches: readonly SearchEvent[]): VaultState {
  const found = searches.flatMap((event) => (event.type === "tool_search_result" ? event.promoted : []));
  return { promoted: Array.from(new Set([...state.promoted, ...found])) };
}

/**
 * Promotes the hits of a search, best first, and returns which names are new. Known names keep their age. With a
 * budget, promotions of earlier searches make room, oldest first. Hits of this search do not displace each other, so
 * the best of them stay.
 */
export function promote(
  state: VaultState,
  found: readonly string[],
  set: ToolSet,
  budget: number | null,
): { state: VaultState; added: string[] } {
  const old = [...state.promoted];
  const added: string[] = [];
  const sizeOf = (names: readonly string[]): number => names.reduce((sum, name) => sum + size(set, name), 0);
  let kept = budget === null ? 0 : sizeOf(old);
  let fresh = 0;
  for (const name of found) {
    if (!set.deferred.has(name) || old.includes(name) || added.includes(name)) continue;
    const wanted = size(set, name);
    if (budget !== null) {
      if (fresh + wanted > budget) continue;
      while (kept + fresh + wanted > budget) kept -= sizeOf(old.splice(0, 1));
    }
    fresh += wanted;
    added.push(name);
  }
  return { state: { promoted: [...old, ...added] }, added };
}

function size(set: ToolSet, name: string): number {
  const tool = set.deferred.get(name);
  return tool === undefined ? 0 : tokensOf(tool);
}
