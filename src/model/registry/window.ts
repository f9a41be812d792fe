/** How many tokens a model's context holds. */
import { memo } from "../../memo.ts";
import { RecentMap } from "../../recent.ts";
import type { ModelRegistry } from "./definition.ts";
import { shippedModel } from "./shipped-price.ts";

/** Of models that Hull's data does not hold, by the id's last part; the first that matches counts. */
const FAMILIES: readonly (readonly [RegExp, tokens: number])[] = [
  [/^claude/, 200_000],
  [/^gpt-4(?:o|\.1|-turbo)/, 128_000],
  [/^gpt-4(?:-|$)/, 8192],
  [/^gpt-3\.5/, 16_385],
  [/^o[134](?:-|$)/, 200_000],
  [/^gemini-(?:1\.5|2)/, 1_000_000],
  [/^gemini/, 128_000],
];

/** Names of models come from callers. */
const MAX_LOOKUPS = 1000;

/** What was looked up in a model registry: each run asks, and to know that a name is unknown, all models are looked at. */
const lookups = memo((_: ModelRegistry) => new RecentMap<string, number | null>(MAX_LOOKUPS));

/** What `[llm.models]` says of the model, else what Hull ships of it, else its family's; `null`: unknown. */
export function contextWindow(registry: ModelRegistry, model: string): number | null {
  const known = lookups(registry);
  const found = known.get(model);
  if (found !== undefined) return found;
  const window = lookUp(registry, model);
  known.set(model, window);
  return window;
}

function lookUp({ models }: ModelRegistry, model: string): number | null {
  const defined =
    models.get(model.toLowerCase())?.context_window ?? shippedModel(null, model)?.context_window;
  if (typeof defined === "number") return defined;
  const name = model.toLowerCase().split("/").at(-1) ?? "";
  const [, window] = FAMILIES.find(([pattern]) => pattern.test(name)) ?? [];
  return window ?? null;
}
