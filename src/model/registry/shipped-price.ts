/** The shipped price and context window of a model, from the data of one day. Pure. */
import { once } from "../../memo.ts";
import { present } from "../../skill/json.ts";
import type { ModelPrice } from "./definition.ts";
import { MODEL_DATA } from "./model-data.ts";

/** USD per million tokens, and tokens. */
interface ShippedModel {
  price: ModelPrice;
  context_window: number | null;
}

type Row = ShippedModel & { pattern: RegExp };

/** Self-hosted servers sell no tokens, but share model names with vendors. */
const OWN_SERVERS = new Set(["ollama", "local", "vllm", "tgi", "llamacpp", "mlx"]);

/** The data never changes, so each provider's lines are parsed once, on first use. */
const TABLES = new Map(
  Object.entries(MODEL_DATA).map(([provider, text]) => [
    provider,
    once(() => text.split("\n").flatMap((line) => (line === "" ? [] : [rowOf(line)]))),
  ]),
);

const number = (text: string | undefined): number | undefined =>
  text === undefined || text === "-" ? undefined : Number(text);

function ratesOf(cells: readonly string[]) {
  const [input = 0, out = 0, cache_read, cache_write] = cells.slice(0, 4).map(number);
  return { in: input, out, ...present({ cache_read, cache_write }) };
}

function rowOf(line: string): Row {
  const [pattern = "", ...cells] = line.split(" ");
  const [tokens, ...higher] = (cells[5] ?? "").split(":");
  const price = ratesOf(cells);
  return {
    pattern: new RegExp(pattern, "i"),
    price: higher.length === 0 ? price : { ...price, above: { tokens: Number(tokens), ...ratesOf(higher) } },
    context_window: number(cells[4]) ?? null,
  };
}

const find = (provider: string, id: string): ShippedModel | undefined =>
  TABLES.get(provider)?.().find(({ pattern }) => pattern.test(id));

/**
 * The model of a provider. If that provider's table lacks it, the entry of any vendor with a model of this name, since
 * resellers mostly charge the same.
 * @param provider `null` means any
 */
export function shippedModel(provider: string | null, model: string): ShippedModel | null {
  if (provider !== null && OWN_SERVERS.has(provider)) return null;
  const own = provider === null ? undefined : find(provider, model);
  if (own !== undefined) return own;
  const name = model.split("/").at(-1) ?? model;
  for (const vendor of Object.keys(MODEL_DATA)) {
    const found = find(vendor, name) ?? find(vendor, model);
    if (found !== undefined) return found;
  }
  return null;
}
