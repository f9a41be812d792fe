/**
 * Finds skill folders and their files (serving.md §1). Nothing in the source tree is ever changed. The calls block:
 * a folder of thousands of skills is looked at in a tenth of the time that as many asynchronous calls take.
 */
import { type Dirent, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { skillFileName } from "../../src/skill/file-text.ts";
import { type IgnoreLevel, isIgnored, parseIgnore } from "../../src/skill/ignore.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { byteOrder } from "../../src/skill/path.ts";
import { CONFIG_FILE } from "../config.ts";

/** A root that does not exist. */
export class RootMissing extends Error {
  readonly root: string;

  constructor(root: string) {
    super(`There is no folder ${root}.`);
    this.name = "RootMissing";
    this.root = root;
  }
}

export interface SkillFolder {
  /** Absolute. */
  root: string;
  /** Absolute. */
  path: string;
  /** Folder name. */
  name: string;
  /** Relative to the root, `/` as separator; `""`: the root itself is the skill. */
  within: string;
  /** SKILL.md, under the name it has, relative to the root. */
  file: string;
  /** Whether it has a hull.toml beside its SKILL.md. */
  configured: boolean;
}

export interface FoundFile {
  /** Relative to the skill folder, `/` as separator. */
  path: string;
  absolute: string;
  stats: Stats;
}

/** What all skills of a root have in common. */
export interface Grounds {
  /** Absolute. */
  root: string;
  /** Real paths that links may lead into. */
  boundary: readonly string[];
  /** The ignore files above the skill folders; `base` leads from each to the root. */
  levels: readonly IgnoreLevel[];
  /** Skills may lie in folders of folders (skill-formats.md §2). */
  deep: boolean;
}

/** How far below a deep root, and in how many folders, skills are looked for. */
const MAX_DEPTH = 6;
const MAX_FOLDERS = 2000;

export interface RootScan {
  skills: SkillFolder[];
  /** Folders whose link leaves the project, by absolute path. */
  refused: { folder: SkillFolder; diagnostic: Diagnostic }[];
  diagnostics: Diagnostic[];
}

/** Looks at a root and its project: where links may lead, and the `.hullignore` of both. */
export function survey(root: string, project: string, deep = false): Grounds {
  const boundary = [project, root].map((path) => realPath(path) ?? path);
  const levels: IgnoreLevel[] = [];
  for (const place of new Set([project, root])) {
    const base = relative(place, root).split(sep).join("/");
    if (!base.startsWith("..")) levels.push(readIgnore(place, base));
  }
  return { root, boundary, levels, deep };
}

/**
 * The skills of a root: the root itself where it holds SKILL.md, else its immediate sub-folders that do, byte-sorted; of a
 * deep root, also those of folders that are no skills. Throws `RootMissing`.
 */
export function findSkills(grounds: Grounds): RootScan {
  const { root } = grounds;
  const entries = readFolder(root);
  if (entries === null) throw new RootMissing(root);
  const scan: RootScan = { skills: [], refused: [], diagnostics: [] };
  const own = skillFileOf(entries);
  if (own !== null) {
    const configured = hasConfig(entries);
    scan.skills.push({ root, path: root, name: basename(root), within: "", file: own, configured });
    return scan;
  }
  searchBelow(grounds, entries, scan);
  if (scan.skills.length === 0 && scan.refused.length === 0) {
    scan.diagnostics.push(
      ofRoot(
        "warning",
        "no_skills",
        `The folder ${root} holds no skill: none of its sub-folders has a SKILL.md.`,
        "Make one with: hull new hello -l bash",
      ),
    );
  }
  return scan;
}

/** What is said of a root that is not there, where there are others. */
export function rootMissing(root: string): Diagnostic {
  return ofRoot("info", "root_missing", `There is no folder ${root}; the other roots are served.`);
}

function ofRoot(level: Diagnostic["level"], code: string, message: string, hint?: string): Diagnostic {
  return { level, code, skill: "", file: ".", message, ...(hint === undefined ? {} : { hint }) };
}

function searchBelow(
  { root, boundary, levels, deep }: Grounds,
  top: readonly Dirent[],
  scan: RootScan,
): void {
  let folders = 0;
  const visit = (entries: readonly Dirent[], prefix: string, depth: number): void => {
    for (const entry of entries.toSorted((a, b) => byteOrder(a.name, b.name))) {
      if (!entry.isDirectory() && !entry.isSymbolicLink()) continue;
      const within = prefix + entry.name;
      if (isIgnored(within, true, levels)) continue;
      if (deep && folders++ >= MAX_FOLDERS) return;
      const path = join(root, within);
      const inside = readFolder(path);
      if (inside === null) continue;
      const name = skillFileOf(inside);
      const target = entry.isSymbolicLink() ? outsideTarget(path, boundary) : null;
      if (name === null && depth === 1 && inside.some((entry) => entry.name === "tools.json")) {
        scan.diagnostics.push(toolsAlone(entry.name));
      } else if (name === null) {
        if (deep && depth < MAX_DEPTH && target === null) visit(inside, `${within}/`, depth + 1);
      }
      if (name === null) continue;
      const file = `${within}/${name}`;
      const folder = { root, path, name: entry.name, within, file, configured: hasConfig(inside) };
      if (target === null) scan.skills.push(folder);
      else scan.refused.push({ folder, diagnostic: linkOutside(folder, within, target) });
    }
  };
  visit(top, "", 1);
  if (folders <= MAX_FOLDERS) return;
  const message = `Skills were looked for in the first ${MAX_FOLDERS} folders of ${root} only.`;
  const hint = "Name a smaller folder, or list in .hullignore what holds no skills.";
  scan.diagnostics.push(ofRoot("warning", "root_too_large", message, hint));
}

/** What the tools of a typed skill are written in. Beside it no SKILL.md is needed: the build makes it. */
export const TYPED_FILE = "skill.ts";

function skillFileOf(entries: readonly Dirent[]): string | null {
  const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  return skillFileName(names) ?? (names.includes(TYPED_FILE) ? "SKILL.md" : null);
}

/** Skill Tools (skill-formats.md §3 L2) that nobody says what for. */
function toolsAlone(folder: string): Diagnostic {
  const message = `The folder ${folder} has a tools.json and no SKILL.md, so it is no skill.`;
  const hint = "Add a SKILL.md with name and description, or list the folder in .hullignore.";
  const code = { level: "error" as const, code: "skill_file_missing" };
  return { ...code, skill: folder, file: `${folder}/tools.json`, message, hint };
}

const hasConfig = (entries: readonly Dirent[]): boolean => entries.some(({ name }) => name === CONFIG_FILE);

/** All bundled files of a skill folder, with findings about links and special files. */
export function listFiles(
  folder: SkillFolder,
  grounds: Grounds,
): { files: FoundFile[]; diagnostics: Diagnostic[] } {
  const files: FoundFile[] = [];
  const diagnostics: Diagnostic[] = [];
  const { boundary } = grounds;
  const top = readFolder(folder.path) ?? [];
  const skillFile = basename(folder.file);
  const inFolder = [realPath(folder.path) ?? folder.path];
  const levels = ignoreLevels(folder, grounds, top);

  /** @param above the folders on the way here, itself last */
  const visit = (entries: readonly Dirent[], prefix: string, above: readonly string[]): void => {
    const absolute = above.at(-1) ?? folder.path;
    for (const entry of entries) {
      const path = prefix + entry.name;
      const full = join(absolute, entry.name);
      // Most entries are decided by their name alone, without following anything.
      if (isIgnored(path, entry.isDirectory(), levels)) continue;
      const link = entry.isSymbolicLink();
      // What a model is told comes out of the skill's own folder.
      const target = link ? outsideTarget(full, path === skillFile ? inFolder : boundary) : null;
      if (target !== null) {
        diagnostics.push(linkOutside(folder, withinRoot(folder, path), target));
        continue;
      }
      const stats = statOf(full);
      if (stats === null) {
        diagnostics.push(
          finding(
            folder,
            path,
            "error",
            "link_broken",
            `The link ${path} leads nowhere.`,
            "Remove it, or list it in .hullignore.",
          ),
        );
      } else if (stats.isDirectory()) {
        if (link && isIgnored(path, true, levels)) continue;
        const real = link ? realPath(full) : null;
        if (real !== null && above.some((path) => realPath(path) === real)) {
          diagnostics.push(
            finding(
              folder,
              path,
              "error",
              "link_loop",
              `The link ${path} leads to a folder that contains it.`,
              "Remove it, or list it in .hullignore.",
            ),
          );
        } else {
          visit(readFolder(full) ?? [], `${path}/`, [...above, full]);
        }
      } else if (!stats.isFile()) {
        diagnostics.push(
          finding(
            folder,
            path,
            "warning",
            "special_file",
            `${path} is not a regular file and is left out.`,
            "List it in .hullignore.",
          ),
        );
      } else if (/[\\\u0000-\u001f\u007f]/.test(entry.name)) {
        diagnostics.push(
          finding(
            folder,
            path,
            "error",
            "file_name",
            `The file name ${JSON.stringify(path)} contains a backslash or control characters.`,
            "Rename the file, or list it in .hullignore.",
          ),
        );
      } else {
        files.push({ path, absolute: full, stats });
      }
    }
  };
  visit(top, "", [folder.path]);
  files.sort((a, b) => byteOrder(a.path, b.path));
  if (folder.within === "") diagnostics.push(...nestedSkills(folder, files));
  return { files, diagnostics };
}

function nestedSkills(folder: SkillFolder, files: FoundFile[]): Diagnostic[] {
  return files
    .filter((file) => file.path.endsWith("/SKILL.md"))
    .map((file) => {
      const nested = file.path.slice(0, -"/SKILL.md".length);
      return finding(
        folder,
        file.path,
        "warning",
        "nested_skill",
        `The folder ${nested} has its own SKILL.md, but is not served: the root is itself a skill.`,
        "Move SKILL.md of the root into a sub-folder to serve both.",
      );
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

function withinRoot(folder: SkillFolder, path: string): string {
  return folder.within === "" ? path : `${folder.within}/${path}`;
}

function linkOutside(folder: SkillFolder, file: string, target: string): Diagnostic {
  return {
    level: "error",
    code: "link_outside",
    skill: folder.name,
    file,
    message: `The link ${file} leads to ${target}, outside the project or, for SKILL.md, the skill's folder.`,
    hint: "Copy what it leads to in its place, or list it in .hullignore.",
  };
}

/** Where a link leads when that is outside every folder of `boundary` (real paths), else `null`. */
function outsideTarget(link: string, boundary: readonly string[]): string | null {
  const target = realPath(link);
  if (target === null) return null;
  return boundary.some((base) => target === base || target.startsWith(base + sep)) ? null : target;
}

function ignoreLevels(
  folder: SkillFolder,
  { levels }: Grounds,
  entries: readonly Dirent[],
): readonly IgnoreLevel[] {
  if (folder.within === "") return levels;
  const below = levels.map(({ base, rules }) => ({
    base: base === "" ? folder.within : `${base}/${folder.within}`,
    rules,
  }));
  const own = entries.some(({ name }) => name === IGNORE_FILE);
  return own ? [...below, readIgnore(folder.path, "")] : below;
}

const IGNORE_FILE = ".hullignore";

function readIgnore(place: string, base: string): IgnoreLevel {
  return { base, rules: parseIgnore(orNull(() => readFileSync(join(place, IGNORE_FILE), "utf8")) ?? "") };
}

/** The entries of a folder, or `null` when there is no such folder. */
function readFolder(path: string): Dirent[] | null {
  return orNull(() => readdirSync(path, { withFileTypes: true }));
}

const realPath = (path: string): string | null => orNull(() => realpathSync.native(path));

const statOf = (path: string): Stats | null => orNull(() => statSync(path));

function orNull<T>(call: () => T): T | null {
  try {
    return call();
  } catch {
    return null;
  }
}
