/** Paths inside a skill folder: relative, `/` as separator. */

/** The path without `.` and `..` segments, or `null` if it is absolute, empty or leaves the folder. */
export function insidePath(path: string): string | null {
  if (path.startsWith("/") || path.includes("\0")) return null;
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") kept.push(segment);
    else if (kept.pop() === undefined) return null;
  }
  return kept.length === 0 ? null : kept.join("/");
}

/**
 * The path in the plugin's folder to which a path of a skill leads; `null`: it stays in the skill's folder, or leaves the
 * plugin's.
 * @param skill the skill's folder inside the plugin's
 */
export function pluginPath(path: string, skill: string): string | null {
  if (path.startsWith("/") || insidePath(path) !== null) return null;
  const inside = insidePath(`${skill}/${path}`);
  return inside === skill || inside?.startsWith(`${skill}/`) ? null : inside;
}

/** The same for paths that differ only in letter case or in Unicode's form: `ß` and `SS` are one, too. */
export const foldedPath = (path: string): string => path.normalize("NFC").toLowerCase().toUpperCase();

/** Two paths that are one file where letter case does not count, as on macOS and Windows; `null`: there are none. */
export function alikePaths(paths: readonly string[]): [string, string] | null {
  const seen = new Map<string, string>();
  for (const path of paths) {
    const folded = foldedPath(path);
    const before = seen.get(folded);
    if (before !== undefined) return [before, path];
    seen.set(folded, path);
  }
  return null;
}

/** Orders text by its UTF-8 bytes, which is the order of its code points. */
export function byteOrder(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; ) {
    const x = a.codePointAt(i) ?? 0;
    const y = b.codePointAt(i) ?? 0;
    if (x !== y) return x - y;
    i += x > 0xffff ? 2 : 1;
  }
  return a.length - b.length;
}
