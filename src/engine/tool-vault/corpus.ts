/** The text that a search reads for each tool, and how often an expression matches in it. */
import { objectOf } from "../../skill/json.ts";
import type { Pattern } from "../regex/pattern.ts";
import type { Tool } from "../tools.ts";

/**
 * Name, description, top-level parameters with their descriptions: one line each, lower-cased. The name of an MCP tool
 * contains that of its server.
 */
export function searchText(tool: Tool): string {
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
export function countMatches(documents: readonly string[], pattern: Pattern): number[] | null {
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
