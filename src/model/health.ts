/** Checks whether a provider accepts its key: one cheap call without a model. */
import * as z from "zod/mini";
import { about, count, flag, maybe, type Shaped, text } from "../answer-shape.ts";
import { atMost } from "../at-most.ts";
import { HullError } from "../errors.ts";
import { join } from "./base-url.ts";
import { ENDPOINTS, type HttpProtocol } from "./protocols.ts";
import { addressOf } from "./providers.ts";
import type { ModelRegistry, ProviderDefinition } from "./registry/definition.ts";
import { baseOverride, protocolOf, type ReadVariable } from "./registry/provider-setup.ts";

type Health = Shaped<typeof healthShape>;
export const healthShape = () =>
  z.object({
    provider: text(),
    valid: flag(),
    message: text(),
    metadata: z.object({
      reason: maybe(
        about(
          text(),
          "The fault: `unknown_provider`, `not_configured`, `auth_failure`, `http_status`, `redirect`, `timeout`, `unreachable`.",
        ),
      ),
      status: maybe(about(count(), "HTTP status of the provider's answer.")),
      latency_ms: maybe(count()),
      variable: maybe(about(text(), "The variable to set.")),
    }),
  });

interface HealthContext {
  env: ReadVariable;
  registry: ModelRegistry;
  fetch: typeof fetch;
  /** Makes a small request to the AI binding; absent: there is no binding. */
  askBinding?: (() => Promise<unknown>) | undefined;
  /** How long the provider may take, in ms. */
  timeout_ms: number;
}

/** Never shows the provider's words: they may repeat the key. */
export async function checkHealth(provider: string, context: HealthContext): Promise<Health> {
  const { registry, env } = context;
  const definition = registry.providers.get(provider);
  const failed = (reason: string, message: string, more: object = {}): Health => ({
    provider,
    valid: false,
    message,
    metadata: { reason, ...more },
  });
  if (definition === undefined) return failed("unknown_provider", `There is no provider "${provider}".`);
  const protocol = protocolOf(provider, definition, env);
  if (protocol === "mock") return { provider, valid: true, message: "It answers by itself.", metadata: {} };
  const started = Date.now();
  try {
    if (protocol === "workers-ai") {
      if (context.askBinding === undefined) return failed("not_configured", "There is no AI binding here.");
      await within(context.askBinding(), context.timeout_ms);
      return {
        provider,
        valid: true,
        message: "The AI binding answers.",
        metadata: { latency_ms: Date.now() - started },
      };
    }
    const status = await ask(provider, definition, protocol, context);
    const facts = { status, latency_ms: Date.now() - started };
    if (status >= 200 && status < 300) {
      return { provider, valid: true, message: `${provider} answers.`, metadata: facts };
    }
    if (status === 401 || status === 403)
      return failed("auth_failure", `${provider} refused the key (HTTP ${status}).`, facts);
    if (status >= 300 && status < 400)
      return failed("redirect", `${provider} answered with a redirect (HTTP ${status}).`, facts);
    return failed("http_status", `${provider} answered with HTTP ${status}.`, facts);
  } catch (error) {
    if (error instanceof HullError) {
      const { variable } = error.data.members;
      return failed("not_configured", error.data.detail, typeof variable === "string" ? { variable } : {});
    }
    const latency_ms = Date.now() - started;
    if (error instanceof Error && error.name === "TimeoutError") {
      return failed("timeout", `${provider} did not answer within ${context.timeout_ms} ms.`, { latency_ms });
    }
    return failed("unreachable", `${provider} cannot be reached.`, { latency_ms });
  }
}

/** @returns the status of the answer */
async function ask(
  provider: string,
  definition: ProviderDefinition,
  protocol: HttpProtocol,
  context: HealthContext,
): Promise<number> {
  const { env, fetch, timeout_ms } = context;
  const { method = "GET", path, url, body } = definition.healthcheck ?? {};
  const own = url !== undefined && baseOverride(provider, definition, env) === null ? new URL(url) : null;
  const { base, headers } = addressOf(provider, definition, env, { protocol, at: own?.origin });
  const response = await fetch(
    own ? base + own.pathname + own.search : join(base, path ?? ENDPOINTS[protocol].health),
    {
      method,
      headers: {
        accept: "application/json",
        "user-agent": "hull",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(method === "GET" || body === undefined ? {} : { body }),
      redirect: "manual",
      signal: AbortSignal.timeout(timeout_ms),
    },
  );
  await response.body?.cancel();
  return response.status;
}

/** Waits with a time limit of its own, since the binding accepts no signal for this request. */
const within = <T>(work: Promise<T>, ms: number): Promise<T> =>
  atMost(work, ms, () => {
    throw new DOMException("The time is over.", "TimeoutError");
  });
