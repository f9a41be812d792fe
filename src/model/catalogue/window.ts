/** How many tokens a model's context holds (agent-runtime.md §8.1). */
import type { Catalogue } from "./definition.ts";

/** By the id's last part; the first that matches counts. */
const WINDOWS: readonly (readonly [RegExp, tokens: number])[] = [
  [/^claude/, 200_000],
  [/^gpt-4(?:o|\.1|-turbo)/, 128_000],
  [/^gpt-4(?:-|$)/, 8192],
  [/^gpt-3\.5/, 16_385],
  [/^o[134](?:-|$)/, 200_000],
  [/^gemini-(?:1\.5|2)/, 1_000_000],
  [/^gemini/, 128_000],
];

/** What `[llm.models]` says of the model, else what Hull knows of its family; `null`: unknown. */
export function contextWindow({ models }: Catalogue, model: string): number | null {
  const id = model.toLowerCase();
  const defined = models.get(id)?.context_window;
  if (defined !== undefined) return defined;
  const name = id.split("/").at(-1) ?? "";
  const [, window] = WINDOWS.find(([pattern]) => pattern.test(name)) ?? [];
  return window ?? null;
}
