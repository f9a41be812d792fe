/**
 * Turns a model's arguments into a command line. Pure: decides whether a call may run and with which argv, but executes
 * nothing.
 */
import { exactJson } from "../skill/exact-json.ts";
import { isObject, objectOf } from "../skill/json.ts";
import type { CommandTool, Json, JsonObject, ToolParameter } from "../skill/manifest.ts";
import type { ToolCallBlock, ToolDefinition } from "./messages.ts";
import { closedObject } from "./parameters.ts";
import type { ToolErrorCode } from "./tool-fault.ts";

/** Longest single value and longest sum of values, in UTF-8 bytes. */
const MAX_VALUE_BYTES = 100_000;
const MAX_TOTAL_BYTES = 1_000_000;

const NUMERIC = /^[-+]?(\d+(\.\d+)?|\.\d+)([eE][-+]?\d+)?$/;
/** The only permitted values with a leading dash, and only for `number` and `integer`. */
const NEGATIVE_NUMBER = /^-(\d+(\.\d+)?|\.\d+)([eE][-+]?\d+)?$/;

interface ArgumentError {
  ok: false;
  code: ToolErrorCode;
  /** Tells the model what is wrong and what is accepted. */
  message: string;
}

type CommandLine = { ok: true; argv: string[] } | ArgumentError;

/**
 * The argv of one tool call: `command`, then the first declared parameter as a positional if it is required, then
 * `--name value` for every other given one, in declaration order.
 */
export function commandLine(call: ToolCallBlock, tool: CommandTool): CommandLine {
  if (call.arguments === null) {
    return fail("bad_arguments", "The arguments are not a JSON object. Send one complete JSON object.");
  }
  const given = call.arguments;
  const declared = tool.parameters.map((p) => p.name);
  const unknown = Object.keys(given).find((name) => !declared.includes(name));
  if (unknown !== undefined) {
    const accepted =
      declared.length > 0 ? `Accepted: ${declared.join(", ")}.` : "This tool takes no arguments.";
    return fail("unknown_argument", `There is no argument "${unknown}". ${accepted}`);
  }
  const argv = [...tool.command];
  let total = 0;
  for (const [index, parameter] of tool.parameters.entries()) {
    const value = Object.hasOwn(given, parameter.name) ? given[parameter.name] : undefined;
    if (value === undefined || value === null) {
      if (parameter.required)
        return fail("missing_argument", `The argument "${parameter.name}" is required.`);
      continue;
    }
    const json = exactJson(value, call.raw, (sent) => (isObject(sent) ? sent[parameter.name] : undefined));
    const text = argumentText(value, parameter, json);
    if (typeof text !== "string") return text;
    const size = new TextEncoder().encode(text).length;
    total += size;
    if (size > MAX_VALUE_BYTES || total > MAX_TOTAL_BYTES) {
      return fail(
        "argument_too_long",
        `The argument "${parameter.name}" is too long: one value may have ${MAX_VALUE_BYTES} bytes, all together ${MAX_TOTAL_BYTES}.`,
      );
    }
    if (index === 0 && parameter.required) argv.push(text);
    else argv.push(`--${parameter.name}`, text);
  }
  return { ok: true, argv };
}

/** A value's text on the command line, or why it may not be there. @param json the value as JSON, with all digits */
function argumentText(value: Json, parameter: ToolParameter, json: string): string | ArgumentError {
  const typed = coerce(value, parameter, json);
  if (typed === undefined) {
    return fail("bad_arguments", `The argument "${parameter.name}" must be ${describeType(parameter)}.`);
  }
  if (parameter.enum !== undefined && !parameter.enum.some((member) => sameJson(member, typed.value))) {
    const members = parameter.enum.map((member) => JSON.stringify(member)).join(", ");
    return fail("bad_arguments", `The argument "${parameter.name}" must be one of ${members}.`);
  }
  if (typed.text.includes("\0")) {
    return fail("nul_byte", `The argument "${parameter.name}" contains a NUL character.`);
  }
  const numeric = parameter.type === "number" || parameter.type === "integer";
  if (typed.text.startsWith("-") && !(numeric && NEGATIVE_NUMBER.test(typed.text))) {
    return fail("dash_refused", `The argument "${parameter.name}" may not begin with "-".`);
  }
  return typed.text;
}

/** The value in the declared type and its text form; `undefined` if it does not fit the type. */
function coerce(
  value: Json,
  parameter: ToolParameter,
  json: string,
): { value: Json; text: string } | undefined {
  switch (parameter.type) {
    case "string":
      if (typeof value === "string") return { value, text: value };
      if (typeof value === "number" || typeof value === "boolean") return { value: json, text: json };
      return undefined;
    case "number":
    case "integer": {
      const text = typeof value === "number" ? json : value;
      if (typeof text !== "string" || !NUMERIC.test(text)) return undefined;
      const number = Number(text);
      if (!Number.isFinite(number)) return undefined;
      if (parameter.type === "integer" && !Number.isInteger(number)) return undefined;
      return { value: number, text };
    }
    case "boolean":
      if (value === true || value === "true") return { value: true, text: "true" };
      if (value === false || value === "false") return { value: false, text: "false" };
      return undefined;
    case "array": {
      if (!Array.isArray(value)) return undefined;
      const items = parameter.items;
      const fits = (item: Json): boolean =>
        items === "integer" ? Number.isInteger(item) : typeof item === items;
      return items === undefined || value.every(fits) ? { value, text: json } : undefined;
    }
    case "object":
      if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
      return { value, text: json };
  }
}

function describeType(parameter: ToolParameter): string {
  if (parameter.type === "array") return `an array of ${parameter.items ?? "string"} values`;
  return parameter.type === "integer" || parameter.type === "object"
    ? `an ${parameter.type}`
    : `a ${parameter.type}`;
}

function sameJson(a: Json, b: Json): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function fail(code: ToolErrorCode, message: string): ArgumentError {
  return { ok: false, code, message };
}

/** The tool for a model: its parameters as a closed JSON Schema object. */
export function toolDefinition(tool: CommandTool): ToolDefinition {
  const properties = Object.fromEntries(
    tool.parameters.map((p): [string, Json] => [
      p.name,
      {
        type: p.type,
        ...(p.description === "" ? {} : { description: p.description }),
        ...(p.enum === undefined ? {} : { enum: p.enum }),
        ...(p.items === undefined ? {} : { items: { type: p.items } }),
      },
    ]),
  );
  const required = tool.parameters.filter((p) => p.required).map((p) => p.name);
  const { name, description } = tool;
  return { name, description, parameters: closedObject(properties, required) };
}

const NUMERIC_NAMES = ["offset", "limit", "line", "count", "timeout"];

/**
 * Turns numeric strings into numbers if the arguments' schema, or a usual name, says that they are. Without such strings
 * the result is the given object.
 */
export function numericArguments(args: JsonObject, parameters: JsonObject): JsonObject {
  const properties = objectOf(parameters.properties);
  const numbers = Object.entries(args).flatMap(([name, value]): [string, number][] => {
    if (typeof value !== "string" || !/^-?\d+(\.\d+)?$/.test(value)) return [];
    const schema = properties[name];
    const type = isObject(schema) ? schema.type : undefined;
    const numeric =
      type === "integer" || type === "number" || (type === undefined && NUMERIC_NAMES.includes(name));
    return numeric ? [[name, Number(value)]] : [];
  });
  return numbers.length === 0 ? args : { ...args, ...Object.fromEntries(numbers) };
}
