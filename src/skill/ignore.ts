/** Which files of a skill folder are never bundled (serving.md §1): fixed patterns and `.hullignore`. */

/** Names that are left out wherever they stand; `.hullignore` cannot bring them back. */
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
  /^Thumbs\.db$/,
];

/** One line of an ignore file. */
interface IgnoreRule {
  /** Matches a path relative to the folder of the ignore file. */
  pattern: RegExp;
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
    const line = raw.replace(/(?<!\\)\s+$/, "");
    if (line === "" || line.startsWith("#")) continue;
    const keep = line.startsWith("!");
    const glob = keep ? line.slice(1) : line;
    const folderOnly = glob.endsWith("/");
    const bare = folderOnly ? glob.slice(0, -1) : glob;
    const anchored = bare.includes("/");
    const body = globToRegExp(bare.startsWith("/") ? bare.slice(1) : bare);
    if (body !== "")
      rules.push({ pattern: new RegExp(`^${anchored ? "" : "(?:.*/)?"}${body}$`, "s"), keep, folderOnly });
  }
  return rules;
}

/** An ignore file's rules and the path of the skill folder relative to that file's folder, `""` for the same folder. */
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
      if ((isFolder || !rule.folderOnly) && rule.pattern.test(full)) ignored = !rule.keep;
    }
  }
  return ignored;
}

/** The body of a regular expression for one glob; runs of `*` are merged. */
function globToRegExp(glob: string): string {
  let source = "";
  for (let i = 0; i < glob.length; i++) {
    const char = glob.charAt(i);
    if (char === "*" && glob.startsWith("**/", i) && (i === 0 || glob[i - 1] === "/")) {
      source += "(?:.*/)?";
      i += 2;
    } else if (char === "*") {
      const across = glob[i + 1] === "*" && i + 2 >= glob.length && glob[i - 1] === "/";
      while (glob[i + 1] === "*") i++;
      source += across ? ".*" : "[^/]*";
    } else if (char === "?") {
      source += "[^/]";
    } else if (char === "[") {
      const found = /^\[(!?)([^\]/]+)\]/.exec(glob.slice(i));
      if (found?.[2] === undefined) source += "\\[";
      else {
        source += `[${found[1] === "!" ? "^/" : ""}${found[2].replace(/[\\[^]/g, "\\$&")}]`;
        i += found[0].length - 1;
      }
    } else {
      const literal = char === "\\" && i + 1 < glob.length ? glob.charAt(++i) : char;
      source += literal.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    }
  }
  return source;
}
