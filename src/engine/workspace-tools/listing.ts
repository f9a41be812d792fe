/** How `Glob` and `Grep` process a listing of files and their texts. Pure. */

import { firstOf } from "../../cut.ts";
import { counted } from "../../plural.ts";
import { fileGlob, matches } from "../../skill/glob.ts";
import { compilePattern, type Pattern } from "../regex/pattern.ts";
import { MAX_FOUND } from "./definitions.ts";

/** The most globs that braces may expand to. */
const MAX_ALTERNATIVES = 256;

interface ListedFile {
  /** The form that the model sees and may use. */
  shown: string;
  /** Relative to the searched folder. */
  path: string;
  /** Unix ms. */
  modified_at: number;
}

/** The globs that a glob with braces expands to: `*.{a,b}` to `*.a` and `*.b`. `null`: too many. */
export function expandBraces(glob: string): string[] | null {
  let done: string[] = [];
  let open = [glob];
  while (open.length > 0) {
    const next: string[] = [];
    for (const one of open) {
      const alternatives = firstBraces(one);
      if (alternatives === null) done = [...done, one];
      // Checked first, since a call takes a limited number of arguments.
      else if (alternatives.length > MAX_ALTERNATIVES) return null;
      else next.push(...alternatives);
    }
    if (done.length + next.length > MAX_ALTERNATIVES) return null;
    open = next;
  }
  return [...new Set(done)];
}

/** The glob with its first innermost braces expanded; `null`: it has none. */
function firstBraces(glob: string): string[] | null {
  const innermost = Array.from(glob.matchAll(/\{([^{}]*)\}/g));
  const found = innermost.find(([braces]) => braces.includes(","));
  if (found === undefined) return null;
  const [braces, inside = ""] = found;
  const [before, after] = [glob.slice(0, found.index), glob.slice(found.index + braces.length)];
  return inside.split(",").map((part) => before + part + after);
}

