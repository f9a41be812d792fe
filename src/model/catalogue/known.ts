/** What a catalogue means for the check of a manifest. */
import type { KnownProviders } from "../../skill/known-providers.ts";
import type { Catalogue } from "./definition.ts";

/**
 * What a skill may name.
 * @param keyVariables all that are withheld: also of providers that the catalogue no longer has
 */
export function knownProviders({ providers }: Catalogue, keyVariables: Iterable<string>): KnownProviders {
  const nameless = [...providers].filter(
    ([, own]) =>
      own.skill_model === undefined && own.default_model === undefined && own.model_env === undefined,
  );
  return {
    names: [...providers.keys()],
    model_required: nameless.map(([name]) => name),
    key_variables: [...new Set(keyVariables)],
  };
}
