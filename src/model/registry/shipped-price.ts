/** The shipped price and context window of a model, from the data of one day. Pure. */
import { once } from "../../memo.ts";
import { present } from "../../skill/json.ts";
import type { ModelPrice } from "./definition.ts";
import MODEL_DATA from "./model-data.txt?raw";

/** USD per million tokens, and tokens. */
interface ShippedModel {
  price: ModelPrice;
  context_window: number | null;
}

type Row = ShippedModel & { pattern: RegExp };

/** Self-hosted servers sell no tokens, but share model names with vendors. */
const OWN_SERVERS = new Set(["ollama", "local", "vllm", "tgi", "llamacpp", "mlx"]);

/** The lines of each provider, parsed on first use: the data never changes. */
const tables = once(
  () =>
    new Map(
      MODEL_DATA.trimEnd()
        .split(/(?:\r?\n){2}\[/)
        .slice(1)
        .map((table) => {
          const [name = "", ...lines] = table.split(/\r?\n/);
          return [name.slice(0, -1), once(() => lines.map(rowOf))];
        }),
    ),
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
  tables()
    .get(provider)?.()
    .find(({ pattern }) => pattern.test(id));

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
  for (const vendor of tables().keys()) {
    const found = find(vendor, name) ?? find(vendor, model);
    if (found !== undefined) return found;
  }
  return null;
}
