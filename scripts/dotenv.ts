/** Settings and keys of a local project: the environment, `.dev.vars` and `.env`. */

import { join, relative } from "node:path";
import { parseEnv } from "node:util";
import { utf8OrNull } from "../src/bytes.ts";
import { EXIT } from "./command.ts";
import { FileError } from "./file-error.ts";
import { ABSENT, readIfThere } from "./read-if-there.ts";

/**
 * All variables in force for a project folder. The environment wins over `.dev.vars`, which wins over `.env`; a missing
 * file counts as empty.
 * @throws CommandError (exit 2) for a value that the file's form changes, with its line and name, never the value;
 * exit 1 for a file that cannot be read
 */
export async function loadEnvironment(
  dir: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Map<string, string>> {
  const variables = new Map<string, string>();
  for (const layer of [
    await readVariables(dir, ".env"),
    await readVariables(dir, ".dev.vars"),
    environment,
  ]) {
    for (const [name, value] of Object.entries(layer)) if (value !== undefined) variables.set(name, value);
  }
  return variables;
}

async function readVariables(dir: string, file: string): Promise<NodeJS.Dict<string>> {
  const path = join(dir, file);
  // A folder of this name is an environment of Python.
  const bytes = await readIfThere(path, [...ABSENT, "EISDIR"]);
  if (bytes === null) return {};
  // Removes the byte order mark that some editors write, which would become part of the first name.
  const text = new TextDecoder().decode(bytes);
  const utf8 = utf8OrNull(bytes) !== null;
  for (const assignment of assignmentsOf(text)) {
    const fault = faultOf(assignment, utf8);
    if (fault === null) continue;
    const { name, line } = assignment;
    const found = { path: "", line, message: `${name} ${fault.message}`, hint: fault.hint };
    throw new FileError(EXIT.usage, "bad_env_value", relative(process.cwd(), path), [found]);
  }
  return parseEnv(text);
}

interface Assignment {
  name: string;
  /** As in the file, without the quotes around it. */
  text: string;
  quoted: boolean;
  /** The rest of the line after the closing quote. */
  after: string;
  /** From 1. */
  line: number;
}

/**
 * The assignments of a file in the form that Node reads: `NAME=value`, also over several lines in one kind of quotes.
 */
function* assignmentsOf(text: string): Generator<Assignment> {
  const start = /[^\S\n]*(?:export[^\S\n]+)?([^\s=#][^=\n]*?)[^\S\n]*=[^\S\n]*/y;
  const endOfLine = (from: number): number => {
    const at = text.indexOf("\n", from);
    return at === -1 ? text.length : at;
  };
  let at = 0;
  while (at < text.length) {
    start.lastIndex = at;
    const [whole, name] = start.exec(text) ?? [];
    if (whole === undefined || name === undefined) {
      at = endOfLine(at) + 1;
      continue;
    }
    const line = text.slice(0, at).split("\n").length;
    const from = at + whole.length;
    const quote = text[from] ?? "";
    const close = /["'`]/.test(quote) ? text.indexOf(quote, from + 1) : -1;
    const end = endOfLine(close === -1 ? from : close);
    yield close === -1
      ? { name, text: text.slice(from, end), quoted: false, after: "", line }
      : { name, text: text.slice(from + 1, close), quoted: true, after: text.slice(close + 1, end), line };
    at = end + 1;
  }
}

/** Why a value would differ from what the file seems to contain. */
function faultOf(
  { text, quoted, after }: Assignment,
  utf8: boolean,
): { message: string; hint: string } | null {
  if (!utf8 && text.includes("\uFFFD")) {
    return { message: "has bytes that are not UTF-8.", hint: "Save the file as UTF-8." };
  }
  if (text.includes("\0"))
    return { message: "has a NUL byte, which a variable cannot hold.", hint: "Remove it." };
  // At the end of a line it belongs to the line.
  if (/\r(?!\n|$)/.test(text)) {
    return { message: "has a carriage return, which would be lost.", hint: "Remove it." };
  }
  if (quoted && !/^\s*(?:#|$)/.test(after)) {
    return {
      message: "has more text after its closing quote, which would be lost.",
      hint: "Choose quotes that the value does not contain, or no quotes if it contains every kind and no #.",
    };
  }
  return null;
}
