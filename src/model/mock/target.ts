/** How a call is addressed that mocks answer, whatever its provider. */

import type { InternalTarget } from "../providers.ts";
import type { ModelRegistry } from "../registry/definition.ts";
import { capabilitiesOf } from "../registry/matrix.ts";
import { canonicalProvider } from "../registry/registry.ts";

/** No key is needed, and `fitRequest` takes everything: the protocol is the mock's, the names are those that were asked for. */
export function mockTarget(name: string, model: string | null, registry: ModelRegistry): InternalTarget {
  const provider = canonicalProvider(registry, name);
  const { default_model } = registry.providers.get(provider) ?? {};
  const asked = model ?? default_model ?? "mock";
  return {
    provider,
    model: asked,
    token_field: "max_tokens",
    json_mode: true,
    reasoning_echo: false,
    capabilities: capabilitiesOf(registry, provider, asked),
    secrets: [],
    protocol: "mock",
    url: null,
    headers: {},
  };
}
