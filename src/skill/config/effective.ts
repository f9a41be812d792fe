/** Computes the effective value of a configuration parameter, and its layer. Pure. */
import type { ConfigParam, Json, JsonObject } from "../manifest.ts";
import { configFault } from "./value.ts";

/** The layers that Hull stores. */
export const STORED_LAYERS = ["global", "per_bot"] as const;
export type StoredLayer = (typeof STORED_LAYERS)[number];
/** In rising order: a later layer's value wins. */
export const CONFIG_LAYERS = [...STORED_LAYERS, "per_call"] as const;
export type ConfigLayer = (typeof CONFIG_LAYERS)[number];

/**
 * A layer's value. `sealed`: a secret that was not opened, so it only shows that it is set; `lost`: a secret that cannot
 * be opened.
 */
export type LayerValue =
  | { kind: "plain"; value: Json }
  | { kind: "secret"; value: string }
  | { kind: "sealed" }
  | { kind: "lost" };

export type LayerValues = { [layer in ConfigLayer]?: ReadonlyMap<string, LayerValue> };

/** A stored value that Hull does not use. */
export interface ConfigDiagnostic<Layer = ConfigLayer> {
  code: "config_value_unfit" | "config_secret_lost" | "config_secret_old_key";
  param: string;
  source: Layer;
  message: string;
}

interface EffectiveConfig<Layer> {
  /** A parameter without value and default is missing. An unopened secret is `{set: true}`. */
  values: JsonObject;
  sources: { [param: string]: "default" | Layer };
  diagnostics: ConfigDiagnostic<Layer>[];
}

/** Whether a parameter of this scope may have a value in this layer. */
export function layerHolds(layer: ConfigLayer, { scope }: ConfigParam): boolean {
  switch (layer) {
    case "global":
      return true;
    case "per_bot":
      return scope !== "global";
    case "per_call":
      return scope === "per_call";
  }
}

/**
 * Applies the layers to the defaults. A value that no longer fits, because the skill has changed, counts as absent.
 * @param of the layers that count, in rising order
 */
export function effectiveConfig<Layer extends ConfigLayer>(
  params: readonly ConfigParam[],
  layers: LayerValues,
  of: readonly Layer[],
): EffectiveConfig<Layer> {
  const values: JsonObject = {};
  const sources: EffectiveConfig<Layer>["sources"] = {};
  const diagnostics: ConfigDiagnostic<Layer>[] = [];
  for (const param of params) {
    const { name } = param;
    if (param.default !== undefined) values[name] = param.default;
    sources[name] = "default";
    for (const source of of) {
      const given = layerHolds(source, param) ? layers[source]?.get(name) : undefined;
      if (given === undefined) continue;
      const unfit = unfitness(param, given);
      if (unfit === null) {
        values[name] = given.kind === "plain" || given.kind === "secret" ? given.value : { set: true };
        sources[name] = source;
      } else diagnostics.push({ ...unfit, param: name, source });
    }
  }
  return { values, sources, diagnostics };
}

function unfitness(param: ConfigParam, given: LayerValue): Pick<ConfigDiagnostic, "code" | "message"> | null {
  const { name } = param;
  const rest = "Hull uses the value of the layer below.";
  if (given.kind === "lost") {
    const message = `No key of HULL_SECRET_KEY decrypts the stored secret ${name}. ${rest}`;
    return { code: "config_secret_lost", message };
  }
  if ((given.kind !== "plain") !== (param.type === "secret")) {
    const message = `The stored value of ${name} is ${given.kind === "plain" ? "no" : "a"} secret, but its type is ${param.type} now. ${rest}`;
    return { code: "config_value_unfit", message };
  }
  if (given.kind === "sealed") return null;
  const wrong = configFault(param, given.value);
  if (wrong === null) return null;
  return {
    code: "config_value_unfit",
    message: `The stored value does not fit: ${name}${wrong.path} ${wrong.message}. ${rest}`,
  };
}
