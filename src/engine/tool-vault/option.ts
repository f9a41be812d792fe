/** The option `tool_search`. */
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { nearest } from "../../skill/match.ts";
import { type Fault, shown, wrongValue } from "../fault.ts";
import { TOOL_NAME, TOOL_NAME_TEXT } from "../tools.ts";

const VARIANTS = ["bm25", "regex"] as const;
const MODES = ["auto", "native", "client"] as const;
const STRATEGIES = ["bm25", "regex", "semantic", "host"] as const;
type Variant = (typeof VARIANTS)[number];
export type Strategy = (typeof STRATEGIES)[number];

export interface SearchOption {
  variant: Variant;
  mode: (typeof MODES)[number];
  /** The strategy with which Hull searches, in client mode. */
  strategy: Strategy;
  /** Tools that stay in the model's context, deferred or not. */
  always_loaded: readonly string[];
  /** The most tokens of all promoted tools; `null`: no limit. */
  budget_tokens: number | null;
  /** Name of the tool with which a model searches, in client mode. */
  name: string;
  include_stub_listing: boolean;
  /** The given fields, for warnings about those without effect. */
  given: readonly (keyof typeof FIELDS)[];
}

const DEFAULT_SEARCH_NAME = "hull_tool_search";

const words = (list: readonly string[]): string => list.map((word) => `"${word}"`).join(", ");
/** What each field takes. */
const FIELDS = {
  variant: `one of ${words(VARIANTS)}`,
  mode: `one of ${words(MODES)}`,
  strategy: `one of ${words(STRATEGIES)}`,
  always_loaded: "a list of tool names",
  budget_tokens: "a whole number of at least 1",
  name: TOOL_NAME_TEXT,
  include_stub_listing: "true or false",
};
type Field = keyof typeof FIELDS;
const NAMES: readonly string[] = Object.keys(FIELDS);

/** Reads the option; `null`: off. Faults name `tool_search.<field>`, the accepted values and the given one. */
export function readSearchOption(given: Json | undefined): SearchOption | { faults: Fault[] } | null {
  if (given === undefined || given === null || given === false) return null;
  if (given === true) return readFields({});
  if (typeof given === "string" && VARIANTS.some((name) => name === given)) {
    return readFields({ variant: given });
  }
  if (isObject(given)) return readFields(given);
  const accepted = `true, false, ${words(VARIANTS)} or an object`;
  return { faults: [wrongValue("tool_search", "tool_search", accepted, given)] };
}

function readFields(all: JsonObject): SearchOption | { faults: Fault[] } {
  const faults: Fault[] = [];
  const given: Field[] = [];
  for (const [key, value] of Object.entries(all)) {
    if (value === null) continue;
    if (isField(key)) given.push(key);
    else faults.push(unknownField(key, value));
  }
  /** The value of a field, if `read` takes it. */
  const field = <T>(key: Field, fallback: T, read: (value: Json) => T | undefined): T => {
    const value = all[key] ?? null;
    if (value === null) return fallback;
    const taken = read(value);
    if (taken !== undefined) return taken;
    faults.push(wrongValue(`tool_search.${key}`, `tool_search.${key}`, FIELDS[key], value));
    return fallback;
  };
  const oneOf =
    <T extends string>(list: readonly T[]) =>
    (value: Json): T | undefined =>
      list.find((word) => word === value);
  const variant = field<Variant>("variant", "bm25", oneOf(VARIANTS));
  const option: SearchOption = {
    variant,
    mode: field("mode", "auto", oneOf(MODES)),
    strategy: field<Strategy>("strategy", variant, oneOf(STRATEGIES)),
    always_loaded: field<string[]>("always_loaded", [], texts),
    budget_tokens: field<number | null>("budget_tokens", null, count),
    name: field("name", DEFAULT_SEARCH_NAME, toolName),
    include_stub_listing: field("include_stub_listing", false, (value) =>
      typeof value === "boolean" ? value : undefined,
    ),
    given,
  };
  return faults.length > 0 ? { faults } : option;
}

const isField = (key: string): key is Field => NAMES.includes(key);

function unknownField(key: string, value: Json): Fault {
  const [near] = nearest(key, NAMES);
  const hint = near === undefined ? `accepted: ${NAMES.join(", ")}` : `did you mean ${near}?`;
  const path = `tool_search.${key}`;
  return { path, message: `${path} is not known (got ${shown(value)}); ${hint}` };
}

function texts(value: Json): string[] | undefined {
  const isText = (item: Json): item is string => typeof item === "string";
  return Array.isArray(value) && value.every(isText) ? value : undefined;
}

const count = (value: Json): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1 ? value : undefined;

const toolName = (value: Json): string | undefined =>
  typeof value === "string" && TOOL_NAME.test(value) ? value : undefined;
