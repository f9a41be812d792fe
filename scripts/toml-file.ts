/** A TOML file of a known shape, with the place or the key of its first fault. */
import { parse, TomlError } from "smol-toml";
import * as z from "zod";
import { nearest } from "../src/skill/match.ts";

interface TomlFault {
  code: "bad_config" | "unknown_key";
  /** Without the file's name. */
  message: string;
  hint?: string;
  /** Place of a syntax error. */
  at?: { line: number; column: number };
}

type TomlFile<T> = { ok: true; data: T } | { ok: false; fault: TomlFault };

/** Parses and checks a file's text; an unknown key comes with the nearest known one. */
export function readToml<T>(text: string, schema: z.core.$ZodType<T>): TomlFile<T> {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [first = ""] = error.message.split("\n");
    const at = { line: error.line, column: error.column };
    return { ok: false, fault: { code: "bad_config", message: `${first}.`, at } };
  }
  const parsed = z.core.safeParse(schema, value);
  if (parsed.success) return { ok: true, data: parsed.data };
  const [issue] = parsed.error.issues;
  return { ok: false, fault: faultOf(issue, schema) };
}

function faultOf(issue: z.core.$ZodIssue | undefined, schema: z.core.$ZodType): TomlFault {
  const key = issue?.path.join(".") ?? "";
  if (issue?.code === "unrecognized_keys") {
    const [unknown = ""] = issue.keys;
    const known = keysAt(schema, issue.path);
    const [near] = nearest(unknown, known);
    return {
      code: "unknown_key",
      message: `the key ${key === "" ? unknown : `${key}.${unknown}`} is unknown.`,
      hint: near === undefined ? `Known keys: ${known.join(", ")}.` : `Did you mean ${near}?`,
    };
  }
  const inner = issue?.code === "invalid_key" ? issue.issues[0] : issue;
  return { code: "bad_config", message: `${key}: ${inner?.message ?? "is not accepted"}.` };
}

/** The keys of the object at a path. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  let here: z.core.$ZodType | undefined = unwrapped(schema);
  for (const step of path) {
    if (here instanceof z.core.$ZodObject) here = here._zod.def.shape[String(step)];
    else if (here instanceof z.core.$ZodRecord) here = here._zod.def.valueType;
    else if (here instanceof z.core.$ZodArray) here = here._zod.def.element;
    else return [];
    if (here === undefined) return [];
    here = unwrapped(here);
  }
  return here instanceof z.core.$ZodObject ? Object.keys(here._zod.def.shape) : [];
}

/** The schema inside defaults, optionality and transforms. */
function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.core.$ZodLazy) return unwrapped(schema._zod.def.getter());
  if (schema instanceof z.core.$ZodPipe) return unwrapped(schema._zod.def.in);
  const wraps =
    schema instanceof z.core.$ZodOptional ||
    schema instanceof z.core.$ZodNullable ||
    schema instanceof z.core.$ZodDefault ||
    schema instanceof z.core.$ZodPrefault;
  return wraps ? unwrapped(schema._zod.def.innerType) : schema;
}
