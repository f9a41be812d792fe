/**
 * Finds skill folders, and never changes the source tree. The calls block: a folder of thousands of skills takes a tenth of
 * the time of as many asynchronous calls.
 */
import type { Dirent } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { unmarkedUtf8 } from "../../src/bytes.ts";
import { skillFileName } from "../../src/skill/file-text.ts";
import { type IgnoreLevel, isIgnored } from "../../src/skill/ignore.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { byteOrder } from "../../src/skill/path.ts";
import { slugify } from "../../src/skill/slug.ts";
import { CONFIG_FILE } from "../config.ts";
import {
  isWithin,
  orNull,
  outsideTarget,
  readFolder,
  readRegular,
  realPath,
  refusalOf,
} from "./file-system.ts";
import {
  folderUnreadable,
  IGNORE_FILE,
  isNotUtf8,
  linkOutside,
  nameNotUtf8,
  readIgnore,
} from "./list-files.ts";
import { type DeclaredPlugins, PLUGIN_FOLDER, pluginOf, readPlugins } from "./plugins.ts";
import { isState, type RootContext, type SkillFolder } from "./skill-folder.ts";

/** A root that does not exist. */
export class RootMissing extends Error {
  readonly root: string;

  constructor(root: string) {
    super(`There is no folder ${root}.`);
    this.name = "RootMissing";
    this.root = root;
  }
}

/** The most folders below a root that are searched for skills. */
const MAX_FOLDERS = 50_000;

export interface RootScan {
  skills: SkillFolder[];
  /** Folders whose link leaves the project, and those that may be skills and cannot be read. */
  refused: { folder: SkillFolder; diagnostic: Diagnostic }[];
  diagnostics: Diagnostic[];
}

/** Examines a root and its project: where links may lead, and the `.hullignore` of both. */
export function inspectRoot(root: string, project: string): RootContext {
  const boundary = [project, root].map((path) => realPath(path) ?? path);
  const levels: IgnoreLevel[] = [];
  for (const location of new Set([project, root])) {
    const base = relative(location, root).split(sep).join("/");
    if (!base.startsWith("..")) levels.push(readIgnore(location, base));
  }
  const declared: DeclaredPlugins[] = [];
  for (let above = dirname(root); isWithin(above, project) && isWithin(root, above); above = dirname(above)) {
    declared.unshift(readPlugins(above));
    if (above === project || above === dirname(above)) break;
  }
  return { root, boundary, levels, declared };
}

/**
 * The skills of a root, byte-sorted: each folder with SKILL.md, itself included, that is not inside another skill, or
 * that a plugin declares although it is. Throws `RootMissing`, and the system's error for a root that cannot be read.
 */
