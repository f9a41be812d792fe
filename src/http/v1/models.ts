/** `GET /v1/models`: the names that a client can give as a model, in either vendor's shape. */
import { CallNotFound } from "../../errors/llm.ts";
import { SKILL_MODEL } from "../../llm/skill-model.ts";
import type { ModelRegistry } from "../../model/registry/definition.ts";
import { inferProvider } from "../../model/registry/infer.ts";
import { isUsable, type ReadVariable } from "../../model/registry/provider-setup.ts";
import { expand } from "../../model/registry/resolve.ts";
import { contextWindow } from "../../model/registry/window.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import { servedTo } from "../served.ts";
import { type Dialect, dialectOf } from "./dialect.ts";

/** A name for a model, and who owns the model. */
interface Named {
  id: string;
  name: string;
  owner: string;
  /** Tokens; `null`: unknown. */
  window: number | null;
}

/** `GET /v1/models`: the models of providers that can be called, aliases, and the llm skills, by name. In one page. */
export async function getModelList(context: RequestContext): Promise<Response> {
  const models = await namedModels(context);
  const dialect = dialectOf(context);
  const data = models.map((model) => shown(model, dialect));
  if (dialect === "openai") return jsonNow({ object: "list", data });
  const [first_id, last_id] = [models[0]?.id ?? null, models.at(-1)?.id ?? null];
  return jsonNow({ data, has_more: false, first_id, last_id, next_page: null });
}

/** `GET /v1/models/:id`. @throws CallNotFound */
export async function getModel(
  context: RequestContext,
  { id = "" }: Record<string, string>,
): Promise<Response> {
  const model = (await namedModels(context)).find((known) => known.id === id);
  if (model !== undefined) return jsonNow(shown(model, dialectOf(context)));
  throw new CallNotFound({ what: "model", id });
}

async function namedModels(context: RequestContext): Promise<Named[]> {
  const [registry, catalog] = await Promise.all([
    context.deployment.tenantRules.registryOf(context.tenant, context.background),
    servedTo(context),
  ]);
  const skills = catalog.cards
    .filter(({ mode }) => mode === "llm")
    .map(({ slug, name }) => ({ id: `${SKILL_MODEL}${slug}`, name, owner: "hull", window: null }));
  return [...configured(registry, context.settings.read), ...skills].sort((a, b) =>
    a.id < b.id ? -1 : a.id > b.id ? 1 : 0,
  );
}

/** Each name once: models, aliases, and the default model of each provider. */
function configured(registry: ModelRegistry, read: ReadVariable): Named[] {
  const defaults = [...registry.providers.values()].flatMap(({ default_model }) => default_model ?? []);
  const listed = [...registry.models.values()].map(({ id }) => id);
  const ids = new Set([...listed, ...registry.aliases.keys(), ...defaults]);
  return [...ids].flatMap((name): Named[] => {
    const { id, provider: own } = expand(name, registry);
    const entry = registry.models.get(id.toLowerCase());
    const owner = own ?? entry?.provider ?? inferProvider(id, registry).provider;
    if (!isUsable(owner, registry, read)) return [];
    return [{ id: name, name: entry?.name ?? name, owner, window: contextWindow(registry, id) }];
  });
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
