/**
 * Tools as callers define them. The reader reports every fault of a definition immediately, by tool and field: a
 * misspelt flag must not silently mean its default.
 */
import { isObject } from "../skill/json.ts";
import {
  type CommandAnnotations,
  type Json,
  type JsonObject,
  SIDE_EFFECT_LEVELS,
} from "../skill/manifest.ts";
import { nearest } from "../skill/match.ts";
import { type Fault, wrongValue } from "./fault.ts";
import type { ToolDefinition } from "./messages.ts";

const EXECUTORS = ["webhook", "mcp_server", "provider_native"] as const;
type Executor = (typeof EXECUTORS)[number];

/** What a tool does, for policies and for parallel calls. */
interface Annotations extends Omit<CommandAnnotations, "kind"> {
  /** `read`, `search`, `think` and `fetch` only read. */
  kind?: string;
  idempotent?: boolean;
}

/** A tool of a run; the client answers one without `handler`, `executor` and `command`. */
export interface Tool extends ToolDefinition {
  /** What the tool returns: a schema, or a description. */
  returns?: Json;
  /** A hook reference. */
  handler?: string;
  executor?: Executor;
  /** A command, which the runner executes. */
  command?: string[];
  annotations?: Annotations;
  /** Further words by which a search finds it, e.g. the name of its MCP server. Not part of a definition. */
  tags?: string[];
}

const FIELDS = [
  "name",
  "description",
  "parameters",
  "returns",
  "handler",
  "executor",
  "command",
  "defer_loading",
  "namespace",
  "annotations",
];
const ANNOTATIONS = ["kind", "side_effect_level", "capabilities", "arg_schema", "idempotent"];
/** The names of tools that providers accept. Some want at most 64 characters, and say so themselves. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,128}$/;
export const TOOL_NAME_TEXT = "1 to 128 letters, digits, _ or -";

/** The most faults in one report. */
const MAX_FAULTS = 20;

/** Where a set of definitions comes from. */
interface Origin {
  /** Path of the set, for faults. */
  path: string;
  /** Whether its tools may name commands: those of skills may, those of requests may not. */
  commands: boolean;
}

/**
 * The tools of a set: a list of definitions, or an object whose `tools` is one. The shorthand of `parameters` becomes
 * JSON Schema. Reports all faults together.
 */
