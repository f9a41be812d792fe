/** A TOML file of a known shape, with the place of its syntax error, or the keys of its faults. */
import { parse, TomlError } from "smol-toml";
import * as z from "zod";
import { counted } from "../src/plural.ts";
import { SAVE_AS_UTF8 } from "../src/skill/file-findings.ts";
import { decodeText } from "../src/skill/file-text.ts";
import { nearest } from "../src/skill/match.ts";
import { type CommandError, usageError } from "./command.ts";

interface TomlFault {
  code: "bad_config" | "unknown_key";
  /** Without the file's name. */
  message: string;
  hint?: string;
  /** Place of a syntax error. */
  at?: { line: number; column: number };
}

/** The failure of a command (exit 2) for such a fault. @param file its name, for the message */
export function tomlError(file: string, { code, message, hint, at }: TomlFault): CommandError {
  const location = at === undefined ? file : `${file}:${at.line}:${at.column}`;
  return usageError(code, `${location}: ${message}`, hint);
}

type TomlFile<T> = { ok: true; data: T } | { ok: false; fault: TomlFault };

/** Parses and checks a file; an unknown key comes with the nearest known one. @param content its bytes, or its text */
export function readToml<T>(content: Uint8Array | string, schema: z.core.$ZodType<T>): TomlFile<T> {
  const { text, fault } = typeof content === "string" ? { text: content, fault: null } : decodeText(content);
  if (fault !== null) {
    const { is, at } = fault;
    return { ok: false, fault: { code: "bad_config", message: `the file ${is}.`, hint: SAVE_AS_UTF8, at } };
  }
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
  const [first, ...others] = parsed.error.issues.flatMap((issue) => faultsOf(issue, schema));
  if (first === undefined) throw parsed.error;
  return { ok: false, fault: others.length === 0 ? first : asOne([first, ...others], first.code) };
}

/** One fault with a line for each. */
function asOne(faults: readonly TomlFault[], code: TomlFault["code"]): TomlFault {
  const lines = faults.map(({ message, hint }) => `\n  ${message}${hint === undefined ? "" : ` ${hint}`}`);
  return { code, message: `${counted(faults.length, "fault")}:${lines.join("")}` };
}

function faultsOf(issue: z.core.$ZodIssue, schema: z.core.$ZodType): TomlFault[] {
  const key = issue.path.join(".");
  if (issue.code !== "unrecognized_keys") {
    const { message } = (issue.code === "invalid_key" ? issue.issues[0] : undefined) ?? issue;
    return [{ code: "bad_config", message: `${key}: ${message}.` }];
  }
  const known = keysAt(schema, issue.path);
  return issue.keys.map((unknown) => {
    const [near] = nearest(unknown, known);
    return {
      code: "unknown_key",
      message: `the key ${key === "" ? unknown : `${key}.${unknown}`} is unknown.`,
      hint: near === undefined ? `Known keys: ${known.join(", ")}.` : `Did you mean ${near}?`,
    };
  });
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
