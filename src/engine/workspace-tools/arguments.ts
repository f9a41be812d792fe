/** Checks a call's arguments against a workspace tool's declaration. Pure. */
import { isTexts, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

/** The arguments of a call by their declared names: models also give `Bash` the `timeout` of other clients, in ms. */
export function declaredArguments(tool: Json, args: JsonObject): JsonObject {
  const { timeout, ...rest } = args;
  const renames = tool === "Bash" && timeout !== undefined && (args.timeout_ms ?? null) === null;
  return renames ? { ...rest, timeout_ms: timeout } : args;
}

/** `Grep` shows line numbers anyway. */
const WITHOUT_LOSS = ["-n"];

/** A note that names the arguments that a tool does not declare; `""`: there are none. */
export function ignoredNote(tool: string, parameters: JsonObject, args: JsonObject): string {
  const declared = objectOf(parameters.properties);
  const ignored = Object.keys(args).filter(
    (name) => !Object.hasOwn(declared, name) && !WITHOUT_LOSS.includes(name),
  );
  if (ignored.length === 0) return "";
  const them = ignored.length === 1 ? "it" : "them";
  return `\n[hull: ${tool} has no parameter ${ignored.slice(0, MOST_NAMED).join(", ")}, and ignored ${them}]`;
}

const MOST_NAMED = 10;

/** What is wrong with the arguments, as a sentence for the model; `null`: nothing. Undeclared arguments are ignored. */
export function argumentsFault(parameters: JsonObject, args: JsonObject): string | null {
  const { required } = parameters;
  for (const name of Array.isArray(required) ? required : []) {
    if (typeof name === "string" && (args[name] ?? null) === null) return `${name} is missing.`;
  }
  for (const [name, schema] of Object.entries(objectOf(parameters.properties))) {
    const value = args[name];
    if (value === undefined || value === null) continue;
    const fault = valueFault(objectOf(schema), value);
    if (fault !== null) return `${name} must be ${fault}.`;
  }
  return null;
}

function valueFault({ type, enum: choices, minimum, items }: JsonObject, value: Json): string | null {
  if (type === "integer") {
    const least = typeof minimum === "number" ? minimum : 0;
    const fits = typeof value === "number" && Number.isInteger(value) && value >= least;
    return fits ? null : `a whole number from ${least}`;
  }
  if (type === "array" && objectOf(items).type === "integer") {
    return Array.isArray(value) && value.every(Number.isInteger) ? null : "a list of whole numbers";
  }
  if (type === "array") return isTexts(value) ? null : "a list of strings";
  if (type === "boolean") return typeof value === "boolean" ? null : "true or false";
  if (typeof value !== "string") return "a string";
  return !Array.isArray(choices) || choices.includes(value) ? null : `one of ${choices.join(", ")}`;
}
