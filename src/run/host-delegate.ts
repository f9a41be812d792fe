/**
 * The host delegate: a webhook or a bound Worker of the deployer that answers what Hull leaves to its host. It is
 * optional.
 */

import * as z from "zod/mini";
import { textWithin, toHex, utf8 } from "../bytes.ts";
import type { SearchDelegate } from "../engine/tool-vault/search.ts";
import { HostDelegateFailed } from "../errors/run.ts";
import { HullError } from "../errors.ts";
import { exactJson } from "../skill/exact-json.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { Json } from "../skill/manifest.ts";
import type { RunContext } from "./context.ts";

export type HostMethod =
  | "tool_search/query"
  | "skill/match"
  | "session/request_permission"
  | "agent/idle"
  | "tool/call";

/**
 * The host's answer, without the deployment's secrets, which the host may know: models and callers get it.
 * @param raw of a tool's call, the arguments as they were sent: the host gets their numbers with all their digits
 * @throws HostDelegateFailed, and the signal's reason
 */
type AskHost = (method: HostMethod, params: Json, signal?: AbortSignal, raw?: string) => Promise<Json>;

/** The longest answer, in bytes. */
const MAX_ANSWER = 5_000_000;
const DEFAULT_TIMEOUT_MS = 10_000;

const fetcherShape = z.lazy(() =>
  z.object({ fetch: z.custom<typeof fetch>((f) => typeof f === "function") }),
);

/** `null`: none is configured. */
export function hostDelegate({
  env,
  settings,
  log,
}: Pick<RunContext, "env" | "settings" | "log">): AskHost | null {
  const { host } = settings;
  if (host === undefined) return null;
  const { url = "https://host.internal/", binding, secret_env = "HULL_HOST_SECRET", timeout_ms } = host;
  return async (method, params, signal, raw = "") => {
    const limit = AbortSignal.timeout(timeout_ms ?? DEFAULT_TIMEOUT_MS);
    const body = exactJson({ method, params }, `{"params":{"arguments":${raw}}}`);
    const fail = (reason: string) => {
      log.host_delegate = { method, reason };
      return new HostDelegateFailed({ method, reason });
    };
    try {
      const response = await fetcherOf(env, binding)(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(await signature(body, settings.read(secret_env))),
        },
        body,
        redirect: "manual",
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw fail(`it answered ${response.status}`);
      }
      const text = await textWithin(response.body, MAX_ANSWER);
      if (text === null) throw fail(`its answer has more than ${MAX_ANSWER} bytes`);
      const answer = text.trim() === "" ? null : parsedJson(text);
      if (answer === undefined) throw fail("its answer is not JSON, or nests too deep");
      return settings.eventRedactor.json(answer);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof HullError) throw error;
      throw fail(limit.aborted ? "it took too long" : "it cannot be reached");
    }
  };
}

/** The host's own search of tools; `undefined`: no host is configured. */
export function searchDelegate(context: RunContext): SearchDelegate | undefined {
  const ask = hostDelegate(context);
  return ask === null ? undefined : (query) => ask("tool_search/query", query);
}

function fetcherOf(env: object, binding: string | undefined): typeof fetch {
  if (binding === undefined) return (input, init) => fetch(input, init);
  const bound = fetcherShape.safeParse(Reflect.get(env, binding));
  if (!bound.success)
    throw new HostDelegateFailed({ method: "", reason: `the binding ${binding} does not exist` });
  const { data } = bound;
  return (input, init) => data.fetch(input, init);
}

/**
 * `HMAC-SHA256(secret, "<timestamp>.<body>")` in hex, and the timestamp in seconds. Without a secret Hull signs
 * nothing.
 */
async function signature(body: string, secret: string | undefined): Promise<Record<string, string>> {
  if (secret === undefined) return {};
  const timestamp = String(Math.floor(Date.now() / 1000));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", utf8(secret), algorithm, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8(`${timestamp}.${body}`)));
  return { "x-hull-timestamp": timestamp, "x-hull-signature": `sha256=${toHex(mac)}` };
}
