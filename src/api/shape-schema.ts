/** Turns the shapes of requests, answers and events into JSON Schema 2020-12, for documents. */
import * as z from "zod/mini";
import { artifactShape } from "../engine/workflow/artifacts.ts";
import { blockShape } from "../llm/blocks.ts";
import { messageShape, partShape } from "../llm/messages.ts";
import { transcriptShape } from "../llm/transcript.ts";
import { once } from "../memo.ts";
import { asJson, isObject, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { permissionsShape, policyShape } from "../skill/policy.ts";
import { anyArtifacts, anyGraph } from "./bodies/workflows.ts";
import { ref } from "./openapi-parts.ts";

/**
 * The schema of a shape's input. If only code can express a check, the schema permits any value.
 * @param named shapes defined elsewhere, by reference
 */
export function schemaOf(
  shape: z.core.$ZodType,
  named: ReadonlyMap<z.core.$ZodType, JsonObject> = new Map(),
): JsonObject {
  const made = z.toJSONSchema(shape, {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      const def = zodSchema._zod.def;
      if (def.type === "custom" && "fn" in def && def.fn === isObject) jsonSchema.type = "object";
      // The format says the same, in fewer characters.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      // Describes the types in Hull's code, not what a client may send.
      delete jsonSchema.readOnly;
      const { schema } = jsonSchema;
      delete jsonSchema.schema;
      const elsewhere =
        named.get(zodSchema) ?? (typeof schema === "string" ? ref("schemas", schema) : undefined);
      if (elsewhere === undefined || zodSchema === shape) return;
      for (const key of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, key);
      Object.assign(jsonSchema, elsewhere);
    },
  });
  const { $schema: _, $defs: __, ...schema } = objectOf(plain(asJson(made)));
  return schema;
}

/** Shapes that the document has as schemas of their own. */
export const namedShapes = once(
  (): ReadonlyMap<z.core.$ZodType, JsonObject> =>
    new Map<z.core.$ZodType, JsonObject>([
      [partShape, ref("schemas", "MessagePart")],
      [blockShape, ref("schemas", "MessageBlock")],
      [messageShape, ref("schemas", "Message")],
      [transcriptShape, ref("schemas", "Transcript")],
      [policyShape, ref("schemas", "Policy")],
      [permissionsShape, ref("schemas", "Permissions")],
      [artifactShape(), ref("schemas", "WorkflowArtifact")],
      [anyArtifacts, ref("schemas", "GivenArtifacts")],
      [anyGraph, ref("schemas", "WorkflowGraph")],
    ]),
);

/** Schemas by the names that they have in the document. */
export const schemasOf = (shapes: { readonly [name: string]: z.core.$ZodType }): JsonObject =>
  Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, schemaOf(shape, namedShapes())]));

/**
 * The schema of a body, of the shape that reads it.
 * @param meanings what members mean, or a reference to the schema of what another reader checks
 */
export function bodySchema(
  shape: z.core.$ZodType,
  meanings: { [member: string]: JsonObject } = {},
): JsonObject {
  const read = schemaOf(shape, namedShapes());
  const members = Object.entries(objectOf(read.properties)).map(([name, member]) => {
    const more = meanings[name] ?? {};
    return [name, "$ref" in more ? more : { ...objectOf(member), ...more }];
  });
  return { ...read, properties: Object.fromEntries(members) };
}

/** Removes `z.json()`, the one recursive shape: it accepts anything. Also removes bounds that every integer has. */
function plain(value: Json): Json {
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  if (typeof value.$ref === "string" && value.$ref.startsWith("#/$defs/")) return {};
  const entries = Object.entries(value).filter(
    ([key, member]) =>
      !(key === "maximum" && member === Number.MAX_SAFE_INTEGER) &&
      !(key === "minimum" && member === Number.MIN_SAFE_INTEGER) &&
      key !== "propertyNames",
  );
  return Object.fromEntries(entries.map(([key, member]) => [key, plain(member)]));
}

/** A schema in the form for tables: `integer ≥ 0`, `list of string`, `{name, url?}`. */
export function wordsOf(schema: JsonObject): string {
  const { type, enum: values, const: value, anyOf, oneOf, $ref } = schema;
  if (typeof $ref === "string") return $ref.split("/").at(-1) ?? "";
  if (value !== undefined) return `\`${JSON.stringify(value)}\``;
  if (Array.isArray(values)) return values.map((one) => `\`${JSON.stringify(one)}\``).join(", ");
  const either = anyOf ?? oneOf;
  if (Array.isArray(either)) return either.map((one) => wordsOf(objectOf(one))).join(" or ");
  if (Array.isArray(type)) return type.join(" or ");
  if (type === "array") return `list of ${wordsOf(objectOf(schema.items))}`;
  if (type === "object") return objectWords(schema);
  if (type === "integer" || type === "number") return [type, ...bounds(schema)].join(" ");
  return typeof type === "string" ? type : "any JSON";
}

function objectWords({ properties, required, additionalProperties }: JsonObject): string {
  if (properties !== undefined) {
    const needed = Array.isArray(required) ? required : [];
    const names = Object.keys(objectOf(properties)).map((name) =>
      needed.includes(name) ? name : `${name}?`,
    );
    return `\`{${names.join(", ")}}\``;
  }
  const values = objectOf(additionalProperties);
  return Object.keys(values).length === 0 ? "object" : `object of ${wordsOf(values)}`;
}

function bounds({ minimum, exclusiveMinimum, maximum }: JsonObject): string[] {
  return [
    ...(minimum === undefined ? [] : [`≥ ${minimum}`]),
    ...(exclusiveMinimum === undefined ? [] : [`> ${exclusiveMinimum}`]),
    ...(maximum === undefined ? [] : [`≤ ${maximum}`]),
  ];
}