export function readTools(given: Json, origin: Origin): { tools: Tool[] } | { faults: Fault[] } {
  const faults: Fault[] = [];
  const list = isObject(given) && Array.isArray(given.tools) ? given.tools : given;
  if (!Array.isArray(list)) {
    return { faults: [wrongValue(origin.path, origin.path, "a list of tools", given)] };
  }
  const tools = new Map<string, Tool>();
  for (const [i, definition] of list.entries()) {
    const path = `${origin.path}.${i}`;
    if (!isObject(definition)) {
      faults.push(wrongValue(path, path, "a tool: an object with name, description, parameters", definition));
      continue;
    }
    const tool = new Reader(definition, path, origin.commands, faults).tool();
    if (tool === null) continue;
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
  return {
    name,
    description,
    parameters,
    ...(defer_loading === undefined ? {} : { defer_loading }),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

/** Reads one definition and adds faults to `faults`. */
class Reader {
  readonly #given: JsonObject;
  readonly #path: string;
  readonly #commands: boolean;
  readonly #faults: Fault[];
  readonly #title: string;

  constructor(given: JsonObject, path: string, commands: boolean, faults: Fault[]) {
    this.#given = given;
    this.#path = path;
    this.#commands = commands;
    this.#faults = faults;
    this.#title = typeof given.name === "string" ? `the tool "${given.name.slice(0, 128)}"` : path;
  }

  tool(): Tool | null {
    const count = this.#faults.length;
    this.#onlyKnown(Object.keys(this.#given), FIELDS, "");
    const name = this.#required("name", isToolName, TOOL_NAME_TEXT);
    const description = this.#required("description", isText, "a string");
    const parameters = this.#parameters();
    const tool: Partial<Tool> = {
      ...this.#optional("handler", isText, "the name of a hook"),
      ...this.#executor(),
      ...this.#command(),
      ...this.#optional("defer_loading", isFlag, "true or false"),
      ...this.#optional("namespace", isText, "a string"),
      ...this.#annotations(),
      ...(this.#field("returns") === undefined ? {} : { returns: this.#field("returns") ?? null }),
    };
    if (this.#faults.length > count || name === null || description === null) return null;
    return { name, description, parameters, ...tool };
  }

  #executor(): { executor?: Executor } {
    const value = this.#field("executor");
    const executor = EXECUTORS.find((known) => known === (value === "host_bridge" ? "webhook" : value));
    if (value === undefined) return {};
    if (executor !== undefined) return { executor };
    return this.#wrong("executor", `one of ${[...EXECUTORS, "host_bridge"].join(", ")}`, value);
  }

  #command(): { command?: string[] } {
    const value = this.#field("command");
    if (value === undefined) return {};
    if (!this.#commands) {
      const message = `${this.#title}: command is for tools of skills only; define a handler, an executor or none`;
      this.#faults.push({ path: `${this.#path}.command`, message });
      return {};
    }
    if (isTexts(value) && value.length > 0) return { command: value };
    return this.#wrong("command", "a list of one or more strings", value);
  }

  #annotations(): { annotations?: Annotations } {
    const value = this.#field("annotations");
    if (value === undefined) return {};
    if (!isObject(value)) return this.#wrong("annotations", "an object", value);
    this.#onlyKnown(Object.keys(value), ANNOTATIONS, "annotations.");
    const { side_effect_level } = value;
    const level = SIDE_EFFECT_LEVELS.find((known) => known === side_effect_level);
    if (level === undefined && side_effect_level !== undefined) {
      this.#wrong(
        "annotations.side_effect_level",
        `one of ${SIDE_EFFECT_LEVELS.join(", ")}`,
        side_effect_level,
      );
    }
    const read = <T extends Json>(key: string, fits: (given: Json) => given is T, accepted: string) =>
      this.#typed(`annotations.${key}`, key, value[key] ?? undefined, fits, accepted);
    const annotations: Annotations = {
      ...read("kind", isText, "a string"),
      ...(level === undefined ? {} : { side_effect_level: level }),
      ...read("capabilities", isOperations, "lists of operations by capability"),
      ...read("arg_schema", isObject, "an object"),
      ...read("idempotent", isFlag, "true or false"),
    };
    return { annotations };
  }

  #parameters(): JsonObject {
    const given = this.#field("parameters") ?? {};
    const schema = isObject(given) ? (isSchema(given) ? ofObject(given) : fromShorthand(given)) : null;
    if (schema !== null) return schema;
    this.#wrong("parameters", "a JSON Schema of type object, or schemas by parameter name", given);
    return {};
  }

  #required<T extends Json>(key: string, fits: (value: Json) => value is T, accepted: string): T | null {
    const value = this.#field(key);
    if (value !== undefined && fits(value)) return value;
    this.#wrong(key, accepted, value);
    return null;
  }

  #optional<K extends string, T extends Json>(
    key: K,
    fits: (value: Json) => value is T,
    accepted: string,
  ): { [name in K]?: T } {
    return this.#typed(key, key, this.#field(key), fits, accepted);
  }

  #typed<K extends string, T extends Json>(
    path: string,
    key: K,
    value: Json | undefined,
    fits: (value: Json) => value is T,
    accepted: string,
  ): { [name in K]?: T } {
    const typed: { [name in K]?: T } = {};
    if (value === undefined) return typed;
    if (fits(value)) typed[key] = value;
    else this.#wrong(path, accepted, value);
    return typed;
  }

  /** `null` counts as absent. */
  #field(key: string): Json | undefined {
    return this.#given[key] ?? undefined;
  }

  #onlyKnown(keys: readonly string[], known: readonly string[], prefix: string): void {
    for (const key of keys) {
      if (known.includes(key)) continue;
      const [near] = nearest(key, known);
      const hint = near === undefined ? "" : `; did you mean ${near}?`;
      const message = `${this.#title} has no field ${prefix}${key}${hint}`;
      this.#faults.push({ path: `${this.#path}.${prefix}${key}`, message });
    }
  }

  #wrong(field: string, accepted: string, value: Json | undefined): Record<string, never> {
    this.#faults.push(wrongValue(`${this.#path}.${field}`, `${this.#title}: ${field}`, accepted, value));
    return {};
  }
}

/** Type names of JSON Schema and of the Harn dialect. */
const TYPES = new Set(
  "object string number integer boolean array null dict list str int float bool nil".split(" "),
);

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

/** Parameters by name. One is required unless it says otherwise; a text describes a required text. */
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
  return { type: "object", properties: named, required, additionalProperties: false };
}

const isText = (value: Json): value is string => typeof value === "string";
const isFlag = (value: Json): value is boolean => typeof value === "boolean";
const isTexts = (value: Json): value is string[] => Array.isArray(value) && value.every(isText);
const isToolName = (value: Json): value is string => isText(value) && TOOL_NAME.test(value);
const isNamedSchemas = (value: JsonObject): boolean =>
  Object.values(value).every((part) => isObject(part) || isFlag(part));
const isOperations = (value: Json): value is Record<string, string[]> =>
  isObject(value) && Object.values(value).every(isTexts);
