/** Lists the files of a skill folder that Hull bundles, with findings about the others. It never changes the folder. */
import { type Dirent, existsSync, lstatSync, statSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { utf8Length } from "../../src/bytes.ts";
import { firstOf } from "../../src/cut.ts";
import { type IgnoreLevel, isIgnored, parseIgnore } from "../../src/skill/ignore.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { byteOrder } from "../../src/skill/path.ts";
import { PACK_LIMITS } from "../../src/skill/tar.ts";
import { isSystemError, reasonOf } from "../system-error.ts";
import {
  orNull,
  outsideTarget,
  readFolder,
  readRegular,
  realPath,
  refusalOf,
  statOf,
} from "./file-system.ts";
import { PLUGIN_FOLDER } from "./plugins.ts";
import { type FoundFile, folderOf, isState, type RootContext, type SkillFolder } from "./skill-folder.ts";

/** All bundled files of a skill folder, with findings about links and special files. */
export function listFiles(
  folder: SkillFolder,
  rootContext: RootContext,
): { files: FoundFile[]; diagnostics: Diagnostic[] } {
  const files: FoundFile[] = [];
  const diagnostics: Diagnostic[] = [];
  const { plugin, single } = folder;
  const { path: own } = folderOf(folder);
  const skillFile = basename(folder.file);
  const all = readFolder(own) ?? [];
  const top = single === undefined ? all : all.filter(({ name }) => name === skillFile);
  const base = realPath(own) ?? own;
  const inFolder = [plugin === undefined || single === undefined ? base : (realPath(plugin.path) ?? base)];
  const levels = ignoreLevels(folder, rootContext, all);
  /** How many of the folders around an entry are links. */
  let linked = 0;

  /** @param above the parent folders, and itself last */
  const visit = (entries: readonly Dirent[], prefix: string, above: readonly string[]): void => {
    for (const entry of entries) {
      const path = prefix + entry.name;
      // For most entries the name alone decides, and no link needs to be followed.
      if (!isIgnored(path, entry.isDirectory(), levels)) diagnostics.push(...examine(entry, path, above));
    }
  };
  /** Keeps a file, visits a folder, and returns what is wrong with either. */
  const examine = (entry: Dirent, path: string, above: readonly string[]): Diagnostic[] => {
    const absolute = join(above.at(-1) ?? own, entry.name);
    const link = entry.isSymbolicLink();
    // The text for a model must come from the skill's own folder, that of a command or agent from its plugin's.
    const boundary = path === skillFile ? inFolder : rootContext.boundary;
    const target = link ? outsideTarget(absolute, boundary) : null;
    if (target !== null) return [linkOutside(folder, withinRoot(folder, path), target)];
    const stats = statOf(absolute);
    if (link && stats?.isDirectory() && isIgnored(path, true, levels)) return [];
    const fault = nameFault(entry.name, path, absolute);
    if (fault !== null && (stats === null || stats.isFile() || stats.isDirectory()))
      return [badName(folder, path, fault)];
    if (stats === null) return withoutStats(folder, path, absolute, link);
    if (stats.isDirectory()) return enter(path, absolute, link, above);
    if (!stats.isFile()) {
      const message = `${path} is not a regular file, so Hull leaves it out.`;
      return [finding(folder, path, "warning", "special_file", message, "List it in .hullignore.")];
    }
    const real = link || linked > 0 ? realPath(absolute) : null;
    const leads = real === null ? {} : { link: relative(base, real).split(sep).join("/") };
    files.push({ path, absolute, stats, ...leads });
    return [];
  };
  const enter = (path: string, absolute: string, link: boolean, above: readonly string[]): Diagnostic[] => {
    const real = link ? realPath(absolute) : null;
    if (real !== null && above.some((outer) => realPath(outer) === real)) {
      const message = `The link ${path} leads to a folder that contains it.`;
      return [finding(folder, path, "error", "link_loop", message, LINK_HINT)];
    }
    const entries = readFolder(absolute);
    if (entries === null) return folderUnreadable(folder, withinRoot(folder, path), absolute);
    if (isState(entries)) return [];
    linked += link ? 1 : 0;
    visit(entries, `${path}/`, [...above, absolute]);
    linked -= link ? 1 : 0;
    return [];
  };
  visit(top, "", [own]);
  files.sort((a, b) => byteOrder(a.path, b.path));
  if (folder.within === "") diagnostics.push(...nestedSkills(folder, files));
  return { files, diagnostics };
}

const LINK_HINT = "Remove it, or list it in .hullignore.";
const NAME_HINT = "Rename it, or list it in .hullignore.";

/** The most of a name in a message, in UTF-16 units. */
const MAX_SHOWN = 200;

/** Why no pack can hold an entry of this name, as the end of a sentence; `null`: one can. */
function nameFault(name: string, path: string, absolute: string): string | null {
  if (/[\\\u0000-\u001f\u007f]/.test(name)) return "contains a backslash or control characters";
  if (isNotUtf8(absolute)) return "is not UTF-8";
  const { path_bytes } = PACK_LIMITS;
  return utf8Length(path) > path_bytes ? `is longer than ${path_bytes} bytes with its folders` : null;
}

function badName(folder: SkillFolder, path: string, fault: string): Diagnostic {
  const shown = path.length > MAX_SHOWN ? `${firstOf(path, MAX_SHOWN)}…` : path;
  return finding(
    folder,
    path,
    "error",
    "file_name",
    `The name ${JSON.stringify(shown)} ${fault}.`,
    NAME_HINT,
  );
}

/** Whether the name of an entry was read as something else. */
export const isNotUtf8 = (path: string): boolean =>
  basename(path).includes("\ufffd") && orNull(() => lstatSync(path)) === null;

export function nameNotUtf8(name: string, file: string): Diagnostic {
  const message = `The name ${JSON.stringify(name)} is not UTF-8, so Hull looks for no skill in it.`;
  return { level: "warning", code: "file_name", skill: "", file, message, hint: NAME_HINT };
}

/** The finding about an entry that cannot be examined; none about a file that has gone meanwhile. */
function withoutStats(folder: SkillFolder, path: string, absolute: string, link: boolean): Diagnostic[] {
  const refusal = refusalOf(absolute, statSync);
  if (refusal !== null) return [fileUnreadable(folder, path, refusal)];
  if (!link) return [];
  const message = `The link ${path} leads nowhere.`;
  return [finding(folder, path, "error", "link_broken", message, LINK_HINT)];
}

/** @param refusal the system's error */
export function fileUnreadable(folder: SkillFolder, path: string, refusal: unknown): Diagnostic {
  const message = `The file ${path} cannot be read: ${reasonOf(refusal)}.`;
  return finding(folder, path, "error", "file_unreadable", message, UNREADABLE_HINT);
}

/** The finding about the one of these files that this error names. @throws the error if it names none */
export function refusedFile(folder: SkillFolder, found: readonly FoundFile[], error: unknown): Diagnostic {
  const file = isSystemError(error) ? found.find(({ absolute }) => absolute === error.path) : undefined;
  if (file === undefined) throw error;
  return fileUnreadable(folder, file.path, error);
}

const UNREADABLE_HINT = "Change its owner or its permissions, or list it in .hullignore.";

/** The files of a skill without those of skills in it that are served themselves. */
export const ownFiles = <T extends { path: string }>({ apart = [] }: SkillFolder, files: readonly T[]): T[] =>
  files.filter(({ path }) => !apart.some((inner) => path.startsWith(`${inner}/`)));

function nestedSkills(folder: SkillFolder, files: FoundFile[]): Diagnostic[] {
  return ownFiles(folder, files)
    .filter((file) => file.path.endsWith("/SKILL.md"))
    .map((file) => {
      const nested = file.path.slice(0, -"/SKILL.md".length);
      const message = `The folder ${nested} has its own SKILL.md, but Hull does not serve it: the root is itself a skill.`;
      const hint = `Name the folder ${nested.split("/", 1)[0]} as a root to serve what is in it, or list it in "skills" of ${PLUGIN_FOLDER}/plugin.json to serve both.`;
      return finding(folder, file.path, "warning", "nested_skill", message, hint);
    });
}

function finding(
  folder: SkillFolder,
  path: string,
  level: Diagnostic["level"],
  code: string,
  message: string,
  hint: string,
): Diagnostic {
  return { level, code, skill: folder.name, file: withinRoot(folder, path), message, hint };
}

/** A path of the skill's folder, from the root on. */
export function withinRoot(folder: SkillFolder, path: string): string {
  const { within } = folderOf(folder);
  return within === "" ? path : `${within}/${path}`;
}

export function linkOutside(folder: SkillFolder, file: string, target: string): Diagnostic {
  return {
    level: "error",
    code: "link_outside",
    skill: folder.name,
    file,
    message: `The link ${file} leads to ${target}, outside the project or, for SKILL.md, the skill's folder.`,
    hint: "Replace the link with a copy of its target, or list it in .hullignore.",
  };
}

/** A finding if there is a folder that cannot be read. @param path absolute */
export function folderUnreadable({ name }: SkillFolder, file: string, path: string): Diagnostic[] {
  const refusal = refusalOf(path);
  if (refusal === null) return [];
  const message = `The folder ${file} cannot be read: ${reasonOf(refusal)}.`;
  const finding = { level: "error" as const, code: "folder_unreadable", skill: name, file };
  return [{ ...finding, message, hint: UNREADABLE_HINT }];
}

function ignoreLevels(
  folder: SkillFolder,
  { levels }: RootContext,
  entries: readonly Dirent[],
): readonly IgnoreLevel[] {
  const { path, within } = folderOf(folder);
  if (within === "") return levels;
  const below = levels.map(({ base, rules }) => ({
    base: base === "" ? within : `${base}/${within}`,
    rules,
  }));
  const names = within.split("/");
  const between = names.slice(1).flatMap((_, i) => {
    const location = join(folder.root, ...names.slice(0, i + 1));
    return existsSync(join(location, IGNORE_FILE))
      ? [readIgnore(location, names.slice(i + 1).join("/"))]
      : [];
  });
  const own = entries.some(({ name }) => name === IGNORE_FILE) ? [readIgnore(path, "")] : [];
  return [...below, ...between, ...own];
}

export const IGNORE_FILE = ".hullignore";

/** Throws the system's error for a file that cannot be read, since what it lists must not be bundled. */
export function readIgnore(location: string, base: string): IgnoreLevel {
  const path = join(location, IGNORE_FILE);
  const bytes = orNull(() => readRegular(path));
  const refusal = bytes === null ? refusalOf(path, readRegular) : null;
  if (refusal !== null) throw refusal;
  return { base, rules: parseIgnore(bytes?.toString("utf8") ?? "") };
}
