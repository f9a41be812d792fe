/** The providers of the deployment: `/llm/providers…`. About keys it reveals only which variables may hold them. */
import type { ModelProvider } from "../../api/answers/models.ts";
import type { Settings } from "../../env.ts";
import { ProviderNotFound } from "../../errors/request.ts";
import { checkHealth } from "../../model/health.ts";
import type { ModelRegistry, ProviderDefinition } from "../../model/registry/definition.ts";
import { keyVariables } from "../../model/registry/layer.ts";
import { baseVariable, isAvailable, protocolOf } from "../../model/registry/provider-setup.ts";
import { canonicalProvider } from "../../model/registry/registry.ts";
import { nearest } from "../../skill/match.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import type { Handler, Params } from "../routes.ts";
import { ofRegistry } from "./models.ts";

/** Time limit for a provider's answer to a health check, in ms. */
const HEALTH_MS = 5000;

/** `GET /llm/providers`: all of them, in the order of definition. */
export const listProviders = listed(() => true);

/** `GET /llm/providers/available`: those with a key, and those that need none. */
export const listAvailableProviders = listed(isAvailable);

/** `GET /llm/providers/:name` @throws ProviderNotFound */
export const getProvider = ofRegistry((registry, { settings }, { name = "" }) => {
  const provider = canonicalProvider(registry, name);
  const definition = registry.providers.get(provider);
  if (definition === undefined) {
    throw new ProviderNotFound({ name, near: nearest(name, registry.providers.keys()) });
  }
  return shown(settings, registry, provider, definition);
});

/** `GET /llm/providers/:name/health`: asks the provider; always 200. */
export async function checkProvider(context: RequestContext, { name = "" }: Params): Promise<Response> {
  const registry = await context.modelRegistry();
  const { settings, env } = context;
  const { AI } = settings.local ? { AI: undefined } : env;
  const health = await checkHealth(canonicalProvider(registry, name), {
    env: settings.read,
    registry,
    fetch: (input, init) => fetch(input, init),
    askBinding: AI === undefined ? undefined : () => AI.models({ per_page: 1 }),
    timeout_ms: HEALTH_MS,
  });
  return jsonNow(context.redacted(health));
}

function listed(wanted: typeof isAvailable): Handler {
  return ofRegistry((registry, { settings }) => {
    const data = [...registry.providers]
      .filter(([name]) => wanted(name, registry, settings.read))
      .map(([name, definition]) => shown(settings, registry, name, definition));
    return { data, next_cursor: null };
  });
}

/** A public view of a definition: only the names of headers, since a gateway's values may be secret. */
function shown(
  { read }: Settings,
  registry: ModelRegistry,
  name: string,
  definition: ProviderDefinition,
): ModelProvider {
  const { extra_headers = {}, healthcheck, default_model = null } = definition;
  return {
    name,
    protocol: protocolOf(name, definition, read),
    base_url: definition.base_url ?? null,
    base_url_env: [baseVariable(name), ...(definition.base_url_env ?? [])],
    auth_style: definition.auth_style ?? "bearer",
    auth_env: keyVariables(name, definition),
    extra_headers: Object.keys(extra_headers),
    chat_endpoint: definition.chat_endpoint ?? null,
    completion_endpoint: definition.completion_endpoint ?? null,
    healthcheck:
      healthcheck === undefined
        ? null
        : { method: healthcheck.method ?? "GET", path: healthcheck.path ?? null },
    features: definition.features ?? [],
    fallback: definition.fallback ?? null,
    default_model,
    rpm: definition.rpm ?? null,
    cost_per_1k_in: definition.cost_per_1k_in ?? null,
    cost_per_1k_out: definition.cost_per_1k_out ?? null,
    latency_p50_ms: definition.latency_p50_ms ?? null,
    available: isAvailable(name, registry, read),
  };
}
