/** Turns a typed skill into what the build needs: the entries of its tools.json. */
import { asJson, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { DISPLAY_FIELDS, EXTENSION_FIELDS } from "../skill/tools-json/tool-fields.ts";
import { configParamsOf } from "./config.ts";
import type { Schema, TypedSkill, TypedTool } from "./definition.ts";
import { jsonSchemaOf, type SchemaFault } from "./schema.ts";

export interface SkillDescription {
  name: string;
  description: string;
  instructions: string;
  /** Entries of tools.json. */
  tools: JsonObject[];
  /** `path` names tool, schema and place: `search.input.when`. */
  faults: SchemaFault[];
  /**
   * The stacks of the calls of `defineSkill` and of `tool`, the latter in the order of `tools`; empty if there was no
   * such call.
   */
  stacks: { skill: string; tools: string[] };
}

/** Keys of tools.json that have members of their own kind. */
const MADE = ["x-config", "x-input-schema", "x-output-schema"];

/** Members of a definition that become keys of tools.json unchanged. */
export const KEYS = new Map(
  Object.keys({ ...EXTENSION_FIELDS, ...DISPLAY_FIELDS }).flatMap((key): [member: string, key: string][] =>
    MADE.includes(key) ? [] : [[key === "x-risk" ? "riskLevel" : memberOf(key), key]],
  ),
);

/** `x-timeout-ms` → `timeoutMs`. */
function memberOf(key: string): string {
  return key.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Describes the exports of `skill.ts`; anything but a skill gives a fault with an empty path.
 * @param stackOf the stack of the call that made a definition
 */
export function describeSkill(exported: unknown, stackOf: (definition: object) => string): SkillDescription {
  const stacks: SkillDescription["stacks"] = { skill: "", tools: [] };
  const empty = { name: "", description: "", instructions: "", tools: [], faults: [], stacks };
  if (!isSkill(exported)) {
    const { message, of } = lackOf(exported);
    stacks.skill = of === null ? "" : stackOf(of);
    return { ...empty, faults: [{ path: "", message }] };
  }
  const { name, description, instructions = "" } = exported;
  const faults: SchemaFault[] = [];
  const tools: JsonObject[] = [];
  stacks.skill = stackOf(exported);
  for (const tool of exported.tools) {
    stacks.tools.push(stackOf(tool));
    if (tools.some((other) => other.name === tool.name))
      faults.push({ path: tool.name, message: "is declared twice" });
    tools.push(entryOf(tool, faults));
  }
  return { name, description, instructions, tools, faults, stacks };
}

function isSkill(value: unknown): value is TypedSkill {
  if (typeof value !== "object" || value === null) return false;
  if (!("name" in value && typeof value.name === "string")) return false;
  if (!("description" in value && typeof value.description === "string")) return false;
  return "tools" in value && Array.isArray(value.tools) && value.tools.every(isTool);
}

/** What keeps an export from being a skill, and the definition that is at fault; `null`: there is none. */
function lackOf(exported: unknown): { message: string; of: object | null } {
  if (
    typeof exported !== "object" ||
    exported === null ||
    !("tools" in exported && Array.isArray(exported.tools))
  ) {
    const message = "its default export must be defineSkill({ name, description, tools: [tool({ … })] })";
    return { message, of: null };
  }
  const tools: readonly unknown[] = exported.tools;
  const index = tools.findIndex((tool) => !isTool(tool));
  if (index < 0) return { message: "defineSkill needs a name and a description as strings", of: exported };
  const tool = tools[index];
  return {
    message: `tools[${index}] must be tool({ name, description, run }) with a string name and a function run`,
    of: typeof tool === "object" && tool !== null ? tool : exported,
  };
}

const isTool = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  "name" in value &&
  typeof value.name === "string" &&
  "run" in value &&
  typeof value.run === "function";

function entryOf(tool: TypedTool, faults: SchemaFault[]): JsonObject {
  const input = schemaOf(tool, "input", tool.input, faults);
  const output = schemaOf(tool, "output", tool.output, faults);
  const keys = Array.from(KEYS).flatMap(([member, key]) =>
    tool[member] === undefined ? [] : [[key, tool[member]] as const],
  );
  const own = asJson(Object.fromEntries(keys));
  return {
    name: tool.name,
    description: tool.description,
    script: `scripts/${tool.name}.js`,
    parameters: input === null ? {} : definitionsOf(input),
    ...(input === null ? {} : { "x-input-schema": input }),
    ...(output === null ? {} : { "x-output-schema": output }),
    ...own,
    ...configOf(tool, faults),
  };
}

function schemaOf(
  { name }: TypedTool,
  part: "input" | "output",
  schema: Schema | undefined,
  faults: SchemaFault[],
): JsonObject | null {
  if (schema === undefined) return null;
  const at = `${name}.${part}`;
  if (!("_zod" in schema)) {
    faults.push({ path: at, message: "is not a schema of zod 4" });
    return null;
  }
  const made = jsonSchemaOf(schema, part);
  if ("faults" in made) {
    faults.push(...made.faults.map(({ path, message }) => ({ path: joined(at, path), message })));
    return null;
  }
  if (part === "output") return made.schema;
  if (made.schema.type !== "object") faults.push({ path: at, message: "must be an object" });
  return { ...made.schema, required: made.schema.required ?? [] };
}

/** The definitions for runtimes that do not read `x-input-schema`. */
function definitionsOf({ properties, required }: JsonObject): JsonObject {
  const must = Array.isArray(required) ? required : [];
  const entries = Object.entries(objectOf(properties)).map(([name, part]): [string, Json] => {
    const schema = objectOf(part);
    return [name, must.includes(name) ? schema : { ...schema, optional: true }];
  });
  return Object.fromEntries(entries);
}

function configOf({ name, config }: TypedTool, faults: SchemaFault[]): JsonObject {
  if (config === undefined) return {};
  const made = configParamsOf(config);
  if ("params" in made) return { "x-config": made.params };
  faults.push(...made.faults.map(({ path, message }) => ({ path: joined(`${name}.config`, path), message })));
  return {};
}

const joined = (base: string, path: string): string => (path === "" ? base : `${base}.${path}`);
