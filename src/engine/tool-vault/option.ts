/** The option `tool_search`. */
import * as z from "zod/mini";
import { once } from "../../memo.ts";
import { isObject, isTexts, withoutNullMembers } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { nearest } from "../../skill/match.ts";
import { type Fault, shown, wrongValue } from "../fault.ts";
import { toolName } from "../tools.ts";

const VARIANTS = ["bm25", "regex"] as const;
const MODES = ["auto", "native", "client"] as const;
const STRATEGIES = ["bm25", "regex", "semantic", "host"] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** The option with its defaults. */
export interface SearchOption
  extends Required<Omit<z.infer<ReturnType<typeof fieldsShape>>, "budget_tokens">> {
  /** The most tokens of all promoted tools; `null`: no limit. */
  budget_tokens: number | null;
  /** The given fields, for warnings about those without effect. */
  given: readonly string[];
}

const DEFAULT_SEARCH_NAME = "hull_tool_search";

const words = (list: readonly string[]): string => list.map((word) => `"${word}"`).join(", ");
/** The fields. The message of each says what it accepts. */
const fieldsShape = once(() => {
  const maybe = z.exactOptional;
  const oneOf = <const T extends readonly string[]>(list: T) => z.enum(list, `one of ${words(list)}`);
  const count = "a whole number of at least 1";
  return z.strictObject({
    variant: maybe(oneOf(VARIANTS)),
    mode: maybe(oneOf(MODES)),
    /** The strategy with which Hull searches, in client mode. */
    strategy: maybe(oneOf(STRATEGIES)),
    /** Tools that stay in the model's context, deferred or not. */
    always_loaded: maybe(z.custom<string[]>(isTexts, "a list of tool names")),
    budget_tokens: maybe(z.int(count).check(z.positive(count))),
    /** Name of the tool with which a model searches, in client mode. */
    name: maybe(toolName()),
    include_stub_listing: maybe(z.boolean("true or false")),
  });
});

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

function readFields(given: JsonObject): SearchOption | { faults: Fault[] } {
  const fields = withoutNullMembers(given);
  const parsed = fieldsShape().safeParse(fields);
  if (!parsed.success) return { faults: parsed.error.issues.flatMap((issue) => faultsOf(issue, fields)) };
  const { variant = "bm25" } = parsed.data;
  return {
    variant,
    mode: "auto",
    strategy: variant,
    always_loaded: [],
    budget_tokens: null,
    name: DEFAULT_SEARCH_NAME,
    include_stub_listing: false,
    ...parsed.data,
    given: Object.keys(fields),
  };
}

function faultsOf(issue: z.core.$ZodIssue, fields: JsonObject): Fault[] {
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownField(key, fields[key]));
  const [field = ""] = issue.path.map(String);
  return [wrongValue(`tool_search.${field}`, `tool_search.${field}`, issue.message, fields[field])];
}

function unknownField(key: string, value: Json | undefined): Fault {
  const names = Object.keys(fieldsShape().shape);
  const [near] = nearest(key, names);
  const hint = near === undefined ? `accepted: ${names.join(", ")}` : `did you mean ${near}?`;
  const path = `tool_search.${key}`;
  return { path, message: `${path} is not known (got ${shown(value)}); ${hint}` };
}
