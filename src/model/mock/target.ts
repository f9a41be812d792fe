/** The address of a call that mocks answer, whatever its provider. */

import type { InternalTarget } from "../providers.ts";
import type { ModelRegistry } from "../registry/definition.ts";
import { capabilitiesOf } from "../registry/matrix.ts";
import { canonicalProvider } from "../registry/registry.ts";

/**
 * Needs no key, and `fitRequest` accepts everything: the protocol is the mock's, the names are those of the request.
 */
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
    protocol: "mock",
    url: null,
    headers: {},
  };
}
