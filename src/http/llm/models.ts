/** Information about model names: `/llm/info`, `/models`, `/resolve`, `/infer`, `/tier`, `/pick`, `/cost`. */
import type { Model, ModelInfo, ModelTarget } from "../../api/answers/models.ts";
import type { Usage } from "../../engine/messages.ts";
import type { ModelRegistry } from "../../model/registry/definition.ts";
import { inferProvider as inferred, tierOf, wireModel } from "../../model/registry/infer.ts";
import { capabilitiesOf } from "../../model/registry/matrix.ts";
import { costOf, priceOf } from "../../model/registry/price.ts";
import { isAvailable } from "../../model/registry/provider-setup.ts";
import { defaultTarget, expand, knownProvider, toolFormat } from "../../model/registry/resolve.ts";
import { retirementOf } from "../../model/registry/retirements.ts";
import { contextWindow } from "../../model/registry/window.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import { required, wholeIn } from "../parameters.ts";
import type { Handler, Params } from "../routes.ts";

/** A handler whose answer follows from the models that the tenant's calls may name. */
export const ofRegistry =
  (answer: (registry: ModelRegistry, context: RequestContext, params: Params) => unknown): Handler =>
  async (context, params) =>
    jsonNow(answer(await context.modelRegistry(), context, params));

/** `GET /llm/info`: the target of a call that names no model. */
export const getModelInfo = ofRegistry((registry, { settings: { read } }): ModelInfo => {
  const { provider, model } = defaultTarget(registry, read);
  return { provider, model, api_key_set: isAvailable(provider, registry, read) };
});

/** `GET /llm/models`: the aliases; with `?id=` one model. */
export const listModels = ofRegistry((registry, { query, settings }) => {
  if (!query.has("id")) return { data: [...registry.aliases.keys()], next_cursor: null };
  const { id, alias, provider } = named(required(query, "id"), registry);
  const model = wireModel(id, provider);
  const { matched: _, ...capabilities } = capabilitiesOf(registry, provider, model);
  const shown: Model = {
    id,
    provider,
    tool_format: toolFormat(registry, provider, model, alias),
    tier: tierOf(registry, id),
    capabilities,
    catalog: registry.models.get(id.toLowerCase()) ?? null,
    auth_available: isAvailable(provider, registry, settings.read),
    context_window: contextWindow(registry, id),
    price: priceOf(registry, provider, id),
    retires_at: retirementOf(provider, model),
  };
  return shown;
});

/** `GET /llm/resolve?model=` */
export const resolveModel = ofRegistry((registry, { query }) => shown(required(query, "model"), registry));

/** `GET /llm/pick?target=`: like `resolve`, but also for the name of a tier. */
export const pickModel = ofRegistry((registry, { query }) => {
  const target = required(query, "target");
  const tier = `tier/${target}`;
  const isTier = !registry.aliases.has(target) && registry.aliases.has(tier);
  return shown(isTier ? tier : target, registry);
});

/** `GET /llm/infer?model=` */
export const inferProvider = ofRegistry((registry, { query }) => ({
  provider: named(required(query, "model"), registry).provider,
}));

/** `GET /llm/tier?model=` */
export const tierOfModel = ofRegistry((registry, { query }) => ({
  tier: tierOf(registry, named(required(query, "model"), registry).id),
}));

/** `GET /llm/cost?model=&input_tokens=&output_tokens=`: USD, 0 if no price is known. */
export const priceTokens = ofRegistry((registry, { query }) => {
  const { id, provider } = named(required(query, "model"), registry);
  const asked = query.get("provider");
  const seller = asked === null ? provider : knownProvider(asked, registry);
  const price = priceOf(registry, seller, id);
  const by = { protocol: registry.providers.get(seller)?.api };
  const tokens = (name: string): number => wholeIn(query, name, { otherwise: 0 });
  const usage: Usage = {
    input_tokens: tokens("input_tokens"),
    output_tokens: tokens("output_tokens"),
    cache_read_tokens: tokens("cache_read_tokens"),
    cache_write_tokens: tokens("cache_write_tokens"),
  };
  return { cost_usd: price === null ? 0 : costOf(usage, price, by), price_known: price !== null };
});

/** An alias's model, or the id with its inferred provider. */
function named(model: string, registry: ModelRegistry): { id: string; provider: string; alias?: string } {
  const { id, alias, provider = inferred(id, registry).provider } = expand(model, registry);
  return alias === undefined ? { id, provider } : { id, provider, alias };
}

function shown(model: string, registry: ModelRegistry): ModelTarget {
  const { id, provider } = named(model, registry);
  return { id, provider, tier: tierOf(registry, id) };
}
