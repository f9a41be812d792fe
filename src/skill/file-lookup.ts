/** Finds the file of a skill that a text names. */
import { insidePath } from "./path.ts";

/**
 * The path among `paths` that `wanted` means: an identical one, else the only one that differs in letter case alone.
 * Authors on file systems that ignore letter case write FORMS.md for forms.md.
 * @param wanted relative to the skill's folder
 * @returns `null` if there is none, or if several differ in letter case and none is exact
 */
export function fileNamed(wanted: string, paths: readonly string[]): string | null {
  const path = insidePath(wanted);
  if (path === null) return null;
  if (paths.includes(path)) return path;
  const folded = fold(path);
  const [only, ...others] = paths.filter((each) => fold(each) === folded);
  return only !== undefined && others.length === 0 ? only : null;
}

/** The same as the file itself. */
export function namedFile<T extends { path: string }>(wanted: string, files: readonly T[]): T | null {
  const paths = files.map(({ path }) => path);
  const path = fileNamed(wanted, paths);
  return files.find((file) => file.path === path) ?? null;
}

const fold = (path: string): string => path.normalize("NFC").toLowerCase();
