/** The configured values for a tool's handler, and values from a run's request. */

import { refusedAt } from "../llm/prepare.ts";
import type { SealedFor, Sealer } from "../registry/tool-config/seal.ts";
import { readValues, type StoredValue } from "../registry/tool-config/store.ts";
import {
  CONFIG_LAYERS,
  type ConfigDiagnostic,
  effectiveConfig,
  type LayerValue,
  type LayerValues,
} from "../skill/config/effective.ts";
import { type Configurable, readGiven } from "../skill/config/given.ts";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject, SkillRecord, SkillTool } from "../skill/manifest.ts";
import type { RunContext } from "./context.ts";

interface CallConfig {
  values: JsonObject;
  /** Values that only the handler may see; `guardSecrets` keeps them in. */
  secrets: string[];
  diagnostics: ConfigDiagnostic[];
}

/** Selects the values for a call. */
export interface ConfigChoice {
  bot: string | null;
  /** The run's own values, from `readToolConfigs`. */
  perCall: JsonObject | null;
}

/**
 * The values for one call of a tool, with secrets in the clear. Asks the database once in the life of a run, and never
 * for tools without parameters.
 * @throws SecretKeyMissing if a secret is stored and there is no key
 */
export async function configForCall(
  context: RunContext,
  record: SkillRecord,
  tool: SkillTool,
  { bot, perCall }: ConfigChoice,
): Promise<CallConfig> {
  if (tool.config.length === 0) return { values: {}, secrets: [], diagnostics: [] };
  // Values are configured under a skill's address, which a stored skill does not have.
  const rows = record.stored === true ? [] : await storedFor(context, record.manifest.slug, bot);
  const { tenant } = context;
  const { sealer } = context.deployment;
  const layers = await layersOf(sealer, rows, { tenant, record, tool: tool.name });
  const own = perCall?.[tool.name];
  if (isObject(own)) {
    const use = sealedFor(tenant, record, tool.name);
    const secret = (param: string) =>
      tool.config.some(({ name, type }) => name === param && type === "secret");
    const entries = Object.entries(own).map(
      async ([param, value]): Promise<[string, LayerValue]> => [
        param,
        secret(param) && isSealed(value)
          ? await opened(sealer, value.sealed, { ...use, param, bot: null })
          : { kind: "plain", value },
      ],
    );
    layers.per_call = new Map(await Promise.all(entries));
  }
  const { values, diagnostics } = effectiveConfig(tool.config, layers, CONFIG_LAYERS);
  const secrets = tool.config.flatMap(({ name, type }) => {
    const value = values[name];
    return type === "secret" && typeof value === "string" ? [value] : [];
  });
  return { values, secrets, diagnostics };
}

function storedFor(context: RunContext, slug: string, bot: string | null): Promise<StoredValue[]> {
  const known = context.storedConfig;
  const key = `${slug} ${bot ?? ""}`;
  let rows = known.get(key);
  if (rows === undefined) {
    rows = readValues(context, slug, bot);
    known.set(key, rows);
    rows.catch(() => known.delete(key));
  }
  return rows;
}

/**
 * The stored values of one tool by layer.
 * @param sealer opens the secrets; `null`: they stay closed
 * @throws SecretKeyMissing
 */
export async function layersOf(
  sealer: Sealer | null,
  rows: readonly StoredValue[],
  { tenant, record, tool }: { tenant: string; record: SkillRecord; tool: string },
): Promise<LayerValues> {
  const use = sealedFor(tenant, record, tool);
  const global = new Map<string, LayerValue>();
  const per_bot = new Map<string, LayerValue>();
  for (const { param, bot, value, sealed, ...row } of rows) {
    if (row.tool !== tool) continue;
    const secret = async (): Promise<LayerValue> =>
      sealer === null ? { kind: "sealed" } : opened(sealer, value, { ...use, param, bot });
    const kept: LayerValue = sealed ? await secret() : { kind: "plain", value: JSON.parse(value) };
    (bot === "" ? global : per_bot).set(param, kept);
  }
  return { global, per_bot };
}

async function opened(sealer: Sealer, sealed: string, use: SealedFor): Promise<LayerValue> {
  const value = await sealer.unseal(sealed, use);
  return value === null ? { kind: "lost" } : { kind: "secret", value };
}

/** What a tool's secret is sealed for, without the parameter. */
export function sealedFor(
  tenant: string,
  { manifest, uploaded_by }: SkillRecord,
  tool: string,
): Omit<SealedFor, "param" | "bot"> {
  return { tenant, slug: manifest.slug, owner: uploaded_by ?? null, tool };
}

/**
 * Reads the option `tool_configs`: values for one run. It seals the secrets, since the run's specification is stored.
 * @param records of the run; later ones win
 * @throws InputInvalid with a path per finding, SecretKeyMissing
 */
export async function readToolConfigs(
  { deployment, tenant }: RunContext,
  records: readonly SkillRecord[],
  given: Json | undefined,
): Promise<JsonObject | null> {
  if (given === undefined || given === null) return null;
  const owners = new Map<string, { record: SkillRecord; tool: Configurable }>();
  for (const record of records) {
    for (const tool of record.tools ?? []) owners.set(tool.name, { record, tool });
  }
  const tools = Array.from(owners.values(), ({ tool }) => tool);
  const result = readGiven(tools, given, "per_call", "options.tool_configs");
  if ("faults" in result) throw refusedAt(result.faults);
  const configs: { [tool: string]: JsonObject } = {};
  for (const { tool, param, value } of result.values) {
    const record = owners.get(tool)?.record;
    if (record === undefined || value === null) continue;
    const use = { ...sealedFor(tenant, record, tool), param: param.name, bot: null };
    const kept =
      param.type === "secret" ? { sealed: await deployment.sealer.seal(String(value), use) } : value;
    configs[tool] = { ...configs[tool], [param.name]: kept };
  }
  return configs;
}

function isSealed(value: Json): value is { sealed: string } {
  return isObject(value) && Object.keys(value).length === 1 && typeof value.sealed === "string";
}
