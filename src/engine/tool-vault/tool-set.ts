/** A set of tools, split into those that a model sees and those that a search finds, with indexes of the latter. */

import { memo, once } from "../../memo.ts";
import { objectOf } from "../../skill/json.ts";
import type { ToolDefinition } from "../messages.ts";
import type { Pattern } from "../regex/pattern.ts";
import { indexWords, wordScores, wordsOf } from "./bm25.ts";

/** Most tools that one search finds. */
const MAX_HITS = 20;

export class ToolSet {
  /** Shown from the start: not deferred, or pinned by `always_loaded`. */
  readonly eager: readonly ToolDefinition[];
  /** By name, in the order of definition. */
  readonly deferred: ReadonlyMap<string, ToolDefinition>;
  /** Names of deferred tools, in the order of their documents. */
  readonly #names: readonly string[];
  readonly #all: ReadonlySet<string>;
  /** What searches read, made by the first search. */
  readonly #documents = once(() => Array.from(this.deferred.values(), searchText));
  readonly #words = once(() => indexWords(this.#documents()));

  constructor(tools: readonly ToolDefinition[], pinned: readonly string[]) {
    const isDeferred = ({ name, defer_loading }: ToolDefinition): boolean =>
      defer_loading === true && !pinned.includes(name);
    this.eager = tools.filter((tool) => !isDeferred(tool));
    this.deferred = new Map(tools.filter(isDeferred).map((tool) => [tool.name, tool]));
    this.#names = Array.from(this.deferred.keys());
    this.#all = new Set(tools.map(({ name }) => name));
  }

  /** Whether a tool of the set has this name, deferred or not. */
  has(name: string): boolean {
    return this.#all.has(name);
  }

  /** Names of the deferred tools that a search may find. */
  candidates(scope: Scope): readonly string[] {
    return scope === undefined ? this.#names : this.#names.filter((name) => scope.has(name));
  }

  /** Names of deferred tools by BM25, best first. `null`: the query has no word. */
  byWords(query: string, scope: Scope): string[] | null {
    const words = wordsOf(query);
    if (words.length === 0) return null;
    return best(this.#names, wordScores(this.#words(), words), scope);
  }

  /** Names of deferred tools by number of matches, most first. `null`: the search costs too much. */
  byPattern(pattern: Pattern, scope: Scope): string[] | null {
    const counts = countMatches(this.#documents(), pattern);
    return counts === null ? null : best(this.#names, counts, scope);
  }
}

/** Estimated tokens of a tool as models get it: a quarter of the characters of its JSON. */
export const tokensOf = memo((tool: ToolDefinition) => Math.ceil(JSON.stringify(openly(tool)).length / 4));

/** The names that a run may currently use; absent: all. */
export type Scope = ReadonlySet<string> | undefined;

export const inScope = (scope: Scope, name: string): boolean => scope === undefined || scope.has(name);

/** A tool's definition without members for native searches. */
export const openly = ({ defer_loading, namespace, ...open }: ToolDefinition): ToolDefinition => open;

/** The names with the highest scores, equal ones sorted by name, without those of score 0. */
function best(names: readonly string[], scores: ArrayLike<number>, scope: Scope): string[] {
  const hits: { name: string; score: number }[] = [];
  for (let i = 0; i < scores.length; i++) {
    const score = scores[i] ?? 0;
    const name = names[i] ?? "";
    const last = hits.at(-1);
    const beaten = last !== undefined && (score < last.score || (score === last.score && name > last.name));
    if (score <= 0 || (hits.length === MAX_HITS && beaten) || !inScope(scope, name)) continue;
    const at = hits.findIndex((hit) => score > hit.score || (score === hit.score && name < hit.name));
    hits.splice(at === -1 ? hits.length : at, 0, { name, score });
    if (hits.length > MAX_HITS) hits.pop();
  }
  return hits.map(({ name }) => name);
}

/**
 * Name, description, top-level parameters with their descriptions: one line each, lower-cased. The name of an MCP tool
 * contains that of its server.
 */
export function searchText(tool: ToolDefinition): string {
  const properties = objectOf(tool.parameters.properties);
  const parameters = Object.entries(properties).map(([name, schema]) => {
    const { description } = objectOf(schema);
    return typeof description === "string" ? `${name}: ${description}` : name;
  });
  return [tool.name, tool.description, ...parameters].join("\n").toLowerCase();
}

/** Lookups and visits that a search may cost: a fixed number, and so many per unit of text. */
const BASE_COST = 1_000_000;
const COST_PER_UNIT = 3;

/** The number of matches in each document; `null`: that would cost too much. */
function countMatches(documents: readonly string[], pattern: Pattern): number[] | null {
  const length = documents.reduce((sum, document) => sum + document.length, 0);
  const budget = { left: BASE_COST + COST_PER_UNIT * length };
  const counts: number[] = [];
  for (const document of documents) {
    const count = pattern.count(document, budget);
    if (count === null) return null;
    counts.push(count);
  }
  return counts;
}
