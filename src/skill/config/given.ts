/** The values of configuration parameters in a request, for one layer. Pure. */
import { isObject } from "../json.ts";
import type { ConfigParam, Json, JsonObject } from "../manifest.ts";
import { type ConfigLayer, layerHolds } from "./effective.ts";
import { configFault } from "./value.ts";

/** The form of a configuration profile's name. */
export const BOT_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** A tool that can be configured. */
export interface Configurable {
  name: string;
  config: readonly ConfigParam[];
}

/** `null` resets the value to the layer below. */
export interface GivenValue {
  tool: string;
  param: ConfigParam;
  value: Json;
}

/**
 * Reads `{<tool>: {<param>: value}}`.
 * @param path of the object, for its faults
 */
export function readGiven(
  tools: readonly Configurable[],
  given: Json,
  layer: ConfigLayer,
  path: string,
): { values: GivenValue[] } | { faults: { path: string; message: string }[] } {
  const values: GivenValue[] = [];
  const faults: { path: string; message: string }[] = [];
  if (!isObject(given)) return { faults: [{ path, message: "must be an object of tools" }] };
  for (const [name, params] of Object.entries(given)) {
    const at = `${path}.${name}`;
    const tool = tools.find((known) => known.name === name);
    if (tool === undefined) faults.push({ path: at, message: unknownTool(tools) });
    else if (!isObject(params)) faults.push({ path: at, message: "must be an object of parameters" });
    else readTool(tool, params);
  }
  return faults.length > 0 ? { faults } : { values };

  function readTool({ name: tool, config }: Configurable, params: JsonObject): void {
    for (const [name, value] of Object.entries(params)) {
      const at = `${path}.${tool}.${name}`;
      const param = config.find((known) => known.name === name);
      if (param === undefined) {
        const known = config.map((each) => each.name).join(", ") || "none";
        faults.push({ path: at, message: `is no parameter of ${tool}; there are: ${known}` });
      } else if (!layerHolds(layer, param)) {
        faults.push({ path: at, message: misplaced(layer, param) });
      } else {
        const wrong = value === null ? null : configFault(param, value);
        if (wrong === null) values.push({ tool, param, value });
        else faults.push({ path: `${at}${wrong.path}`, message: wrong.message });
      }
    }
  }
}

function unknownTool(tools: readonly Configurable[]): string {
  const known = tools.filter(({ config }) => config.length > 0).map(({ name }) => name);
  return `is no tool that can be configured here; there are: ${known.join(", ") || "none"}`;
}

function misplaced(layer: ConfigLayer, { scope }: ConfigParam): string {
  return layer === "per_call"
    ? `has the scope ${scope}: a call cannot set it, PUT /skills/{slug}/config does`
    : `has the scope ${scope}: set it without bot`;
}
