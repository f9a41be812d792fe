/** `/llm/rate-limit/:provider`: the calls per minute that the caller's tenant may make to a provider. */

import type { ProviderRate } from "../../api/answers/spending.ts";
import { rateBody } from "../../api/bodies/spending.ts";
import { BadRequest, ProviderNotFound } from "../../errors/request.ts";
import { canonicalProvider } from "../../model/registry/registry.ts";
import { tariffOf } from "../../run/accounting.ts";
import { configuredRpm } from "../../run/provider-rate.ts";
import { askWithPolicy } from "../../run/tenant-policy.ts";
import type { Policy } from "../../session/ledger/rpc.ts";
import { own } from "../../skill/json.ts";
import { nearest } from "../../skill/match.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import type { Params } from "../routes.ts";

/** `GET`: the effective rate, and which setting it comes from. */
export async function getRateLimit(context: RequestContext, params: Params): Promise<Response> {
  const { provider } = await providerIn(context, params);
  const { policy } = await askWithPolicy(context, async (ledger) => await ledger.policy());
  return jsonNow(await rateOf(context, provider, policy));
}

/**
 * `PUT {rpm}`: sets the tenant's own rate; 0: removes it, so that the deployment's rate applies again.
 * @throws ProviderNotFound: a rate of no provider would limit nothing
 */
export async function putRateLimit(context: RequestContext, params: Params): Promise<Response> {
  const { provider, known, near } = await providerIn(context, params);
  const { rpm } = await readJson(context.request, rateBody);
  if (rpm > 0 && !known) throw new ProviderNotFound({ name: provider, near });
  const { policy } = await askWithPolicy(context, async (ledger) => await ledger.putRpm(provider, rpm));
  return jsonNow(await rateOf(context, provider, policy));
}

async function rateOf(context: RequestContext, provider: string, { rpm }: Policy): Promise<ProviderRate> {
  const set = own(rpm, provider);
  if (set !== undefined) return { provider, rpm: set, source: "tenant" };
  const registry = await context.deployment.models.registry();
  const configured = configuredRpm(context, provider, tariffOf(registry).rpm);
  return { provider, rpm: configured, source: configured === null ? null : "deployment" };
}

/** The provider, by the name under which its calls are counted. @throws BadRequest */
async function providerIn(
  context: RequestContext,
  { provider: name = "" }: Params,
): Promise<{ provider: string; known: boolean; near: string[] }> {
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name))
    throw new BadRequest({ detail: `"${name}" cannot be the name of a provider.` });
  const registry = await context.modelRegistry();
  const provider = canonicalProvider(registry, name);
  const known = registry.providers.has(provider);
  return { provider, known, near: known ? [] : nearest(name, registry.providers.keys()) };
}
