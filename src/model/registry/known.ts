/** What the check of a manifest needs from a model registry. */
import type { KnownProviders } from "../../skill/known-providers.ts";
import type { ModelRegistry } from "./definition.ts";

/**
 * The providers that a skill may name.
 * @param keyVariables all withheld variables, including those of providers that the model registry no longer has
 */
export function knownProviders({ providers }: ModelRegistry, keyVariables: Iterable<string>): KnownProviders {
  const nameless = [...providers].filter(
    ([, own]) => own.default_model === undefined && own.model_env === undefined,
  );
  return {
    names: [...providers.keys()],
    model_required: nameless.map(([name]) => name),
    key_variables: [...new Set(keyVariables)],
  };
}
