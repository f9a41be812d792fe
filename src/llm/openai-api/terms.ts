/** Request members, other than messages, that chat completions and responses have in common. */
import type { ModelRequest, Thinking, ToolDefinition } from "../../engine/messages.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { wrong } from "../wrong.ts";

/** The output limit of a request that has none. */
export const DEFAULT_MAX_TOKENS = 16_384;

/** Members that the provider gets although their names look like limits or tools. */
export const FREE_MEMBERS = new Set(["parallel_tool_calls"]);

/** Reads a reasoning effort. @param name of the member, for the error. @throws InvalidRequest */
export function effortOf(effort: Json | undefined, name: string): Thinking | null {
  switch (effort) {
    case undefined:
    case null:
    case "none":
      return null;
    case "minimal":
    case "low":
      return { mode: "effort", level: "low" };
    case "medium":
      return { mode: "effort", level: "medium" };
    case "high":
    case "xhigh":
    case "max":
      return { mode: "effort", level: "high" };
    default:
      throw wrong(name, "none, minimal, low, medium, high, xhigh or max is expected");
  }
}

/** @param nameOf finds the function's name in a choice that is an object. Nothing if there is none. @throws InvalidRequest */
export function toolChoiceOf(
  choice: Json | undefined,
  nameOf: (choice: JsonObject) => Json | undefined,
): Pick<ModelRequest, "tool_choice"> {
  if (choice === "none" || choice === "required" || choice === "auto") return { tool_choice: choice };
  if (choice === undefined || choice === null) return {};
  const name = isObject(choice) ? nameOf(choice) : null;
  if (typeof name === "string") return { tool_choice: { name } };
  throw wrong("tool_choice", "none, auto, required or a function by name is expected");
}

/** Reads the answer's format. @param schemaIn finds the schema in a format of type `json_schema`. @throws InvalidRequest */
export function formatOf(
  format: Json | undefined,
  path: string,
  schemaIn: (format: JsonObject) => Json | undefined,
): Pick<ModelRequest, "json" | "schema"> {
  if (format === undefined || format === null) return { json: false };
  const { type } = isObject(format) ? format : {};
  if (type === "text") return { json: false };
  if (type === "json_object") return { json: true };
  const named = isObject(format) && type === "json_schema" ? schemaIn(format) : null;
  if (isObject(named) && isObject(named.schema))
    return { json: true, schema: { schema: named.schema, strict: named.strict === true } };
  throw wrong(path, "text, json_object or json_schema with a schema is expected");
}

/** Reads name, description and parameters; ignores other members. @throws InvalidRequest */
export function functionTool({ name, description, parameters }: JsonObject, path: string): ToolDefinition {
  if (typeof name !== "string") throw wrong(`${path}.name`, "a text is required");
  return {
    name,
    description: typeof description === "string" ? description : "",
    parameters: isObject(parameters) ? parameters : { type: "object", properties: {} },
  };
}
