/** The context size of a model in tokens. */
import { memoNamed } from "../../memo.ts";
import type { ModelRegistry } from "./definition.ts";
import { shippedModel } from "./shipped-price.ts";

/** For models that Hull's data lacks, by the id's last part; the first match wins. */
const FAMILIES: readonly (readonly [RegExp, tokens: number])[] = [
  [/^claude/, 200_000],
  [/^gpt-4(?:o|\.1|-turbo)/, 128_000],
  [/^gpt-4(?:-|$)/, 8192],
  [/^gpt-3\.5/, 16_385],
  [/^o[134](?:-|$)/, 200_000],
  [/^gemini-(?:1\.5|2)/, 1_000_000],
  [/^gemini/, 128_000],
];

/** The value of `[llm.models]`, else the shipped one, else that of the model's family; `null`: unknown. */
export const contextWindow = memoNamed(({ models }: ModelRegistry, model): number | null => {
  const defined =
    models.get(model.toLowerCase())?.context_window ?? shippedModel(null, model)?.context_window;
  if (typeof defined === "number") return defined;
  const name = model.toLowerCase().split("/").at(-1) ?? "";
  const [, window] = FAMILIES.find(([pattern]) => pattern.test(name)) ?? [];
  return window ?? null;
});
