/**
 * What a JavaScript handler needs, read from its text: whether it can run in an isolate, and its imports. The build and
 * uploads share it. Pure.
 */
import { isMemberDot, type Near, words } from "../javascript.ts";
import { insidePath } from "../path.ts";

/** Modules of Node that no isolate has, or that do what only a process can. */
const PROCESS_MODULES: ReadonlySet<string> = new Set([
  "child_process",
  "worker_threads",
  "net",
  "tls",
  "dgram",
  "cluster",
  "inspector",
  "repl",
  "sqlite",
  "trace_events",
  "v8",
  "vm",
  "wasi",
]);

export interface Needs {
  /** Parts other than imports that need a process, in words; `null`: none. */
  process: string | null;
  /** Specifiers of its imports, without duplicates. */
  imports: string[];
}

/** @param text JavaScript, or TypeScript whose types do not resemble the searched words */
export function javascriptNeeds(text: string): Needs {
  const imports = new Set<string>();
  let process: string | null = null;
  for (const near of words(text)) {
    if (isMemberDot(near[0])) continue;
    const specifier = specifierAt(near);
    if (specifier !== null) imports.add(specifier);
    process ??= processNeed(near);
  }
  return { process, imports: [...imports] };
}

/** Which of these imports need a process; `null`: none. */
export function importNeed(specifiers: readonly string[]): string | null {
  for (const specifier of specifiers) {
    const name = specifier.replace(/^node:/, "");
    if (PROCESS_MODULES.has(name.split("/")[0] ?? "")) return `it imports node:${name}`;
    if (/\.node$/.test(specifier)) return `it imports the native module ${specifier}`;
    if (/\.cjs$/.test(specifier)) return `it imports the CommonJS module ${specifier}`;
  }
  return null;
}

/** Words of a CommonJS or file-based module that no dot precedes. */
function processNeed([before, word, follows, third, fourth, fifth]: Near): string | null {
  const text = word?.text;
  const next = follows?.text;
  // The name of the bundler's function for modules that it cannot resolve; the bundler also defines a function with that
  // name.
  const calls = text === "require" || (text === "__require" && before?.text !== "function");
  if (calls && next === "(") return "it calls require()";
  if (text === "__dirname" || text === "__filename") return next === ":" ? null : `it uses ${text}`;
  if (text !== "import" || next !== "." || third?.text !== "meta") return null;
  const member = fourth?.text === "." ? fifth?.text : undefined;
  return /^(?:url|dirname|filename)$/.test(member ?? "") ? `it uses import.meta.${member}` : null;
}

/** The specifier of `import "x"`, `import("x")`, `… from "x"` and `require("x")`. */
function specifierAt([, word, next, inside]: Near): string | null {
  const text = word?.text;
  const named = text === "from" || text === "import" ? next : undefined;
  const called = (text === "import" || text === "require") && next?.text === "(" ? inside : undefined;
  const found = [named, called].find((token) => token?.type === "StringLiteral");
  return found === undefined ? null : found.text.slice(1, -1);
}

/** The needs of a file together with the skill's files that it imports by relative paths. */
export function filesNeed(
  path: string,
  files: ReadonlyMap<string, Uint8Array>,
): { process: string | null; others: string[]; relative: string[] } {
  const seen = new Set<string>();
  const others = new Set<string>();
  let process: string | null = null;
  const visit = (file: string): void => {
    const bytes = files.get(file);
    if (bytes === undefined || seen.has(file)) return;
    seen.add(file);
    const own = /\.[cm]?[jt]s$/.test(file) ? javascriptNeeds(new TextDecoder().decode(bytes)) : NOTHING;
    const need = own.process ?? importNeed(own.imports);
    process ??= need === null || file === path ? need : `${need} (in ${file})`;
    const folder = file.slice(0, file.lastIndexOf("/") + 1);
    for (const specifier of own.imports) {
      if (!/^\.\.?\//.test(specifier)) others.add(specifier);
      else visit(insidePath(folder + specifier) ?? "");
    }
  };
  visit(path);
  seen.delete(path);
  return { process, others: [...others], relative: [...seen] };
}

const NOTHING: Needs = { process: null, imports: [] };
