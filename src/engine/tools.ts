/**
 * Tools as callers define them. The reader reports every fault of a definition immediately, by tool and field: a
 * misspelt flag must not silently mean its default.
 */

import * as z from "zod/mini";
import { firstOf } from "../cut.ts";
import { once } from "../memo.ts";
import { defined, isObject, isTexts, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { SIDE_EFFECT_LEVELS } from "../skill/manifest-fields.ts";
import { nearest } from "../skill/match.ts";
import { type Fault, wrongValue } from "./fault.ts";
import type { ToolDefinition } from "./messages.ts";
import { closedObject } from "./parameters.ts";

const EXECUTORS = ["webhook", "mcp_server", "provider_native"] as const;
type Executor = (typeof EXECUTORS)[number];

/** A tool of a run; the client answers one without `handler` and `executor`. */
export type Tool = z.infer<ReturnType<typeof definitionShape>>;

/** The names of tools that providers accept. Some want at most 64 characters, and say so themselves. */
export function toolName() {
  const words = "1 to 128 of A-Za-z0-9_-";
  return z.string(words).check(z.regex(/^[A-Za-z0-9_-]{1,128}$/, words));
}

const PATH = "options.tools";
/** The most faults in one report. */
const MAX_FAULTS = 20;

const maybe = z.exactOptional;
const text = () => z.string("a string");
const flag = () => z.boolean("true or false");

/** What a tool does, for policies and for parallel calls. */
const annotationsShape = once(() =>
  z.strictObject(
    {
      /** `read`, `search`, `think` and `fetch` only read. */
      kind: maybe(text()),
      side_effect_level: maybe(z.enum(SIDE_EFFECT_LEVELS, `one of ${SIDE_EFFECT_LEVELS.join(", ")}`)),
      capabilities: maybe(
        z.custom<Record<string, string[]>>(isOperations, "lists of operations by capability"),
      ),
      arg_schema: maybe(z.custom<JsonObject>(isObject, "an object")),
      idempotent: maybe(flag()),
    },
    "an object",
  ),
);

/** A definition. The message of each field says what it accepts. */
const definitionShape = once(() => {
  const executors = [...EXECUTORS, "host_bridge"] as const;
  return z.strictObject({
    name: toolName(),
    description: text(),
    parameters: z.pipe(
      z.transform(parametersOf),
      z.custom<JsonObject>(isObject, "a JSON Schema of type object, or schemas by parameter name"),
    ),
    /** A hook reference. */
    handler: maybe(z.string("the name of a hook")),
    executor: maybe(
      z.pipe(
        z.enum(executors, `one of ${executors.join(", ")}`),
        z.transform((name): Executor => (name === "host_bridge" ? "webhook" : name)),
      ),
    ),
    defer_loading: maybe(flag()),
    namespace: maybe(text()),
    annotations: maybe(annotationsShape()),
    /** What the tool returns: a schema, or a description. */
    returns: maybe(z.custom<Json>()),
  });
});

/**
 * The tools in `options.tools`: a list of definitions, or an object whose `tools` is one. The shorthand of `parameters`
 * becomes JSON Schema. Reports all faults together.
 */
export function readTools(given: Json): { tools: Tool[] } | { faults: Fault[] } {
  const faults: Fault[] = [];
  const list = isObject(given) && Array.isArray(given.tools) ? given.tools : given;
  if (!Array.isArray(list)) return { faults: [wrongValue(PATH, PATH, "a list of tools", given)] };
  const tools = new Map<string, Tool>();
  for (const [i, definition] of list.entries()) {
    const path = `${PATH}.${i}`;
    if (!isObject(definition)) {
      faults.push(wrongValue(path, path, "a tool: an object with name, description, parameters", definition));
      continue;
    }
    const read = readTool(definition, path);
    if ("faults" in read) {
      faults.push(...read.faults);
      continue;
    }
    const { tool } = read;
    if (tools.has(tool.name)) {
      faults.push({ path: `${path}.name`, message: `the tool "${tool.name}" is defined twice` });
    }
    tools.set(tool.name, tool);
  }
  return faults.length > 0 ? { faults: faults.slice(0, MAX_FAULTS) } : { tools: Array.from(tools.values()) };
}

/** A tool as models get it. */
export function definitionOf(tool: Tool): ToolDefinition {
  const { name, description, parameters, defer_loading, namespace } = tool;
  return { name, description, parameters, ...defined({ defer_loading, namespace }) };
}

function readTool(definition: JsonObject, path: string): { tool: Tool } | { faults: Fault[] } {
  const { command = null, ...given } = present(definition, definitionShape());
  given.parameters ??= {};
  if (isObject(given.annotations)) given.annotations = present(given.annotations, annotationsShape());
  const { name } = given;
  const title = typeof name === "string" ? `the tool "${firstOf(name, 128)}"` : path;
  const parsed = definitionShape().safeParse(given);
  const issues = parsed.success ? [] : parsed.error.issues;
  const faults = issues.flatMap((issue) => faultsOf(issue, given, path, title));
  if (command !== null) {
    const message = `${title}: command is for tools of skills only; define a handler, an executor or none`;
    faults.push({ path: `${path}.command`, message });
  }
  return parsed.success && faults.length === 0 ? { tool: parsed.data } : { faults };
}

/** A copy without the fields that are `null`: they count as absent. Fields that the shape does not have stay. */
const present = (given: JsonObject, { shape }: z.ZodMiniObject): JsonObject =>
  Object.fromEntries(
    Object.entries(given).filter(([key, value]) => value !== null || !Object.hasOwn(shape, key)),
  );

/** What zod finds in a definition, as faults that name the tool. */
function faultsOf(issue: z.core.$ZodIssue, given: JsonObject, path: string, title: string): Fault[] {
  if (issue.code !== "unrecognized_keys") {
    const value = issue.path.reduce((part: Json | undefined, key) => objectOf(part)[String(key)], given);
    const field = issue.path.join(".");
    return [wrongValue(`${path}.${field}`, `${title}: ${field}`, issue.message, value)];
  }
  const { shape } = issue.path.length === 0 ? definitionShape() : annotationsShape();
  return issue.keys.slice(0, MAX_FAULTS).map((key) => {
    const field = [...issue.path, key].join(".");
    const [near] = nearest(key, Object.keys(shape));
    const hint = near === undefined ? "" : `; did you mean ${near}?`;
    return { path: `${path}.${field}`, message: `${title} has no field ${field}${hint}` };
  });
}

/** Type names of JSON Schema and of the Harn dialect. */
const TYPES = new Set(
  "object string number integer boolean array null dict list str int float bool nil".split(" "),
);

/** The schema of parameters; `null`: they are neither a schema of an object nor schemas by name. */
function parametersOf(given: unknown): JsonObject | null {
  if (!isObject(given)) return null;
  return isSchema(given) ? ofObject(given) : fromShorthand(given);
}

/**
 * Whether parameters are a schema, and not schemas by name. `{type: "string"}` counts as a schema: nobody describes a
 * parameter called `type` by that one word.
 */
function isSchema(given: JsonObject): boolean {
  const { type, properties, $ref, $schema, allOf, anyOf, oneOf } = given;
  if (typeof type === "string" && TYPES.has(type)) return true;
  if ([$ref, $schema].some((text) => typeof text === "string")) return true;
  if ([type, allOf, anyOf, oneOf].some(Array.isArray)) return true;
  return properties !== undefined && isObject(properties) && isNamedSchemas(properties);
}

/** The schema, if it describes an object; `null`: it does not. */
function ofObject(given: JsonObject): JsonObject | null {
  const { type = "object", properties = {}, required = [] } = given;
  const types = Array.isArray(type) ? type : [type];
  const objects = types.includes("object") || types.includes("dict");
  if (!objects || !isObject(properties) || !isNamedSchemas(properties) || !isTexts(required)) return null;
  return { type, ...given };
}

/** Parameters by name. One is required unless it says otherwise; a string describes a required string. */
function fromShorthand(given: JsonObject): JsonObject | null {
  const properties: [string, Json][] = [];
  const required: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "string") {
      properties.push([name, { type: "string", description: value }]);
      required.push(name);
    } else if (isObject(value)) {
      const { required: wanted, ...schema } = value;
      // A list here is the keyword of the nested object itself.
      properties.push([name, Array.isArray(wanted) ? value : schema]);
      if (wanted !== false) required.push(name);
    } else {
      return null;
    }
  }
  // "__proto__" is a name like any other.
  const named: JsonObject = Object.fromEntries(properties);
  return closedObject(named, required);
}

const isNamedSchemas = (value: JsonObject): boolean =>
  Object.values(value).every((part) => isObject(part) || typeof part === "boolean");
const isOperations = (value: unknown): value is Record<string, string[]> =>
  isObject(value) && Object.values(value).every(isTexts);
