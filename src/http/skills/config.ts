/** `/skills/:slug/config`: the tenant's configuration of a skill's tools. */

import type { ShownConfig } from "../../api/answers/skills.ts";
import { configBody } from "../../api/bodies/publishing.ts";
import { refusedAt } from "../../llm/prepare.ts";
import {
  readSecrets,
  readValues,
  replaceSealed,
  type StoredValue,
  writeValues,
} from "../../registry/tool-config/store.ts";
import { layersOf, sealedFor } from "../../run/tool-config.ts";
import {
  type ConfigDiagnostic,
  effectiveConfig,
  STORED_LAYERS,
  type StoredLayer,
} from "../../skill/config/effective.ts";
import { type GivenValue, readGiven } from "../../skill/config/given.ts";
import type { ConfigParam, SkillRecord } from "../../skill/manifest.ts";
import { readJson } from "../body.ts";
import { botOf, type RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import type { Params } from "../routes.ts";
import { findSlug } from "../served.ts";

/** The effective values, for every bot or for one, and where each comes from; for secrets only whether they are set. */
export async function getConfig(context: RequestContext, { slug = "" }: Params): Promise<Response> {
  const bot = botOf("bot", context.query.get("bot"));
  return jsonNow(await shown(context, await recordOf(context, slug), bot));
}

/** Sets all values in the body, or none; `null` resets a value to the layer below. */
export async function putConfig(context: RequestContext, { slug = "" }: Params): Promise<Response> {
  const bot = botOf("bot", context.query.get("bot"));
  const record = await recordOf(context, slug);
  const { tools } = await readJson(context.request, configBody);
  const layer = bot === null ? "global" : "per_bot";
  const given = readGiven(record.tools ?? [], tools, layer, "tools");
  if ("faults" in given) throw refusedAt(given.faults);
  const rows = await Promise.all(given.values.map((value) => rowOf(context, record, value, bot)));
  await writeValues(context, slug, rows, new Date());
  await sealAnew(context, record);
  return jsonNow(await shown(context, record, bot));
}

async function recordOf(context: RequestContext, slug: string): Promise<SkillRecord> {
  const { card } = await findSlug(context, slug);
  return context.deployment.registry.skill(card.version);
}

async function rowOf(
  { deployment, tenant }: RequestContext,
  record: SkillRecord,
  { tool, param, value }: GivenValue,
  of: string | null,
): Promise<(StoredValue & { value: string }) | (Omit<StoredValue, "value"> & { value: null })> {
  const bot = of ?? "";
  const name = { tool, param: param.name, bot };
  if (value === null) return { ...name, value, sealed: false };
  if (param.type !== "secret") return { ...name, value: JSON.stringify(value), sealed: false };
  const use = { ...sealedFor(tenant, record, tool), param: param.name, bot };
  return { ...name, value: await deployment.sealer.seal(String(value), use), sealed: true };
}

/** Seals all secrets with the first key, so that the other keys can be removed. */
async function sealAnew(context: RequestContext, record: SkillRecord): Promise<void> {
  const { settings, deployment, tenant } = context;
  if (settings.secretKeys.length < 2) return;
  const { sealer } = deployment;
  const { slug } = record.manifest;
  const renewed: Parameters<typeof replaceSealed>[2][number][] = [];
  for (const { tool, param, bot, value: before } of await readSecrets(context, slug)) {
    if (await sealer.isCurrent(before)) continue;
    const use = { ...sealedFor(tenant, record, tool), param, bot };
    const secret = await sealer.unseal(before, use);
    if (secret !== null) renewed.push({ tool, param, bot, before, value: await sealer.seal(secret, use) });
  }
  await replaceSealed(context, slug, renewed);
}

async function shown(context: RequestContext, record: SkillRecord, bot: string | null): Promise<ShownConfig> {
  const { tenant, settings } = context;
  const { slug } = record.manifest;
  const rows = await readValues(context, slug, bot);
  const tools: ShownConfig["tools"] = {};
  for (const { name, config } of record.tools ?? []) {
    if (config.length === 0) continue;
    const own = rows.filter(({ tool }) => tool === name);
    const opening = settings.secretKeys.length === 0 ? null : context.deployment.sealer;
    const layers = await layersOf(opening, own, { tenant, record, tool: name });
    const { values, sources, diagnostics } = effectiveConfig(config, layers, STORED_LAYERS);
    for (const { name: param, type } of config) {
      if (type === "secret") values[param] = { set: Object.hasOwn(values, param) };
    }
    const all = [...diagnostics, ...(await oldKeys(context, own))];
    tools[name] = {
      params: config.map(publicParam),
      values,
      sources,
      diagnostics: all.map(({ code, param, source, message }) => ({ code, param, source, message })),
    };
  }
  return { skill: slug, bot, tools };
}

/** The default of a secret is only in the skill's file. */
function publicParam({ default: given, ...param }: ConfigParam): ConfigParam {
  return given === undefined || param.type === "secret" ? param : { ...param, default: given };
}

async function oldKeys(
  { settings, deployment }: RequestContext,
  rows: readonly StoredValue[],
): Promise<ConfigDiagnostic<StoredLayer>[]> {
  if (settings.secretKeys.length < 2) return [];
  const found: ConfigDiagnostic<StoredLayer>[] = [];
  for (const { param, bot, value, sealed } of rows) {
    if (!sealed || (await deployment.sealer.isCurrent(value))) continue;
    found.push({
      code: "config_secret_old_key",
      param,
      source: bot === "" ? "global" : "per_bot",
      message: `${param} is sealed by an older key of HULL_SECRET_KEY. Any PUT to this configuration, e.g. {"tools": {}}, seals it by the first one.`,
    });
  }
  return found;
}
