/** The setup of a provider: its key, its address, whether it can be called at all. */

import type { ProtocolName } from "../protocols.ts";
import type { ModelRegistry, ProviderDefinition } from "./definition.ts";
import { keyVariables, variablePrefix } from "./layer.ts";

/** Reads a variable or secret of the deployment; `undefined` or blank: not set. */
export type ReadVariable = (name: string) => string | undefined;

interface SetVariable {
  name: string;
  /** Trimmed. */
  value: string;
}

/** The first of these variables that is set. */
export function firstSet(names: readonly string[], env: ReadVariable): SetVariable | null {
  for (const name of names) {
    const value = env(name)?.trim();
    if (value !== undefined && value !== "") return { name, value };
  }
  return null;
}

/** The variable that replaces a provider's base, whatever else is defined. */
export const baseVariable = (name: string): string => `${variablePrefix(name)}_BASE_URL`;

/** The variable that gives this provider's address, if one is set. */
export function baseOverride(
  name: string,
  definition: ProviderDefinition,
  env: ReadVariable,
): SetVariable | null {
  return firstSet([baseVariable(name), ...(definition.base_url_env ?? [])], env);
}

/** Whether a provider needs a key. One that is defined without a variable for a key does not. */
export function needsKey(definition: ProviderDefinition): boolean {
  if (definition.auth_style === "none" || definition.key_optional === true) return false;
  return definition.auth_env !== undefined;
}

/** The provider's key; `null`: not set, or the provider uses none. */
export function keyOf(name: string, definition: ProviderDefinition, env: ReadVariable): SetVariable | null {
  return definition.auth_style === "none" ? null : firstSet(keyVariables(name, definition), env);
}

/** The wire protocol of a provider; over HTTP Workers AI uses OpenAI's. */
export function protocolOf(name: string, definition: ProviderDefinition, env: ReadVariable): ProtocolName {
  const { api, base_url, chat_endpoint } = definition;
  if (api === "workers-ai" && (base_url !== undefined || baseOverride(name, definition, env) !== null)) {
    return "openai-chat";
  }
  return api ?? (chat_endpoint?.includes("/messages") ? "anthropic" : "openai-chat");
}

/** Whether a call is possible: the key is set, or none is needed. */
export function isAvailable(name: string, registry: ModelRegistry, env: ReadVariable): boolean {
  const definition = registry.providers.get(name);
  if (definition === undefined) return false;
  if (protocolOf(name, definition, env) === "workers-ai") return true;
  return !needsKey(definition) || keyOf(name, definition, env) !== null;
}

/**
 * Whether Hull may choose this provider by itself: it is available, and if its address is only assumed, a variable
 * confirms it. A deployment always has the binding of Workers AI.
 */
export function isUsable(name: string, registry: ModelRegistry, env: ReadVariable): boolean {
  const definition = registry.providers.get(name);
  if (definition === undefined || !isAvailable(name, registry, env)) return false;
  if (protocolOf(name, definition, env) === "workers-ai") return env("HULL_ENV") !== "local";
  return definition.assumed_base !== true || baseOverride(name, definition, env) !== null;
}
