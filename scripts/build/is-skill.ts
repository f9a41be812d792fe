/** Which folders are skills. The calls block. */
import type { Dirent } from "node:fs";
import { join } from "node:path";
import { unmarkedUtf8 } from "../../src/bytes.ts";
import { skillFileName } from "../../src/skill/file-text.ts";
import { isIgnored } from "../../src/skill/ignore.ts";
import { orNull, readFolder, readRegular } from "./file-system.ts";
import { isState } from "./skill-folder.ts";

/** The file with the tools of a typed skill. It needs no SKILL.md: the build makes one. */
export const TYPED_FILE = "skill.ts";

/** The name of the SKILL.md that a folder has, or that the build makes; `null`: the folder is no skill. */
export function skillFileOf(entries: readonly Dirent[]): string | null {
  const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  return skillFileName(names) ?? (names.includes(TYPED_FILE) ? "SKILL.md" : null);
}

/** Whether a folder is a skill, or there is one anywhere in it. */
export function holdsSkill(path: string): boolean {
  const entries = readFolder(path) ?? [];
  if (isState(entries)) return false;
  return skillFileOf(entries) !== null || holdsBelow(path, entries);
}

function holdsBelow(path: string, entries: readonly Dirent[]): boolean {
  return entries.some(
    (entry) =>
      (entry.isDirectory() || entry.isSymbolicLink()) &&
      !isIgnored(entry.name, true, []) &&
      (entry.isDirectory() ? holdsSkill : isSkill)(join(path, entry.name)),
  );
}

/** Whether a folder has a SKILL.md of its own. */
export function isSkill(path: string): boolean {
  return skillFileOf(readFolder(path) ?? []) !== null;
}

/**
 * Whether a root is itself a skill. A text without frontmatter above skills is none: it describes them, as in many public
 * collections.
 */
export function isSkillRoot(root: string): boolean {
  const entries = readFolder(root) ?? [];
  const file = skillFileOf(entries);
  if (file === null) return false;
  const isText = !entries.some(({ name }) => name === TYPED_FILE) && !hasFrontmatter(join(root, file));
  return !isText || !holdsBelow(root, entries);
}

/** Whether a file begins with frontmatter, or cannot be read. */
function hasFrontmatter(path: string): boolean {
  const bytes = orNull(() => readRegular(path));
  return bytes === null || (unmarkedUtf8(bytes) ?? "---").trimStart().startsWith("---");
}
