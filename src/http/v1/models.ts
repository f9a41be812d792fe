/** `GET /v1/models`: the names that a client can give as a model, in either vendor's shape. */
import { CallNotFound } from "../../errors/llm.ts";
import { BadRequest } from "../../errors/request.ts";
import type { Page } from "../../list-page.ts";
import { namesSkill, SKILL_MODEL } from "../../llm/skill-model.ts";
import type { ModelRegistry } from "../../model/registry/definition.ts";
import { inferProvider } from "../../model/registry/infer.ts";
import { isUsable, type ReadVariable } from "../../model/registry/provider-setup.ts";
import { expand } from "../../model/registry/resolve.ts";
import { contextWindow } from "../../model/registry/window.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow, pageLimit } from "../page.ts";
import type { Params } from "../routes.ts";
import { servedTo } from "../served.ts";
import { type Dialect, dialectOf } from "./dialect.ts";
import { itemsFrom, namedIn } from "./lists.ts";

/** A name for a model, and who owns the model. */
interface Named {
  id: string;
  name: string;
  owner: string;
  /** Tokens; `null`: unknown. */
  window: number | null;
}

/**
 * `GET /v1/models`: the models of providers that can be called, aliases, and the llm skills, by name. Anthropic's clients get
 * pages, OpenAI's the whole list, as their lists of models have no pages. @throws BadRequest
 */
export async function listV1Models(context: RequestContext): Promise<Response> {
  const models = await namedModels(context);
  const dialect = dialectOf(context);
  if (dialect === "openai")
    return jsonNow({ object: "list", data: models.map((model) => shown(model, dialect)) });
  const { data: page, has_more } = await anthropicPage(models, context.query);
  const [first_id, last_id] = [page[0]?.id ?? null, page.at(-1)?.id ?? null];
  const data = page.map((model) => shown(model, dialect));
  return jsonNow({ data, has_more, first_id, last_id, next_page: null });
}

/**
 * The page after `?after_id=` or before `?before_id=`, and whether there is more in that direction
 * (https://platform.claude.com/docs/en/api/models/list). @throws BadRequest
 */
async function anthropicPage(all: readonly Named[], query: URLSearchParams): Promise<Page<Named>> {
  const limit = pageLimit(query);
  const placeOf = (id: string): number => all.findIndex((model) => model.id === id);
  const after = await namedIn(query, "after_id", "model", placeOf);
  const before = await namedIn(query, "before_id", "model", placeOf);
  if (after !== null && before !== null) {
    const detail = "after_id and before_id name the two directions of a list: send one of the two.";
    throw new BadRequest({ detail, param: "before_id" });
  }
  if (before !== null) {
    const from = Math.max(0, before - limit);
    return { data: all.slice(from, before), has_more: from > 0 };
  }
  return itemsFrom(all, after === null ? 0 : after + 1, limit);
}

/** `GET /v1/models/:id`: a listed name, or another id of a provider that can be called. @throws CallNotFound */
export async function getV1Model(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const model =
    (await namedModels(context)).find((known) => known.id === id) ?? (await unlisted(context, id));
  if (model !== null) return jsonNow(shown(model, dialectOf(context)));
  throw new CallNotFound({ what: "model", id });
}

/** A model that no list has, if its id tells its provider; `null`: it does not, or the provider is not set up. */
async function unlisted(context: RequestContext, id: string): Promise<Named | null> {
  const registry = await context.modelRegistry();
  if (namesSkill(id) || !inferProvider(id, registry).certain) return null;
  return configured(id, registry, context.settings.read);
}

async function namedModels(context: RequestContext): Promise<Named[]> {
  const [registry, catalog] = await Promise.all([context.modelRegistry(), servedTo(context)]);
  const skills = catalog.cards
    .filter(({ mode }) => mode === "llm")
    .map(({ slug, name }) => ({ id: `${SKILL_MODEL}${slug}`, name, owner: "hull", window: null }));
  const models = namesIn(registry).flatMap((name) => configured(name, registry, context.settings.read) ?? []);
  return [...models, ...skills].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

/** Each name once: models, aliases, and the default model of each provider. */
function namesIn({ providers, models, aliases }: ModelRegistry): string[] {
  const defaults = [...providers.values()].flatMap(({ default_model }) => default_model ?? []);
  const listed = [...models.values()].map(({ id }) => id);
  return [...new Set([...listed, ...aliases.keys(), ...defaults])];
}

/** The model of this name; `null`: its provider is not set up. */
function configured(name: string, registry: ModelRegistry, read: ReadVariable): Named | null {
  const { id, provider: own } = expand(name, registry);
  const entry = registry.models.get(id.toLowerCase());
  const owner = own ?? entry?.provider ?? inferProvider(id, registry).provider;
  if (!isUsable(owner, registry, read)) return null;
  return { id: name, name: entry?.name ?? name, owner, window: contextWindow(registry, id) };
}

/** The epoch, in place of a model's release time, which is not known. */
const EPOCH = "1970-01-01T00:00:00Z";

function shown({ id, name, owner, window }: Named, dialect: Dialect): object {
  if (dialect === "openai") return { id, object: "model", created: 0, owned_by: owner };
  return {
    type: "model",
    id,
    display_name: name,
    created_at: EPOCH,
    max_input_tokens: window,
    max_tokens: null,
    capabilities: null,
    deprecated_at: null,
    lifecycle: "active",
    line: null,
    retires_at: null,
  };
}
