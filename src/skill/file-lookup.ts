/** Finds the file of a skill that a text names. */
import { once } from "../memo.ts";
import { foldedPath, insidePath } from "./path.ts";

/**
 * Finds the path among `paths` that a text means: an identical one, else the only one that differs in letter case alone.
 * Authors on file systems that ignore letter case write FORMS.md for forms.md. The finder takes a name relative to the
 * skill's folder; it returns `null` if there is none, or if several differ in letter case and none is exact.
 */
export function fileFinder(paths: readonly string[]): (wanted: string) => string | null {
  const exact = new Set(paths);
  const folded = once(() => Map.groupBy(paths, foldedPath));
  return (wanted) => {
    const path = insidePath(wanted);
    if (path === null || exact.has(path)) return path;
    const [only, ...others] = folded().get(foldedPath(path)) ?? [];
    return only !== undefined && others.length === 0 ? only : null;
  };
}

/** The same for one name. */
export const fileNamed = (wanted: string, paths: readonly string[]): string | null =>
  fileFinder(paths)(wanted);

/** The same as the file itself. */
export function namedFile<T extends { path: string }>(wanted: string, files: readonly T[]): T | null {
  const paths = files.map(({ path }) => path);
  const path = fileNamed(wanted, paths);
  return files.find((file) => file.path === path) ?? null;
}
