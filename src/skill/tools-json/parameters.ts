/** Turns the `parameters` of a tool into JSON Schema: one conversion for every provider. Pure. */
import { wrongType } from "../fields.ts";
import { Findings } from "../findings.ts";
import { schemaFaults } from "../json-schema.ts";
import type { Json, JsonObject } from "../manifest.ts";
import { child, type MapNode, mapToJson, partOf, type Slot, slotsOf, toJson } from "../tree.ts";
import { parseJsonTree } from "./json-tree.ts";

const TYPES = ["string", "number", "integer", "boolean", "object", "array"];
/** The form of an argument's name that every provider accepts. */
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The schema of a tool without parameters. */
function emptySchema(): JsonObject {
  return { type: "object", properties: {}, required: [] };
}

/** The schema of the arguments; adds errors to `findings`, and then its result must not be used. */
export function readParameters(findings: Findings, slot: Slot | undefined): JsonObject {
  if (slot === undefined) return emptySchema();
  if (slot.node.kind !== "map") {
    wrongType(findings, slot, "an object of parameter definitions", 'Write for example {"text": {…}}.');
    return emptySchema();
  }
  const whole = isSchema(slot.node);
  const schema = whole ? wholeSchema(findings, slot) : definitions(findings, slot, slot.node);
  checkSchema(findings, slot, schema, whole ? "" : "/properties");
  return schema;
}

/**
 * The schema for a text of parameter definitions, or its fault, for the author.
 * @param text JSON
 */
export function parametersOf(text: string): { schema: JsonObject } | { fault: string } {
  const tree = parseJsonTree(text);
  if ("fault" in tree) {
    const { message, at } = tree.fault;
    return { fault: `parameters is not valid JSON: line ${at.line}, column ${at.column}: ${message}` };
  }
  const findings = new Findings("", "");
  const schema = readParameters(findings, { path: "parameters", node: tree.node, at: tree.node.at });
  const faults = findings.list.filter(({ level }) => level === "error");
  return faults.length === 0
    ? { schema }
    : { fault: faults.map(({ message, hint = "" }) => `${message} ${hint}`.trim()).join(" ") };
}

/** A schema as written. */
export function readSchema(findings: Findings, slot: Slot): JsonObject | undefined {
  if (slot.node.kind !== "map") {
    wrongType(findings, slot, "a JSON Schema");
    return undefined;
  }
  const schema = mapToJson(slot.node);
  checkSchema(findings, slot, schema);
  return schema;
}

/** An object's schema as written, with `required`. */
export function readObjectSchema(findings: Findings, slot: Slot): JsonObject | undefined {
  const schema = readSchema(findings, slot);
  if (schema !== undefined && schema.type !== "object") {
    const message = `The schema ${slot.path} must have "type": "object"; arguments are an object.`;
    findings.error("schema_invalid", slot, message, 'Add "type": "object".');
  }
  return schema && withRequired(schema);
}

/** Reports what JSON Schema does not allow. @param written JSON pointer of the part of the schema that the slot holds */
function checkSchema(findings: Findings, slot: Slot, schema: JsonObject, written = ""): void {
  const [pointer, ...more] = schemaFaults(schema);
  if (pointer === undefined) return;
  const others = more.length === 0 ? "" : ` (and ${more.length} more places)`;
  findings.error(
    "schema_invalid",
    partOf(slot, pointer.slice(written.length)),
    `${slot.path} is not a valid JSON Schema: the fault is at ${pointer === "" ? "the top" : pointer}${others}.`,
    `Correct it there; types are ${TYPES.join(", ")}.`,
  );
}

/** Whether `parameters` is itself a JSON Schema. A parameter that is called `type` is a map, never the string "object". */
function isSchema(node: MapNode): boolean {
  const type = node.entries.get("type")?.value;
  const properties = node.entries.get("properties")?.value;
  return type?.kind === "scalar" && type.value === "object" && properties?.kind === "map";
}

