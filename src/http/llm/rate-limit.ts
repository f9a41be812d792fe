/** `/llm/rate-limit/:provider`: the calls per minute that the caller's tenant may make to a provider. */
import * as z from "zod/mini";
import { BadRequest } from "../../errors/request.ts";
import { tariffOf } from "../../run/accounting.ts";
import { configuredRpm } from "../../run/provider-rate.ts";
import { askWithPolicy } from "../../run/tenant-policy.ts";
import type { Policy } from "../../session/ledger/rpc.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";

const MAX_RPM = 1_000_000;

const newRate = z.lazy(() => z.strictObject({ rpm: z.int().check(z.nonnegative(), z.maximum(MAX_RPM)) }));

/** `GET`: the effective rate, and who set it. */
export async function getRateLimit(
  context: RequestContext,
  params: Record<string, string>,
): Promise<Response> {
  const provider = providerIn(params);
  const { policy } = await askWithPolicy(context, async (ledger) => await ledger.policy());
  return jsonNow(await rateOf(context, provider, policy));
}

/** `PUT {rpm}`: sets the tenant's own rate; 0: removes it, so that the deployment's rate applies again. */
export async function putRateLimit(
  context: RequestContext,
  params: Record<string, string>,
): Promise<Response> {
  const provider = providerIn(params);
  const { rpm } = await readJson(context.request, newRate);
  const { policy } = await askWithPolicy(context, async (ledger) => await ledger.putRpm(provider, rpm));
  return jsonNow(await rateOf(context, provider, policy));
}

async function rateOf(context: RequestContext, provider: string, { rpm }: Policy) {
  const own = rpm[provider];
  if (own !== undefined) return { provider, rpm: own, source: "tenant" };
  const registry = await context.deployment.models.registry();
  const configured = configuredRpm(context, provider, tariffOf(registry).rpm);
  return { provider, rpm: configured, source: configured === null ? null : "deployment" };
}

function providerIn({ provider = "" }: Record<string, string>): string {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/.test(provider)) return provider;
  throw new BadRequest({ detail: `"${provider}" cannot be the name of a provider.` });
}
