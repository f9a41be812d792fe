/** Turns a zod object into the configuration parameters of a tool. */
import * as z from "zod/mini";
import { asJson, isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { CONFIG_PARAM_FIELDS } from "../skill/tools-json/tool-fields.ts";
import type { SchemaFault } from "./schema.ts";

/** What `.meta()` may add or override; `configType` is the parameter's type. */
const META = Object.keys(CONFIG_PARAM_FIELDS).filter((key) => !["name", "type", "default"].includes(key));

/** Declarations for `x-config`, in the order of the object's keys; their reader checks them. */
export function configParamsOf(
  schema: z.core.$ZodType,
): { params: JsonObject[] } | { faults: SchemaFault[] } {
  const made: unknown = z.toJSONSchema(schema, { io: "input", target: "draft-7", unrepresentable: "any" });
  const json = asJson<Json>(made);
  if (!isObject(json) || json.type !== "object" || !isObject(json.properties))
    return { faults: [{ path: "", message: "must be a z.object()" }] };
  const params: JsonObject[] = [];
  const faults: SchemaFault[] = [];
  for (const [name, part] of Object.entries(json.properties)) {
    const shape = isObject(part) ? shapeOf(part) : null;
    if (!isObject(part) || (shape === null && part.configType === undefined)) {
      faults.push({ path: name, message: "is of a kind that cannot be configured" });
      continue;
    }
    params.push({
      name,
      ...shape,
      ...(part.configType === undefined ? {} : { type: part.configType }),
      ...picked(part, ["default", ...META]),
    });
  }
  return faults.length > 0 ? { faults } : { params };
}

/** The parameter's type with its limits, or `null` if no type matches. */
function shapeOf(part: JsonObject): JsonObject | null {
  const options = optionsOf(part);
  if (options !== null) return { type: "select", options };
  switch (part.type) {
    case "string":
      return { type: part.format === "uri" ? "url" : "string" };
    case "boolean":
      return { type: "boolean" };
    case "integer":
    case "number":
      return { type: "number", ...limits(part) };
    case "array":
      return { ...listOf(part.items), ...picked(part, ["minItems", "maxItems"]) };
    case "object":
      return part.properties === undefined && part.additionalProperties !== undefined
        ? { type: "map" }
        : null;
    default:
      return null;
  }
}

/** The texts of an enum, or of a union of literals. */
function optionsOf(part: JsonObject): string[] | null {
  const { anyOf } = part;
  const values = Array.isArray(anyOf)
    ? anyOf.map((one) => (isObject(one) ? one.const : undefined))
    : part.enum;
  if (!Array.isArray(values)) return null;
  const texts = values.filter((value) => typeof value === "string");
  return texts.length === values.length ? texts : null;
}

function limits(part: JsonObject): JsonObject {
  const { minimum, maximum, multipleOf } = part;
  const step = multipleOf ?? (part.type === "integer" ? 1 : undefined);
  return {
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { min: minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { max: maximum }),
    ...(step === undefined ? {} : { step }),
  };
}

function listOf(items: Json | undefined): JsonObject {
  const options = isObject(items) ? optionsOf(items) : null;
  if (options !== null) return { type: "multiselect", options };
  const numbers = isObject(items) && (items.type === "number" || items.type === "integer");
  return { type: numbers ? "number[]" : "string[]" };
}

const picked = (part: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(keys.flatMap((key) => (part[key] === undefined ? [] : [[key, part[key]]])));
