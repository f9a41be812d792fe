/** The option `mock` of a workflow run: one queue of answers for all its stages. Pure. */
import { canonicalJson } from "../../skill/canonical.ts";
import type { Json } from "../../skill/manifest.ts";
import type { WorkflowState } from "./state.ts";

/** The mocks that ended attempts did not use up; `null`: the run has none. */
export function mocksLeft({ spec, mocks_used = [] }: WorkflowState): Json[] | null {
  const { mock } = spec.options;
  return Array.isArray(mock) ? mock.filter((_, place) => !mocks_used.includes(place)) : null;
}

/**
 * The places of the mocks that are used up. Of equal mocks, the earlier ones are.
 * @param left the others, in the order of the script
 */
export function placesUsed(script: readonly Json[], left: readonly Json[]): number[] {
  const rest = left.map((mock) => canonicalJson(mock));
  return script
    .flatMap((_, n) => {
      const place = script.length - 1 - n;
      if (canonicalJson(script[place]) !== rest.at(-1)) return [place];
      rest.pop();
      return [];
    })
    .reverse();
}