function wholeSchema(findings: Findings, slot: Slot): JsonObject {
  findings.warning(
    "parameters_is_schema",
    { path: slot.path, at: slot.at },
    `${slot.path} is a JSON Schema itself; Hull uses it unchanged.`,
    "Other runtimes expect one definition for each parameter there; put the schema into x-input-schema instead.",
  );
  return slot.node.kind === "map" ? withRequired(mapToJson(slot.node)) : emptySchema();
}

const withRequired = (schema: JsonObject): JsonObject =>
  Array.isArray(schema.required) ? schema : { ...schema, required: [] };

function definitions(findings: Findings, slot: Slot, map: MapNode): JsonObject {
  const properties: [string, Json][] = [];
  const required: string[] = [];
  for (const [name, entry] of slotsOf(map, slot.path)) {
    checkName(findings, entry, name);
    if (entry.node.kind !== "map") {
      wrongType(findings, entry, "an object", 'Write for example {"type": "string", "description": "…"}.');
      continue;
    }
    properties.push([name, definition(findings, entry, entry.node)]);
    if (isRequired(findings, child(entry.node, "optional", entry.path))) required.push(name);
  }
  return { type: "object", properties: Object.fromEntries(properties), required };
}

function checkName(findings: Findings, slot: Slot, name: string): void {
  const location = { path: slot.path, at: slot.at };
  if (name.startsWith("__")) {
    const message = `A parameter ${name} never reaches a handler: names that begin with __ are Hull's own.`;
    findings.error("parameter_reserved", location, message, "Rename it.");
  } else if (!NAME.test(name)) {
    const message = `Model providers may refuse the parameter name ${JSON.stringify(name)}.`;
    findings.warning("parameter_name", location, message, "Use 1 to 64 of A-Za-z0-9_.-.");
  }
}

function definition(findings: Findings, slot: Slot, map: MapNode): JsonObject {
  const { optional: _, ...given } = mapToJson(map);
  const schema = withoutFlag(findings, slot, map, given);
  const type = child(map, "type", slot.path);
  if (
    type === undefined &&
    !["anyOf", "oneOf", "allOf", "enum", "const", "$ref"].some((key) => key in schema)
  ) {
    const message = `The parameter ${slot.path} has no type.`;
    findings.warning(
      "parameter_type_missing",
      { path: slot.path, at: slot.at },
      message,
      `Add one of: ${TYPES.join(", ")}.`,
    );
  }
  const { description } = schema;
  if (typeof description !== "string" || description.trim() === "") {
    const message = `The parameter ${slot.path} has no description, so a model knows only its name and type.`;
    findings.warning(
      "parameter_description_missing",
      { path: slot.path, at: slot.at },
      message,
      "Describe it in a sentence.",
    );
  }
  return schema.type === "array" && schema.items === undefined ? { ...schema, items: {} } : schema;
}

/** `required` of a definition, a flag in older formats, is a list in JSON Schema; `optional` replaces it here. */
function withoutFlag(findings: Findings, slot: Slot, map: MapNode, schema: JsonObject): JsonObject {
  const flag = child(map, "required", slot.path);
  if (flag === undefined || typeof schema.required !== "boolean") return schema;
  const { required, ...rest } = schema;
  if (!required && !map.entries.has("optional")) {
    const message = `${flag.path} is false, which has no meaning here; the parameter stays required.`;
    findings.warning("required_is_flag", flag, message, 'Write "optional": true instead.');
  }
  return rest;
}

/** Whether a parameter is required: it is unless `optional` is true. */
function isRequired(findings: Findings, slot: Slot | undefined): boolean {
  if (slot === undefined) return true;
  const value = toJson(slot.node);
  if (typeof value === "boolean") return !value;
  const message = `${slot.path} is ${JSON.stringify(value)}, which is not a boolean; the parameter stays required.`;
  findings.warning(
    "optional_not_boolean",
    slot,
    message,
    'Write "optional": true, without quotes around true.',
  );
  return true;
}
