/** A TOML file of a known shape, and the places of its faults. */
import { parse, TomlError } from "smol-toml";
import * as z from "zod";
import { messageOf } from "../src/engine/fault.ts";
import { SAVE_AS_UTF8 } from "../src/skill/file-findings.ts";
import { decodeText } from "../src/skill/file-text.ts";
import { nearest } from "../src/skill/match.ts";
import { positionOf } from "../src/skill/tree.ts";
import { EXIT } from "./command.ts";
import { FileError, type FileFault } from "./file-error.ts";
import { tomlTree } from "./toml-tree.ts";

type TomlFile<T> =
  | { ok: true; data: T }
  /** `isToml`: the text has no fault of syntax. */
  | { ok: false; isToml: boolean; code: "bad_config" | "unknown_key"; faults: [FileFault, ...FileFault[]] };

/** The failure of a command (exit 2) for faults of a file; see `FileError`. */
export const tomlError = (
  file: string,
  { code, faults }: Extract<TomlFile<unknown>, { ok: false }>,
  hint?: string,
): FileError => new FileError(EXIT.usage, code, file, faults, hint);

/** Parses and checks a file; an unknown key comes with the nearest known one. @param content its bytes, or its text */
export function readToml<T>(content: Uint8Array | string, schema: z.core.$ZodType<T>): TomlFile<T> {
  const { text, fault } = typeof content === "string" ? { text: content, fault: null } : decodeText(content);
  if (fault !== null) {
    const { is, at } = fault;
    const broken = { path: "", message: `the file ${is}.`, hint: SAVE_AS_UTF8, ...at };
    return { ok: false, isToml: false, code: "bad_config", faults: [broken] };
  }
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [message = ""] = error.message.split("\n");
    const { line, column } = error;
    const fault = { path: "", message: `${message}.`, line, column };
    return { ok: false, isToml: false, code: "bad_config", faults: [fault] };
  }
  const parsed = z.core.safeParse(schema, value);
  if (parsed.success) return { ok: true, data: parsed.data };
  const tree = tomlTree(text);
  const [first, ...others] = parsed.error.issues
    .flatMap((issue) => faultsOf(issue, schema))
    .map((fault) => ({ ...fault, ...positionOf(tree, fault.path) }))
    .sort((a, b) => a.line - b.line || a.column - b.column);
  if (first === undefined) throw parsed.error;
  const code = parsed.error.issues[0]?.code === "unrecognized_keys" ? "unknown_key" : "bad_config";
  return { ok: false, isToml: true, code, faults: [first, ...others] };
}

function faultsOf(issue: z.core.$ZodIssue, schema: z.core.$ZodType): FileFault[] {
  const path = issue.path.join(".");
  if (issue.code !== "unrecognized_keys") {
    return [{ path, message: `${messageOf(issue)}.` }];
  }
  const known = keysAt(schema, issue.path);
  return issue.keys.map((unknown) => {
    const [near] = nearest(unknown, known);
    const key = path === "" ? unknown : `${path}.${unknown}`;
    return {
      path: key,
      message: `the key ${key} is unknown.`,
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
