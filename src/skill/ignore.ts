/** Which files of a skill folder are never bundled: fixed patterns and `.hullignore`. */

import { type Glob, ignoreGlob, matches } from "./glob.ts";

/** Names that are left out everywhere; `.hullignore` cannot bring them back. */
const NEVER = [
  /^\.git$/,
  /^node_modules$/,
  /^__pycache__$/,
  /^\.venv$/,
  /\.pyc$/,
  /^\.hull$/,
  /^\.hullignore$/,
  /^\.env/,
  /^\.dev\.vars/,
  // What editors and systems leave behind: backups, vim swap and probe files, Emacs locks and autosaves.
  /~$/,
  /^\..*\.sw[a-p]$/,
  /^4913$/,
  /^\.#/,
  /^#.*#$/,
  /^\.DS_Store$/,
  /^\._/,
  /^Thumbs\.db$/,
  // The system makes it at the top of a file system, and lets nobody else read it.
  /^lost\+found$/,
];

/** One line of an ignore file. */
export interface IgnoreRule {
  /** Matches a path relative to the folder of the ignore file. */
  pattern: Glob;
  /** The same, in less time. @param name the last part of the path */
  fits(path: string, name: string): boolean;
  /** `!`: brings back what an earlier rule left out. */
  keep: boolean;
  /** Trailing `/`: folders only. */
  folderOnly: boolean;
}

/**
 * Reads a `.hullignore`. The syntax is that of gitignore: comments, `!`, `*`, `**`, `?`, `[…]`, a trailing `/` for
 * folders, and a `/` elsewhere that ties the pattern to the file's own folder.
 */
export function parseIgnore(text: string): IgnoreRule[] {
  const rules: IgnoreRule[] = [];
  for (const raw of text.split(/\r?\n/)) {
    const line = withoutBlanksAtEnd(raw);
    if (line === "" || line.startsWith("#")) continue;
    const keep = line.startsWith("!");
    const glob = keep ? line.slice(1) : line;
    const folderOnly = glob.endsWith("/");
    const bare = folderOnly ? glob.slice(0, -1) : glob;
    if (bare === "" || bare === "/") continue;
    const pattern = ignoreGlob(bare);
    rules.push({ pattern, fits: matcherOf(bare, pattern), keep, folderOnly });
  }
  return rules;
}

/** Most lines are a name, a path, or an end of names: comparing texts takes a fraction of the time of a glob. */
function matcherOf(glob: string, pattern: Glob): IgnoreRule["fits"] {
  const tied = glob.includes("/");
  const text = glob.replace(/^\//, "");
  const [begin = ""] = /^[^*?[\\]*/.exec(text) ?? [];
  if (begin === text) return tied ? (path) => path === text : (_, name) => name === text;
  const [, end = null] = /^\*([^*?[\\/]*)$/.exec(glob) ?? [];
  if (end !== null) return (_, name) => name.endsWith(end);
  return (path) => (!tied || path.startsWith(begin)) && matches(pattern, path);
}

/** An ignore file's rules, and the skill folder's path relative to that file's folder; `""` for the same folder. */
export interface IgnoreLevel {
  base: string;
  rules: readonly IgnoreRule[];
}

/**
 * Whether a path (relative to the skill folder) is left out; the last matching rule of the last level decides. Callers
 * ask for every folder on the way down and do not enter one that is left out.
 */
export function isIgnored(path: string, isFolder: boolean, levels: readonly IgnoreLevel[]): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (NEVER.some((pattern) => pattern.test(name))) return true;
  let ignored = false;
  for (const { base, rules } of levels) {
    const full = base === "" ? path : `${base}/${path}`;
    for (const rule of rules) {
      if ((isFolder || !rule.folderOnly) && rule.fits(full, name)) ignored = !rule.keep;
    }
  }
  return ignored;
}

/** A blank after a backslash stays. */
function withoutBlanksAtEnd(line: string): string {
  const bare = line.trimEnd();
  return bare.endsWith("\\") ? line.slice(0, bare.length + 1) : bare;
}