export function findSkills(rootContext: RootContext): RootScan {
  const { root } = rootContext;
  const entries = readFolder(root);
  if (entries === null) throw refusalOf(root) ?? new RootMissing(root);
  const scan: RootScan = { skills: [], refused: [], diagnostics: [] };
  search(rootContext, entries, scan);
  if (scan.skills.length === 0 && scan.refused.length === 0) {
    const message = `The folder ${root} holds no skill: no folder in it has a SKILL.md.`;
    scan.diagnostics.push(ofRoot("warning", "no_skills", message, whereElse(root, rootContext.boundary)));
  }
  return scan;
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

/** The diagnostic for a missing root if there are others. */
export function rootMissing(root: string): Diagnostic {
  return ofRoot("warning", "root_missing", `There is no folder ${root}; the other roots are served.`);
}

/** The diagnostic for a project whose only configuration is a harn.toml. */
export function harnToml(file: string): Diagnostic {
  const message = "Hull does not read harn.toml, so nothing in it has an effect.";
  const hint = "Put its [llm] and [[capabilities…]] tables into a hull.toml.";
  return { ...ofRoot("warning", "harn_toml", message, hint), file };
}

function ofRoot(level: Diagnostic["level"], code: string, message: string, hint?: string): Diagnostic {
  return { level, code, skill: "", file: ".", message, ...(hint === undefined ? {} : { hint }) };
}

/** A skill in which only the folders that plugins declare are searched. */
interface Around {
  path: string;
  /** Absolute path of its SKILL.md. */
  text: string;
  places: readonly string[];
  /** Folders with skills, relative to it. */
  apart: string[];
}

function search(
  { root, boundary, levels, declared: above }: RootContext,
  top: readonly Dirent[],
  scan: RootScan,
): void {
  let folders = 0;
  const declared = [...above];
  const places = above.flatMap(placesOf);
  /** Folders whose plugins cannot be read: these may declare skills in any folder below. */
  const unsure = above.flatMap(basesOf);
  const isUnsure = (path: string): boolean => unsure.some((base) => isWithin(path, base));
  const found: SkillFolder[] = [];
  /** Targets of links in the root. */
  const linked: SkillFolder[] = [];
  const notePlugins = (entries: readonly Dirent[], within: string): void => {
    if (!entries.some(({ name }) => name === PLUGIN_FOLDER)) return;
    const here = readPlugins(join(root, within));
    declared.push(here);
    places.push(...placesOf(here));
    unsure.push(...basesOf(here));
  };
  const locations = [realPath(root) ?? root];
  /** Whether a link leads to a folder that is not searched otherwise. */
  const isNew = (link: string): boolean => {
    const real = realPath(link);
    if (real === null || locations.some((location) => isWithin(real, location) || isWithin(location, real)))
      return false;
    locations.push(real);
    return true;
  };
  /** What plugins declare inside a skill. */
  const placesIn = (path: string): string[] =>
    places.filter((place) => place !== path && isWithin(place, path));
  /** Whether a folder with SKILL.md is a skill of its own; notes it in the skill around it. */
  const isOwn = (path: string, name: string, around: Around | null): boolean => {
    if (around === null) return true;
    if (!around.places.some((place) => isWithin(path, place))) return false;
    const text = realPath(join(path, name));
    // A link to the text of the skill around it makes no second skill.
    if (text !== null && text === realPath(around.text)) return false;
    around.apart.push(relative(around.path, path).split(sep).join("/"));
    return true;
  };
  const visit = (
    entries: readonly Dirent[],
    prefix: string,
    depth: number,
    nested: readonly { prefix: string; level: IgnoreLevel }[],
    around: Around | null,
  ): void => {
    const isLeftOut = (within: string): boolean =>
      isIgnored(within, true, levels) ||
      nested.some(({ prefix, level }) => isIgnored(within.slice(prefix.length), true, [level]));
    for (const entry of entries.toSorted((a, b) => byteOrder(a.name, b.name))) {
      if (!entry.isDirectory() && !entry.isSymbolicLink()) continue;
      const within = prefix + entry.name;
      if (entry.name === PLUGIN_FOLDER || isLeftOut(within)) continue;
      const path = join(root, within);
      const leads = around?.places.some((place) => isWithin(path, place) || isWithin(place, path)) ?? true;
      if (!leads && !isUnsure(path)) continue;
      if (folders++ >= MAX_FOLDERS) return;
      const inside = readFolder(path);
      if (inside === null) {
        // What is wrong with it shows among the files of the skill around it.
        if (around !== null) continue;
        const folder = {
          root,
          path,
          name: entry.name,
          within,
          file: `${within}/SKILL.md`,
          configured: false,
        };
        for (const diagnostic of folderUnreadable(folder, within, path))
          scan.refused.push({ folder, diagnostic });
        if (isNotUtf8(path)) scan.diagnostics.push(nameNotUtf8(entry.name, within));
        continue;
      }
      if (isState(inside)) continue;
      const name = skillFileOf(inside);
      const link = entry.isSymbolicLink();
      const target = link ? outsideTarget(path, boundary) : null;
      if (name === null) {
        if (depth === 1 && around === null && inside.some((entry) => entry.name === "tools.json"))
          scan.diagnostics.push(toolsAlone(entry.name));
        // Links into the root are found at their targets, and nothing outside of the project is searched.
        if (link && (target !== null || !isNew(path))) continue;
      }
      notePlugins(inside, within);
      let inner = around;
      if (name !== null) {
        const file = `${within}/${name}`;
        const apart: string[] = [];
        const folder = { root, path, name: entry.name, within, file, configured: hasConfig(inside), apart };
        if (around === null && target !== null)
          scan.refused.push({ folder, diagnostic: linkOutside(folder, within, target) });
        const own = target === null && isOwn(path, name, around);
        if (own) (link ? linked : found).push(folder);
        else if (around !== null && !link && isUnsure(path))
          scan.refused.push({ folder, diagnostic: perhapsDeclared(folder) });
        const below = placesIn(path);
        if (link || (below.length === 0 && !isUnsure(path))) continue;
        const outer = own || around === null ? { path, text: join(path, name), apart } : around;
        inner = { ...outer, places: below };
      }
      const ignores = inside.some(({ name }) => name === IGNORE_FILE);
      const own = ignores ? [{ prefix: `${within}/`, level: readIgnore(path, "") }] : [];
      visit(inside, `${within}/`, depth + 1, [...nested, ...own], inner);
    }
  };
  notePlugins(top, "");
  const file = skillFileOf(top);
  let around: Around | null = null;
  if (file !== null && !isSkillRoot(root)) scan.diagnostics.push(describes(file));
  else if (file !== null) {
    const apart: string[] = [];
    const configured = hasConfig(top);
    found.push({ root, path: root, name: basename(root), within: "", file, configured, apart });
    around = { path: root, text: join(root, file), places: placesIn(root), apart };
  }
  visit(top, "", 1, [], around);
  const own = new Set(linked.length === 0 ? [] : found.map(({ path }) => realPath(path)));
  const others = linked.filter(({ path }) => !own.has(realPath(path)));
  scan.skills = [...found, ...others]
    .sort((a, b) => byteOrder(a.within, b.within))
    .map((folder) => placed(folder, declared));
  scan.diagnostics.push(...unreadable(root, declared));
  if (folders <= MAX_FOLDERS) return;
  const message = `Hull looked for skills in the first ${MAX_FOLDERS} folders of ${root} only.`;
  const hint = "Name a smaller folder, or list in .hullignore what holds no skills.";
  scan.diagnostics.push(ofRoot("warning", "root_too_large", message, hint));
}

/** The folders whose plugins cannot be read. */
const basesOf = ({ unreadable: files }: DeclaredPlugins) => files.map((file) => dirname(dirname(file)));

const placesOf = ({ plugins }: DeclaredPlugins): string[] => plugins.flatMap(({ places }) => places);

function unreadable(root: string, declared: readonly DeclaredPlugins[]): Diagnostic[] {
  const files = declared.flatMap(({ unreadable }) => unreadable);
  return files.map((file) => ({
    level: "warning",
    code: "plugin_file",
    skill: "",
    file: relative(root, file).split(sep).join("/"),
    message: `${PLUGIN_FOLDER}/${basename(file)} cannot be read, so Hull knows nothing of its plugins.`,
    hint: PLUGIN_HINT,
  }));
}

/** A skill inside another one, which a file that cannot be read may declare. */
const perhapsDeclared = ({ name, file }: SkillFolder): Diagnostic => ({
  level: "error",
  code: "plugin_file",
  skill: name,
  file,
  message: `A file in ${PLUGIN_FOLDER} cannot be read, so Hull does not know whether ${file} is a skill of its own.`,
  hint: PLUGIN_HINT,
});

const PLUGIN_HINT = "Write JSON with a name, as the plugin's own client reads it, or remove the file.";

/** Folders that structure a collection, but do not name the author of their skills. */
const LAYOUT = new Set(
  "skills skill plugins packages src agents claude codex cursor gemini github opencode".split(" "),
);

/** The folders that lead to a folder, without those that only structure a collection, as a part of a slug. */
const foldersAbove = (path: string): string =>
  path
    .split(/[/\\]/)
    .slice(0, -1)
    .map(slugify)
    .filter((name) => name !== "" && !LAYOUT.has(name))
    .join("-");

/**
 * The folder with its plugin and its namespace: the plugin's name, or its folder's if no slug follows from that; without a
 * plugin the folders between the root and itself.
 */
function placed(folder: SkillFolder, declared: readonly DeclaredPlugins[]): SkillFolder {
  const plugin = pluginOf(
    folder.path,
    declared.flatMap(({ plugins }) => plugins),
  );
  const hidden = declared.some((each) => basesOf(each).some((base) => isWithin(folder.path, base)));
  const namespace =
    plugin === null ? foldersAbove(folder.within) : slugify(plugin.name) || slugify(basename(plugin.path));
  const inPlugin = plugin?.skills === null ? relative(plugin.path, folder.path) : "";
  const pluginFolders = inPlugin.split(sep, 1)[0] === "skills" ? "" : foldersAbove(inPlugin);
  return {
    ...folder,
    ...(plugin === null ? {} : { plugin }),
    ...(plugin === null && hidden ? { pluginUnreadable: true } : {}),
    ...(namespace === "" ? {} : { namespace }),
    ...(pluginFolders === "" ? {} : { pluginFolders }),
  };
}

/** Other places in the project with skills, for a hint. */
function whereElse(root: string, [project = root]: readonly string[]): string {
  const locations = new Set<string>();
  let folders = 0;
  const visit = (path: string): void => {
    if (folders++ >= MAX_FOLDERS || locations.size >= MAX_NAMED) return;
    const entries = readFolder(path) ?? [];
    if (isState(entries)) return;
    if (path !== project && skillFileOf(entries) !== null) {
      locations.add(dirname(path));
      return;
    }
    for (const entry of entries) {
      if (entry.isDirectory() && entry.name !== ".git" && entry.name !== ".hull")
        visit(join(path, entry.name));
    }
  };
  visit(project);
  const hint = "Make one with: hull new hello -l bash";
  return locations.size === 0
    ? hint
    : `There are skills in ${[...locations].join(", ")}: name one of these folders.`;
}

/** The most folders with skills in a hint. */
const MAX_NAMED = 5;

/** The file with the tools of a typed skill. It needs no SKILL.md: the build makes one. */
export const TYPED_FILE = "skill.ts";

function skillFileOf(entries: readonly Dirent[]): string | null {
  const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  return skillFileName(names) ?? (names.includes(TYPED_FILE) ? "SKILL.md" : null);
}

/** A finding about a root's SKILL.md that is no skill. */
function describes(file: string): Diagnostic {
  const message = `The ${file} of the root has no frontmatter, so it is no skill; Hull serves the skills in the folders below.`;
  const hint =
    "Give it a name and a description in frontmatter to make the root one skill, or rename it to README.md.";
  return { level: "warning", code: "frontmatter_missing", skill: "", file, message, hint };
}

/** A finding about Skill Tools without a SKILL.md. */
function toolsAlone(folder: string): Diagnostic {
  const message = `The folder ${folder} has a tools.json and no SKILL.md, so it is not a skill.`;
  const hint = "Add a SKILL.md with name and description, or list the folder in .hullignore.";
  const code = { level: "error" as const, code: "skill_file_missing" };
  return { ...code, skill: folder, file: `${folder}/tools.json`, message, hint };
}

const hasConfig = (entries: readonly Dirent[]): boolean => entries.some(({ name }) => name === CONFIG_FILE);
