/** How to address a call to a provider. */
import { ProviderMisconfigured, ProviderNotConfigured } from "../errors/provider.ts";
import { join, readBaseUrl } from "./base-url.ts";
import { ENDPOINTS, type HttpProtocol, type ProtocolName } from "./protocols.ts";
import { throughProxy } from "./proxy.ts";
import type { ModelRegistry, ProviderDefinition } from "./registry/definition.ts";
import { keyVariables } from "./registry/layer.ts";
import { capabilitiesOf } from "./registry/matrix.ts";
import {
  baseOverride,
  baseVariable,
  firstSet,
  keyOf,
  needsKey,
  protocolOf,
  type ReadVariable,
} from "./registry/provider-setup.ts";
import { canonicalProvider, shippedModels } from "./registry/registry.ts";
import type { WireTarget } from "./wire.ts";

/** A provider reached over HTTP. */
export interface HttpTarget extends WireTarget {
  protocol: HttpProtocol;
  url: string;
  /** Endpoint for plain completions; `null`: the provider has none. */
  completion_url: string | null;
  /** Authentication and version headers. */
  headers: { [name: string]: string };
  /** The variable with the key of the call, or the one that would have it; if there is none, that with the address. */
  variable: string;
}

/** A provider inside the Worker: the AI binding, or the mock. */
export interface InternalTarget extends WireTarget {
  protocol: Exclude<ProtocolName, HttpProtocol>;
  url: null;
  headers: { [name: string]: string };
}

export type ResolvedTarget = HttpTarget | InternalTarget;

export interface TargetSelector {
  provider: string;
  /** `null`: the default of `mode: llm`. */
  model: string | null;
  /** Replaces the protocol in the provider's definition. */
  protocol?: HttpProtocol;
  /** The reason for this provider, for the error of a missing key; the end of "It was chosen …". */
  how?: string;
}

/**
 * Everything needed to call a model, except the request. Reads the environment at each call, so that a skill loads and
 * appears in lists without its key.
 * @throws ProviderNotConfigured if the provider's key is not set
 * @throws ProviderMisconfigured if there is no such provider, no model is known, or a base URL or key cannot be used
 */
export function resolveTarget(
  selector: TargetSelector,
  env: ReadVariable,
  registry: ModelRegistry = shippedModels,
): ResolvedTarget {
  const provider = canonicalProvider(registry, selector.provider);
  const definition = definitionOf(provider, registry);
  const model = selector.model ?? defaultModel(provider, definition, env);
  const capabilities = capabilitiesOf(registry, provider, model);
  const usual = capabilities.requires_completion_tokens === true ? "max_completion_tokens" : "max_tokens";
  const resolved: WireTarget = {
    provider,
    model,
    token_field: definition.token_field ?? usual,
    json_mode: definition.json_mode ?? definition.features?.includes("json_mode") ?? false,
    reasoning_echo: definition.reasoning_echo ?? false,
    variant: definition.variant,
    capabilities,
  };
  const own = protocolOf(provider, definition, env);
  if (own === "mock" || own === "workers-ai") return { ...resolved, protocol: own, url: null, headers: {} };
  const protocol = selector.protocol ?? own;
  const { base, headers, variable } = addressOf(provider, definition, env, { protocol, how: selector.how });
  const endpoint = protocol === own ? definition.chat_endpoint : undefined;
  const { completion_endpoint } = definition;
  return {
    ...resolved,
    protocol,
    url: join(base, endpoint ?? ENDPOINTS[protocol].chat),
    completion_url: completion_endpoint === undefined ? null : join(base, completion_endpoint),
    headers,
    variable,
  };
}

interface ProviderAddress {
  /** Without a slash at the end. */
  base: string;
  /** Authentication, version, and the definition's own headers. */
  headers: { [name: string]: string };
  /** The variable with the key of the call, or the one that would have it; if there is none, that with the address. */
  variable: string;
}

/**
 * A provider's address, and its authentication.
 * @param at replaces the base in its definition
 * @throws ProviderNotConfigured, ProviderMisconfigured
 */
export function addressOf(
  provider: string,
  definition: ProviderDefinition,
  env: ReadVariable,
  { protocol, how, at }: { protocol: ProtocolName; how?: string | undefined; at?: string | undefined },
): ProviderAddress {
  const key = keyOf(provider, definition, env);
  const [first] = definition.auth_env ?? [];
  if (key === null && needsKey(definition) && first !== undefined) {
    throw new ProviderNotConfigured({ provider, variable: first, how });
  }
  if (key !== null && !/^[\x21-\x7e]+$/.test(key.value)) {
    const reason = `${key.name} holds blanks or characters that a header cannot carry`;
    throw new ProviderMisconfigured({ provider, variable: key.name, reason });
  }
  const override = baseOverride(provider, definition, env);
  const base = override?.value ?? definition.base_url;
  const variable = override?.name ?? baseVariable(provider);
  if (base === undefined) {
    const reason = `it has neither a base_url nor ${variable}`;
    throw new ProviderMisconfigured({ provider, variable, reason });
  }
  const rule = { provider, variable: override?.name ?? "base_url", path: defaultPath(definition) };
  const address: ProviderAddress = {
    base: at ?? readBaseUrl(base, { ...rule, keyed: key !== null }),
    headers: {
      ...(protocol === "anthropic" ? { "anthropic-version": "2023-06-01" } : {}),
      ...lowerCased(definition.extra_headers ?? {}),
      ...(key === null ? {} : authHeader(definition, key.value)),
    },
    variable: key?.name ?? keyVariables(provider, definition)[0] ?? variable,
  };
  return throughProxy(provider, address, env);
}

/** @throws ProviderMisconfigured if the deployment has no such provider */
function definitionOf(provider: string, registry: ModelRegistry): ProviderDefinition {
  const definition = registry.providers.get(provider);
  if (definition !== undefined) return definition;
  const names = [...registry.providers.keys()].join(", ");
  const reason = `this deployment does not have it; it has ${names}`;
  throw new ProviderMisconfigured({ provider, reason });
}

/** The path for an origin without one: that of the provider's own base, else the usual one of its protocol. */
function defaultPath({ base_url, chat_endpoint }: ProviderDefinition): string {
  const path = /^(?:https?:\/\/)?[^/]+?(\/+[^/].*?)?\/*$/i.exec(base_url ?? "")?.[1];
  return path ?? (chat_endpoint === undefined ? "/v1" : "");
}

function authHeader(
  { auth_style, auth_header }: ProviderDefinition,
  key: string,
): { [name: string]: string } {
  const name = auth_header?.toLowerCase();
  return auth_style === "header"
    ? { [name ?? "x-api-key"]: key }
    : { [name ?? "authorization"]: `Bearer ${key}` };
}

/** Lower-cases names, so that no name occurs twice; `fetch` would join the values. */
const lowerCased = (headers: { [name: string]: string }): { [name: string]: string } =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function defaultModel(provider: string, definition: ProviderDefinition, env: ReadVariable): string {
  const { default_model, model_env = [] } = definition;
  const model = default_model ?? firstSet(model_env, env)?.value;
  if (model !== undefined) return model;
  const [variable] = model_env;
  throw new ProviderMisconfigured({
    provider,
    reason: `it has no default model; name one in the skill${variable === undefined ? "" : ` or set ${variable}`}`,
    ...(variable === undefined ? {} : { variable }),
  });
}
