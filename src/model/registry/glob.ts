/** How a rule picks models by their id. Ids are compared in lower case. */
import { modelMatches } from "../../skill/glob.ts";
import type { ModelMatcher } from "./definition.ts";

/** Whether a rule of inference or tier speaks of this model. */
export function speaksOf({ exact, pattern, contains, slashes }: ModelMatcher, model: string): boolean {
  const id = model.toLowerCase();
  if (exact !== undefined) return id === exact.toLowerCase();
  if (pattern !== undefined) return modelMatches(pattern, id);
  if (contains !== undefined) return id.includes(contains.toLowerCase());
  return slashes !== undefined && id.split("/").length - 1 === slashes;
}
