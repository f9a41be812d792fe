/**
 * The proxy of `hull dev --record` and `--replay`, which stands between the local Worker and its providers. It is told with
 * each call where the provider really is; deployed there is none.
 */
import { parsedJson } from "../skill/json-depth.ts";
import { providerWords } from "./provider-document.ts";
import type { ReadVariable } from "./registry/reach.ts";

/** Origin of the proxy. */
export const PROXY_VARIABLE = "HULL_LLM_PROXY";
/** The base that the call would have gone to. */
export const UPSTREAM_HEADER = "x-hull-upstream";
/** `missing`: a replay has no recording of this call, and the body says what it has. */
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

/** What a replay says of a call that it does not know. */
export function notRecorded(
  response: { headers: Headers },
  { headers }: Pick<Address, "headers">,
  text: string,
): string | null {
  const replayed = UPSTREAM_HEADER in headers && response.headers.get(REPLAY_HEADER) === "missing";
  return replayed ? (providerWords(parsedJson(text) ?? text).provider_message ?? text) : null;
}
