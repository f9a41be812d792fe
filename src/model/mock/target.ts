/** How a call is addressed that mocks answer, whatever its provider (agent-runtime.md §16.1). */
import { canonicalProvider } from "../catalogue/catalogue.ts";
import type { Catalogue } from "../catalogue/definition.ts";
import { capabilitiesOf } from "../catalogue/matrix.ts";
import type { InternalTarget } from "../providers.ts";

/** No key is needed, and `fitRequest` takes everything: the protocol is the mock's, the names are those that were asked for. */
export function mockTarget(name: string, model: string | null, catalogue: Catalogue): InternalTarget {
  const provider = canonicalProvider(catalogue, name);
  const { skill_model, default_model } = catalogue.providers.get(provider) ?? {};
  const asked = model ?? skill_model ?? default_model ?? "mock";
  return {
    provider,
    model: asked,
    token_field: "max_tokens",
    json_mode: true,
    reasoning_echo: false,
    capabilities: capabilitiesOf(catalogue, provider, asked),
    secrets: [],
    protocol: "mock",
    url: null,
    headers: {},
  };
}