/** Whether a path matches a glob. @param anywhere a glob without a slash matches names in any folder */
export function globFilter(
  glob: string,
  anywhere: boolean,
): { ok: true; matches: (path: string) => boolean } | { ok: false; reason: string } {
  const globs = expandBraces(glob.normalize("NFC").replace(/^\.\//, ""));
  if (globs === null) return { ok: false, reason: "its braces stand for too many globs" };
  const whole = globs.map((one) => fileGlob(anywhere && !one.includes("/") ? `**/${one}` : one));
  return { ok: true, matches: (path) => whole.some((one) => matches(one, path)) };
}

/** The files of a listing that match, newest first. */
export function globbed(files: readonly ListedFile[], matches: (path: string) => boolean): string {
  const found = files
    .filter(({ path }) => matches(path))
    .sort((a, b) => b.modified_at - a.modified_at || (a.path < b.path ? -1 : 1));
  if (found.length === 0) return "[hull: no file matches]";
  const shown = found.slice(0, MAX_FOUND).map((file) => file.shown);
  const more = found.length - shown.length;
  return [...shown, ...(more === 0 ? [] : [`[hull: ${more} more files match]`])].join("\n");
}

/** The extensions of types of files that have another name than their only extension. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ["c", "{c,h}"],
  ["cpp", "{cc,cpp,cxx,h,hh,hpp,hxx}"],
  ["csharp", "cs"],
  ["elixir", "{ex,exs}"],
  ["html", "{htm,html}"],
  ["javascript", "{cjs,js,jsx,mjs}"],
  ["js", "{cjs,js,jsx,mjs}"],
  ["kotlin", "{kt,kts}"],
  ["markdown", "{markdown,md,mdx}"],
  ["md", "{markdown,md,mdx}"],
  ["perl", "{pl,pm}"],
  ["py", "{py,pyi}"],
  ["python", "{py,pyi}"],
  ["ruby", "rb"],
  ["rust", "rs"],
  ["sh", "{bash,sh,zsh}"],
  ["ts", "{cts,mts,ts,tsx}"],
  ["typescript", "{cts,mts,ts,tsx}"],
  ["yaml", "{yaml,yml}"],
]);

/** The glob for the files of a type; one that is not in the table is an extension. */
export const globOfType = (type: string): string => `*.${TYPES.get(type) ?? type}`;

export type GrepMode = "content" | "files_with_matches" | "count";

export interface GrepOptions {
  mode: GrepMode;
  ignoreCase: boolean;
  /** Lines to show before and after each match. */
  before: number;
  after: number;
  /** The most lines of the answer; 0: as many as possible. */
  limit: number;
  /** Lines of the answer to leave out before these. */
  offset: number;
}

/** Work that one search may cost, in characters and steps. */
const BUDGET = 200_000_000;
/** The most characters to show of a matching line. */
const MAX_LINE_CHARS = 500;
const MAX_CONTEXT = 50;

/** Searches one file after the other for a pattern, and renders the matches. */
export class GrepSearch {
  readonly #options: GrepOptions;
  readonly #pattern: Pattern;
  readonly #budget = { left: BUDGET };
  readonly #lines: string[] = [];
  /** Lines of the answer, with those that it leaves out. */
  #found = 0;

  private constructor(pattern: Pattern, options: GrepOptions) {
    this.#pattern = pattern;
    const limit = Math.min(options.limit || MAX_FOUND, MAX_FOUND);
    this.#options = { ...options, limit };
  }

  static of(
    pattern: string,
    options: GrepOptions,
  ): { ok: true; search: GrepSearch } | { ok: false; reason: string } {
    const [flag = ""] = /^\(\?i\)/.exec(pattern) ?? [];
    const ignoreCase = options.ignoreCase || flag !== "";
    const compiled = compilePattern(pattern.slice(flag.length), { cased: !ignoreCase });
    if (!compiled.ok) return compiled;
    return { ok: true, search: new GrepSearch(compiled.pattern, { ...options, ignoreCase }) };
  }

  /** Whether the search can stop: there is more than the answer may show, or the work is used up. */
  get full(): boolean {
    return this.#more || this.#budget.left < 0;
  }

  get #more(): boolean {
    return this.#found > this.#options.offset + this.#options.limit;
  }

  /** Searches one file. */
  look(shown: string, text: string): void {
    const { mode, ignoreCase } = this.#options;
    const searched = ignoreCase ? text.toLowerCase() : text;
    this.#budget.left -= text.length;
    if (!this.#pattern.mayMatch(searched)) return;
    const starts = [0];
    for (let at = searched.indexOf("\n"); at !== -1; at = searched.indexOf("\n", at + 1)) starts.push(at + 1);
    if (starts.at(-1) === searched.length) starts.pop();
    const hits: number[] = [];
    for (const [line, start] of starts.entries()) {
      const next = starts[line + 1] ?? searched.length + 1;
      const end = Math.min(next - 1, searched.length);
      const trimmed = searched.charCodeAt(end - 1) === 13 && end > start ? end - 1 : end;
      const count = this.#pattern.count(searched.slice(start, trimmed), this.#budget);
      if (count === null) return;
      if (count > 0) hits.push(line);
    }
    if (hits.length === 0) return;
    if (mode === "files_with_matches") this.#add(shown);
    else if (mode === "count") this.#add(`${shown}:${hits.length}`);
    else this.#addLines(shown, text.replace(/\n$/, "").split("\n"), hits);
  }

  #add(line: string): void {
    this.#found++;
    if (this.#found > this.#options.offset && !this.#more) this.#lines.push(line);
  }

  #addLines(shown: string, lines: readonly string[], hits: readonly number[]): void {
    const { before, after } = this.#options;
    const wanted = new Set(hits);
    let last = -1;
    for (const hit of hits) {
      if (this.full) return;
      const from = Math.max(last + 1, hit - Math.min(before, MAX_CONTEXT));
      const to = Math.min(lines.length - 1, hit + Math.min(after, MAX_CONTEXT));
      if (before + after > 0 && this.#found > 0 && from > last + 1) this.#add("--");
      for (let at = from; at <= to && (at <= hit || !wanted.has(at)); at++) {
        const sign = wanted.has(at) ? ":" : "-";
        const line = (lines[at] ?? "").replace(/\r$/, "");
        const cut = line.length > MAX_LINE_CHARS ? `${firstOf(line, MAX_LINE_CHARS)}…` : line;
        this.#add(`${shown}${sign}${at + 1}${sign}${cut}`);
        last = at;
      }
    }
  }

  /** The matches, as text. */
  text(): string {
    const next = this.#options.offset + this.#options.limit;
    const left = this.#lines.length === 0 && this.#found > 0;
    const notes = [
      ...(this.#budget.left < 0 ? ["[hull: the search was ended: look in fewer files]"] : []),
      ...(this.#more ? [`[hull: there is more; narrow the search, or go on with offset ${next}]`] : []),
      ...(left ? [`[hull: offset leaves out all ${counted(this.#found, "line")}]`] : []),
    ];
    const lines = [...this.#lines, ...notes];
    return lines.length === 0 ? "[hull: nothing matches]" : lines.join("\n");
  }
}
