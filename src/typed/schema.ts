/** Turns zod into JSON Schema. */
import * as z from "zod/mini";
import { asJson, isObject } from "../skill/json.ts";
import { withSchemas } from "../skill/json-schema.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

/** The part of a schema that JSON Schema cannot express; `path` leads from the schema to it, dotted. */
export interface SchemaFault {
  path: string;
  message: string;
}

/** Types without a value in JSON. */
const UNSAYABLE = new Set(
  "bigint symbol undefined void date map set nan custom function transform promise file".split(" "),
);

/** The schema of the input of a zod schema, in the form for the wires. */
export function jsonSchemaOf(
  schema: z.core.$ZodType,
  side: "input" | "output" = "input",
): { schema: JsonObject } | { faults: SchemaFault[] } {
  const faults: SchemaFault[] = [];
  const made: unknown = z.toJSONSchema(schema, {
    io: side,
    target: "draft-7",
    unrepresentable: "any",
    override: ({ zodSchema, path }) => {
      const { type } = zodSchema._zod.def;
      const literals = type === "literal" ? zodSchema._zod.def.values : [];
      const odd = literals.some((value) => typeof value === "bigint" || value === undefined);
      if (UNSAYABLE.has(type) || odd) {
        // Reports both a schema and its source.
        const at = dotted(path);
        const message = `z.${odd ? "literal" : type}() of this kind has no JSON Schema`;
        if (!faults.some((fault) => fault.path === at)) faults.push({ path: at, message });
      }
    },
  });
  if (faults.length > 0) return { faults: faults.reverse() };
  const json = asJson<Json>(made);
  return { schema: isObject(json) ? cleaned(json) : {} };
}

/** `["properties", "when", "items"]` is `when[]`. */
function dotted(path: readonly (string | number)[]): string {
  let text = "";
  for (let i = 0; i < path.length; i++) {
    const step = path[i];
    if (step === "properties") {
      i++;
      text += `.${path[i]}`;
    } else if (step === "items" || step === "additionalProperties") {
      text += "[]";
    }
  }
  return text.replace(/^\./, "");
}

/** Removes what only zod needs: keywords only, never a property of such a name, nor values. */
function cleaned(schema: JsonObject): JsonObject {
  const kept: [string, Json][] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "$schema" || keyword === "propertyNames" || keyword === "default") continue;
    if (isSafeBound(keyword, value)) continue;
    if (keyword === "items" && Array.isArray(value)) kept.push(["prefixItems", value.map(below)]);
    else if (keyword === "additionalItems") kept.push(["items", below(value)]);
    else kept.push([keyword, withSchemas(keyword, value, below) ?? value]);
  }
  return Object.fromEntries(kept);
}

const below = (value: Json): Json => (isObject(value) ? cleaned(value) : value);

/** The bounds that zod gives to every integer. */
const isSafeBound = (keyword: string, value: Json): boolean =>
  (keyword === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
  (keyword === "maximum" && value === Number.MAX_SAFE_INTEGER);
