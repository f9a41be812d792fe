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

/** `GET /llm/info`: the target of a call that names no model. */
export async function getModelInfo(context: RequestContext): Promise<Response> {
  const registry = await context.modelRegistry();
  const { read } = context.settings;
  const { provider, model } = defaultTarget(registry, read);
  const info: ModelInfo = { provider, model, api_key_set: isAvailable(provider, registry, read) };
  return jsonNow(info);
}

/** `GET /llm/models`: the aliases; with `?id=` one model. */
export async function listModels(context: RequestContext): Promise<Response> {
  const registry = await context.modelRegistry();
  const asked = context.query.get("id");
  if (asked === null) return jsonNow({ data: [...registry.aliases.keys()], next_cursor: null });
  const { id, alias, provider } = named(required(context.query, "id"), registry);
  const model = wireModel(id, provider);
  const { matched: _, ...capabilities } = capabilitiesOf(registry, provider, model);
  const shown: Model = {
    id,
    provider,
    tool_format: toolFormat(registry, provider, model, alias),
    tier: tierOf(registry, id),
    capabilities,
    catalog: registry.models.get(id.toLowerCase()) ?? null,
    auth_available: isAvailable(provider, registry, context.settings.read),
    context_window: contextWindow(registry, id),
    price: priceOf(registry, provider, id),
    retires_at: retirementOf(provider, model),
  };
  return jsonNow(shown);
}

/** `GET /llm/resolve?model=` */
export async function resolveModel(context: RequestContext): Promise<Response> {
  const registry = await context.modelRegistry();
  return jsonNow(shown(required(context.query, "model"), registry));
}

/** `GET /llm/pick?target=`: like `resolve`, but also for the name of a tier. */
export async function pickModel(context: RequestContext): Promise<Response> {
  const registry = await context.modelRegistry();
  const target = required(context.query, "target");
  const tier = `tier/${target}`;
  const isTier = !registry.aliases.has(target) && registry.aliases.has(tier);
  return jsonNow(shown(isTier ? tier : target, registry));
}

/** `GET /llm/infer?model=` */
export async function inferProvider(context: RequestContext): Promise<Response> {
  const registry = await context.modelRegistry();
  return jsonNow({ provider: named(required(context.query, "model"), registry).provider });
}

/** `GET /llm/tier?model=` */
export async function tierOfModel(context: RequestContext): Promise<Response> {
  const registry = await context.modelRegistry();
  return jsonNow({ tier: tierOf(registry, named(required(context.query, "model"), registry).id) });
}

/** `GET /llm/cost?model=&input_tokens=&output_tokens=`: USD, 0 if no price is known. */
export async function priceTokens(context: RequestContext): Promise<Response> {
  const registry = await context.modelRegistry();
  const { query } = context;
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
  return jsonNow({ cost_usd: price === null ? 0 : costOf(usage, price, by), price_known: price !== null });
}

/** An alias's model, or the id with its inferred provider. */
function named(model: string, registry: ModelRegistry): { id: string; provider: string; alias?: string } {
  const { id, alias, provider = inferred(id, registry).provider } = expand(model, registry);
  return alias === undefined ? { id, provider } : { id, provider, alias };
}

function shown(model: string, registry: ModelRegistry): ModelTarget {
  const { id, provider } = named(model, registry);
  return { id, provider, tier: tierOf(registry, id) };
}
