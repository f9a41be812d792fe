/** What a model name stands for: `/llm/info`, `/models`, `/resolve`, `/infer`, `/tier`, `/pick`, `/cost` (agent-runtime.md §1.9). */
import type { Usage } from "../../engine/messages.ts";
import type { Catalogue } from "../../model/catalogue/definition.ts";
import { inferProvider, tierOf, wireModel } from "../../model/catalogue/infer.ts";
import { capabilitiesOf } from "../../model/catalogue/matrix.ts";
import { costOf, priceOf } from "../../model/catalogue/price.ts";
import { isAvailable } from "../../model/catalogue/reach.ts";
import { defaultTarget, expand, knownProvider, toolFormat } from "../../model/catalogue/resolve.ts";
import { tenantCatalogue } from "../../model/catalogue/tenant-rules.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import { queryOf, required, tokens } from "./query.ts";

const catalogueFor = (context: RequestContext): Promise<Catalogue> =>
  tenantCatalogue(context, context.caller.tenant);

/** `GET /llm/info`: where a call goes that names nothing. */
export async function getInfo(context: RequestContext): Promise<Response> {
  const catalogue = await catalogueFor(context);
  const { read } = context.settings;
  const { provider, model } = defaultTarget(catalogue, read);
  return jsonNow({ provider, model, api_key_set: isAvailable(provider, catalogue, read) });
}

/** `GET /llm/models`: the aliases; with `?id=` one model. */
export async function getModels(context: RequestContext): Promise<Response> {
  const catalogue = await catalogueFor(context);
  const asked = queryOf(context).get("id");
  if (asked === null) return jsonNow({ data: [...catalogue.aliases.keys()], next_cursor: null });
  const { id, alias, provider } = named(required(queryOf(context), "id"), catalogue);
  const model = wireModel(id, provider);
  const { matched: _, ...capabilities } = capabilitiesOf(catalogue, provider, model);
  return jsonNow({
    id,
    provider,
    tool_format: toolFormat(catalogue, provider, model, alias),
    tier: tierOf(catalogue, id),
    capabilities,
    catalog: catalogue.models.get(id.toLowerCase()) ?? null,
    auth_available: isAvailable(provider, catalogue, context.settings.read),
  });
}

/** `GET /llm/resolve?model=` */
export async function getResolved(context: RequestContext): Promise<Response> {
  const catalogue = await catalogueFor(context);
  return jsonNow(shown(required(queryOf(context), "model"), catalogue));
}

/** `GET /llm/pick?target=`: as `resolve`, for the name of a tier too. */
export async function getPick(context: RequestContext): Promise<Response> {
  const catalogue = await catalogueFor(context);
  const target = required(queryOf(context), "target");
  const tier = `tier/${target}`;
  const isTier = !catalogue.aliases.has(target) && catalogue.aliases.has(tier);
  return jsonNow(shown(isTier ? tier : target, catalogue));
}

/** `GET /llm/infer?model=` */
export async function getInferred(context: RequestContext): Promise<Response> {
  const catalogue = await catalogueFor(context);
  return jsonNow({ provider: named(required(queryOf(context), "model"), catalogue).provider });
}

/** `GET /llm/tier?model=` */
export async function getTier(context: RequestContext): Promise<Response> {
  const catalogue = await catalogueFor(context);
  return jsonNow({ tier: tierOf(catalogue, named(required(queryOf(context), "model"), catalogue).id) });
}

/** `GET /llm/cost?model=&input_tokens=&output_tokens=` (agent-runtime.md §15.1): USD, 0 where no price is known. */
export async function getCost(context: RequestContext): Promise<Response> {
  const catalogue = await catalogueFor(context);
  const query = queryOf(context);
  const { id, provider } = named(required(query, "model"), catalogue);
  const asked = query.get("provider");
  const price = priceOf(catalogue, asked === null ? provider : knownProvider(asked, catalogue), id);
  const usage: Usage = {
    input_tokens: tokens(query, "input_tokens"),
    output_tokens: tokens(query, "output_tokens"),
    cache_read_tokens: tokens(query, "cache_read_tokens"),
    cache_write_tokens: tokens(query, "cache_write_tokens"),
  };
  return jsonNow({ cost_usd: price === null ? 0 : costOf(usage, price), price_known: price !== null });
}

/** An alias's model, or the id with its inferred provider. */
function named(model: string, catalogue: Catalogue): { id: string; provider: string; alias?: string } {
  const { id, alias, provider = inferProvider(id, catalogue).provider } = expand(model, catalogue);
  return alias === undefined ? { id, provider } : { id, provider, alias };
}

function shown(model: string, catalogue: Catalogue): object {
  const { id, provider } = named(model, catalogue);
  return { id, provider, tier: tierOf(catalogue, id) };
}
