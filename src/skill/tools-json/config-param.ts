/** Reads the declaration of a tool's configuration; keys in camelCase or snake_case. */
import { configFault } from "../config/value.ts";
import { readMap, readMapping, readText, wrongType } from "../fields.ts";
import type { Findings } from "../findings.ts";
import type { ConfigParam } from "../manifest.ts";
import { child, items, type MapNode, type Slot } from "../tree.ts";
import { CONFIG_PARAM_FIELDS } from "./tool-fields.ts";

const KEYS = Object.keys(CONFIG_PARAM_FIELDS);

const NAME = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** The parameters of an `x-config`, in its order; adds faults to `findings`. */
export function readConfigParams(findings: Findings, slot: Slot): ConfigParam[] {
  if (slot.node.kind !== "list") {
    wrongType(findings, slot, "a list of configuration parameters");
    return [];
  }
  const params = new Map<string, ConfigParam>();
  for (const item of items(slot.node, slot.path)) {
    const param = readConfigParam(findings, item);
    if (param === null) continue;
    if (params.has(param.name)) {
      const message = `The configuration parameter ${param.name} is declared twice.`;
      findings.error("config_param", item, message, "Rename one of them.");
    } else {
      params.set(param.name, param);
    }
  }
  return [...params.values()];
}

function readConfigParam(findings: Findings, slot: Slot): ConfigParam | null {
  const map = readMap(findings, slot);
  if (map === undefined) return null;
  const given = { ...slot, node: camelCased(map) };
  const noName = { path: `${slot.path}.name`, at: slot.at };
  const param = readMapping(
    findings,
    given,
    CONFIG_PARAM_FIELDS,
    { name: (at) => readName(findings, at) },
    { name: () => findings.error("config_param", noName, NEEDS_NAME, NAME_HINT) },
  );
  if (param === undefined) return null;
  checkParam(findings, slot, param);
  return withFittingDefault(findings, child(given.node, "default", slot.path), param);
}

/** Removes a default that nobody could set as a value. */
function withFittingDefault(findings: Findings, slot: Slot | undefined, param: ConfigParam): ConfigParam {
  const { default: fallback, ...rest } = param;
  if (slot === undefined || fallback === undefined || param.type === "secret") return param;
  const wrong = configFault(param, fallback);
  if (wrong === null) return param;
  const message = `The default of ${param.name} does not fit it: ${param.name}${wrong.path} ${wrong.message}.`;
  findings.warning(
    "config_param",
    slot,
    message,
    "Hull leaves it out. Give a default that is a valid value.",
  );
  return rest;
}

/** Finds declarations that no value, or wrong values, can satisfy. */
function checkParam(findings: Findings, slot: Slot, param: ConfigParam): void {
  const { type, options, min, max, step, minItems, maxItems } = param;
  const refuse = (message: string, hint: string) =>
    findings.error("config_param", { path: slot.path, at: slot.at }, message, hint);
  const chooses = type === "select" || type === "multiselect";
  if (chooses && (options === undefined || options.length === 0))
    refuse(
      `The configuration parameter ${param.name} of type ${type} has no options.`,
      'Add "options": ["first", "second"].',
    );
  if (options !== undefined && new Set(options).size < options.length)
    refuse(`The options of ${param.name} repeat a value.`, "Name each option once.");
  if (min !== undefined && max !== undefined && min > max)
    refuse(`The min of ${param.name} is greater than its max.`, "Exchange them.");
  if (step !== undefined && step <= 0)
    refuse(`The step of ${param.name} must be greater than 0.`, "Leave it out for any number.");
  if (minItems !== undefined && maxItems !== undefined && minItems > maxItems)
    refuse(`The minItems of ${param.name} is greater than its maxItems.`, "Exchange them.");
  if (type === "secret" && param.default !== undefined)
    refuse(
      `The secret ${param.name} has a default, and everybody who has the skill can read it.`,
      "Leave the default out.",
    );
}

const NEEDS_NAME =
  "A configuration parameter needs a name: a letter or _, then at most 63 letters, digits or _. It must not begin with two _.";
const NAME_HINT = "Use for example maxCost.";

function readName(findings: Findings, slot: Slot): string | undefined {
  const name = readText(findings, slot);
  if (name !== undefined && NAME.test(name)) return name;
  findings.error("config_param", slot, NEEDS_NAME, NAME_HINT);
  return undefined;
}

/** `display_name` and `displayName` are the same key; of both, the later one wins. */
function camelCased(map: MapNode): MapNode {
  const entries = Array.from(map.entries, ([key, entry]) => {
    const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return [KEYS.includes(name) ? name : key, entry] as const;
  });
  return { ...map, entries: new Map(entries) };
}
