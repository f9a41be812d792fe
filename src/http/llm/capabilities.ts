/** `/llm/capabilities`: a model's abilities, and a tenant's own rules about them. */
import type { ModelCapabilities } from "../../api/answers/models.ts";
import { shapeErrors } from "../../engine/fault.ts";
import { InputInvalid, MalformedToml } from "../../errors/request.ts";
import { type CapabilityTables, capabilityTables } from "../../model/registry/layer.ts";
import { capabilitiesOf } from "../../model/registry/matrix.ts";
import { canonicalProvider } from "../../model/registry/registry.ts";
import { readText } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import { required } from "../parameters.ts";
import { ofRegistry } from "./models.ts";

const MAX_RULES_BYTES = 64 * 1024;

/** `GET ?provider=&model=`; without a model the provider's default one. */
export const getCapabilities = ofRegistry((registry, { query }): ModelCapabilities => {
  const provider = canonicalProvider(registry, required(query, "provider"));
  const model = query.get("model")?.trim() || (registry.providers.get(provider)?.default_model ?? "");
  const { matched: _, ...capabilities } = capabilitiesOf(registry, provider, model);
  return { provider, model, ...capabilities };
});

/**
 * `PUT`, TOML text: replaces the tenant's earlier rules. @throws MalformedToml, InputInvalid; then nothing has changed
 */
export async function putCapabilities(context: RequestContext): Promise<Response> {
  const rules = await readRules(context.request);
  await context.deployment.tenantRules.install(context.tenant, rules);
  const { provider = {}, provider_family = {} } = rules;
  return jsonNow({ providers: Object.keys(provider), provider_family });
}

/** `DELETE`: the deployment's rules only. */
export async function deleteCapabilities(context: RequestContext): Promise<Response> {
  await context.deployment.tenantRules.clear(context.tenant);
  return new Response(null, { status: 204 });
}

async function readRules(request: Request): Promise<CapabilityTables> {
  const text = await readText(request, MAX_RULES_BYTES);
  const { parseToml } = await import("../../model/registry/toml.ts");
  const toml = parseToml(text);
  if (!toml.ok) throw new MalformedToml(toml);
  const parsed = capabilityTables.safeParse(toml.value);
  if (parsed.success) return parsed.data;
  const errors = shapeErrors(parsed.error);
  const reason = "The rules do not have the expected form: [[provider.<name>]] and [provider_family].";
  throw new InputInvalid({ reason, errors });
}
