/**
 * The proxy of `hull dev --record` and `--replay`, between the local Worker and its providers. Each call tells it the
 * provider's real address. A deployed Worker has no proxy.
 */
import { parsedJson } from "../skill/json-depth.ts";
import { providerWords } from "./provider-document.ts";
import type { ReadVariable } from "./registry/provider-setup.ts";

/** Origin of the proxy. */
export const PROXY_VARIABLE = "HULL_LLM_PROXY";
/** The base to which the call would have gone. */
export const UPSTREAM_HEADER = "x-hull-upstream";
/** `missing`: a replay has no recording of this call, and the body lists what it has. */
export const REPLAY_HEADER = "x-hull-replay";

interface Address {
  base: string;
  headers: { [name: string]: string };
}

export function throughProxy<A extends Address>(provider: string, address: A, env: ReadVariable): A {
  const proxy = env("HULL_ENV") === "local" ? env(PROXY_VARIABLE) : undefined;
  if (proxy === undefined) return address;
  const headers = { ...address.headers, [UPSTREAM_HEADER]: address.base };
  return { ...address, base: `${proxy}/${provider}`, headers };
}

/** A replay's answer to a call that it does not know. */
export function notRecorded(
  response: { headers: Headers },
  { headers }: Pick<Address, "headers">,
  text: string,
): string | null {
  const replayed = UPSTREAM_HEADER in headers && response.headers.get(REPLAY_HEADER) === "missing";
  return replayed ? (providerWords(parsedJson(text) ?? text).provider_message ?? text) : null;
}
