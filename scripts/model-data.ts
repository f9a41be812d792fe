/**
 * `npm run models`: writes src/model/registry/model-data.txt, the prices and context windows of the providers that
 * Hull ships, from `@pydantic/genai-prices` as installed. To refresh: install its newest version, run this, run the tests.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { findProvider, type MatchLogic, type ModelInfo, type ModelPrice } from "@pydantic/genai-prices";

const TARGET = new URL("../src/model/registry/model-data.txt", import.meta.url);
const PACKAGE = new URL("../node_modules/@pydantic/genai-prices/package.json", import.meta.url);

/** The providers' names in Hull and in the package. A model of an unknown provider is looked up in this order. */
const PROVIDERS = [
  ["anthropic", "anthropic"],
  ["openai", "openai"],
  ["google", "google"],
  ["xai", "x-ai"],
  ["deepseek", "deepseek"],
  ["groq", "groq"],
  ["fireworks", "fireworks"],
  ["together", "together"],
  ["workers-ai", "cloudflare"],
  ["openrouter", "openrouter"],
] as const;

/** USD per million tokens. */
interface Rates {
  in: number;
  out: number;
  cache_read: number | null;
  cache_write: number | null;
}

interface Row {
  pattern: string;
  rates: Rates;
  window: number | null;
  /** Rates of prompts longer than this many tokens. */
  above: (Rates & { tokens: number }) | null;
}

const NUMBERS: readonly (readonly [keyof Rates, string])[] = [
  ["in", "input_mtok"],
  ["out", "output_mtok"],
  ["cache_read", "cache_read_mtok"],
  ["cache_write", "cache_write_mtok"],
];

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** The source of a regular expression that matches like the package's own logic. */
function patternOf(match: MatchLogic): string {
  if ("equals" in match) return `^${escaped(match.equals)}$`;
  if ("starts_with" in match) return `^${escaped(match.starts_with)}`;
  if ("ends_with" in match) return `${escaped(match.ends_with)}$`;
  if ("contains" in match) return escaped(match.contains);
  if ("regex" in match) return match.regex;
  if ("or" in match) return match.or.map(patternOf).join("|");
  return `^${match.and.map((part) => `(?=${within(patternOf(part))})`).join("")}`;
}

/** A pattern as a condition that is tested from the beginning of the text. */
const within = (pattern: string): string => (pattern.startsWith("^") ? pattern : `.*(?:${pattern})`);

/** The prices on a day. If prices depend on the time of day, the highest one, since a budget must not be exceeded. */
function pricesOn({ prices }: ModelInfo, day: string): ModelPrice[] {
  if (!Array.isArray(prices)) return [prices];
  const dated = prices.filter(
    ({ constraint }) => constraint?.type !== "start_date" || constraint.start_date <= day,
  );
  const timed = dated.filter(({ constraint }) => constraint?.type === "time_of_date");
  const latest = dated.findLast(({ constraint }) => constraint?.type !== "time_of_date");
  return [...timed, ...(latest === undefined ? [] : [latest])].map((conditional) => conditional.prices);
}

/** The rate of prompts beyond the first `tokens`; below every tier with 0. */
function rateAt(price: ModelPrice, name: string, tokens: number): number | null {
  const rate = price[name];
  if (rate === undefined) return null;
  if (typeof rate === "number") return rate;
  return rate.tiers.reduce((found, tier) => (tier.start <= tokens ? tier.price : found), rate.base);
}

function ratesAt(prices: readonly ModelPrice[], tokens: number): Rates | null {
  const found = Object.fromEntries(
    NUMBERS.map(([own, name]) => {
      const rates = prices.map((price) => rateAt(price, name, tokens)).filter((rate) => rate !== null);
      return [own, rates.length === 0 ? null : Math.max(...rates)];
    }),
  );
  const { in: input, out, cache_read = null, cache_write = null } = found;
  if (typeof input !== "number" || typeof out !== "number") return null;
  return { in: input, out, cache_read, cache_write };
}

/** Where the first tier above the base begins; `null`: the price has none. */
function tierStart(prices: readonly ModelPrice[]): number | null {
  const starts = prices.flatMap((price) =>
    NUMBERS.flatMap(([, name]) => {
      const rate = price[name];
      return rate === undefined || typeof rate === "number" ? [] : rate.tiers.map(({ start }) => start);
    }),
  );
  return starts.length === 0 ? null : Math.min(...starts);
}

/** `null`: the model is not priced by text tokens. */
function rowOf(model: ModelInfo, day: string): Row | null {
  const prices = pricesOn(model, day);
  const rates = ratesAt(prices, 0);
  if (rates === null) return null;
  const tokens = tierStart(prices);
  const higher = tokens === null ? null : ratesAt(prices, tokens);
  return {
    pattern: patternOf(model.match),
    rates,
    window: model.context_window ?? null,
    above: tokens === null || higher === null ? null : { tokens, ...higher },
  };
}

const cell = (value: number | null): string => (value === null ? "-" : String(value));
const cells = (rates: Rates): string[] => NUMBERS.map(([name]) => cell(rates[name]));

function line({ pattern, rates, window, above }: Row): string {
  const higher = above === null ? [] : [[String(above.tokens), ...cells(above)].join(":")];
  return [pattern, ...cells(rates), cell(window), ...higher].join(" ");
}

/** Models that OpenRouter sells at their own vendor's price are found under that vendor. */
function isKnown(row: Row, id: string, vendors: readonly Row[]): boolean {
  const name = id.split("/").at(-1) ?? id;
  const vendor = vendors.find(({ pattern }) => new RegExp(pattern, "i").test(name));
  return vendor !== undefined && JSON.stringify(vendor.rates) === JSON.stringify(row.rates);
}

async function main(): Promise<void> {
  const { version }: { version: string } = JSON.parse(await readFile(PACKAGE, "utf8"));
  const day = new Date().toISOString().slice(0, 10);
  const vendors: Row[] = [];
  const tables: string[] = [];
  for (const [name, id] of PROVIDERS) {
    const models = findProvider({ providerId: id })?.models ?? [];
    const rows = models.flatMap((model) => {
      const row = rowOf(model, day);
      if (row === null || row.pattern.includes(" ")) return [];
      return name === "openrouter" && isKnown(row, model.id, vendors) ? [] : [row];
    });
    if (name !== "openrouter") vendors.push(...rows);
    tables.push(`\n[${name}]\n${rows.map(line).join("\n")}\n`);
  }
  const text = `# Prices and context windows by provider, of ${day}. \`npm run models\` writes this file; do not edit it.
# Source: @pydantic/genai-prices ${version} (MIT), https://github.com/pydantic/genai-prices
#
# A line is a model: the source of a regular expression for its id; USD per million tokens of input, output, input read
# from the cache and input written to it; the context window in tokens; and, where longer prompts cost more, from how
# many tokens on, with the same four prices. \`-\`: unknown. The first line that matches counts.
${tables.join("")}`;
  await writeFile(TARGET, text);
  console.log(`${fileURLToPath(TARGET)}: ${tables.join("").split("\n").length} lines, ${text.length} bytes`);
}

await main();
