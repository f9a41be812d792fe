/** How a rule picks models by their id (agent-runtime.md §4.1, §5.2). Ids are compared in lower case. */
import type { ModelMatcher } from "./definition.ts";

/**
 * Forms: `*`, `x*`, `*x`, `*x*`, `a*b`; no star means equality. Any other placing of stars is compared literally.
 * @param text in lower case
 */
export function globMatches(glob: string, text: string): boolean {
  const pattern = glob.toLowerCase();
  if (pattern === "*") return true;
  const stars = pattern.split("*").length - 1;
  const first = pattern.startsWith("*");
  const last = pattern.endsWith("*");
  if (stars === 2 && first && last) return text.includes(pattern.slice(1, -1));
  if (stars !== 1) return text === pattern;
  const [before = "", after = ""] = pattern.split("*");
  return text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after);
}

/** Whether a rule of inference or tier speaks of this model. */
export function speaksOf({ exact, pattern, contains, slashes }: ModelMatcher, model: string): boolean {
  const id = model.toLowerCase();
  if (exact !== undefined) return id === exact.toLowerCase();
  if (pattern !== undefined) return globMatches(pattern, id);
  if (contains !== undefined) return id.includes(contains.toLowerCase());
  return slashes !== undefined && id.split("/").length - 1 === slashes;
}
