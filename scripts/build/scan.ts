/**
 * Finds skill folders, and never changes the source tree. The calls block: a folder of thousands of skills takes a tenth of
 * the time of as many asynchronous calls.
 */
import type { Dirent } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { type IgnoreLevel, isIgnored } from "../../src/skill/ignore.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { byteOrder } from "../../src/skill/path.ts";
import { CommandError, EXIT } from "../command.ts";
import { CONFIG_FILE } from "../config.ts";
import { faultIn } from "../position-in.ts";
import { isWithin, outsideTarget, readFolder, realPath, refusalOf } from "./file-system.ts";
import { isSkillRoot, skillFileOf } from "./is-skill.ts";
import {
  folderUnreadable,
  IGNORE_FILE,
  isNotUtf8,
  linkOutside,
  nameNotUtf8,
  readIgnore,
} from "./list-files.ts";
import { placed } from "./namespace.ts";
import { type DeclaredPlugins, PLUGIN_FOLDER, readPlugins, type Single, unreadableIn } from "./plugins.ts";
import { agentName, isChosen, SinglePlaces, singleName, wantedKinds } from "./singles.ts";
import { isState, type RootContext, type SingleChoices, type SkillFolder } from "./skill-folder.ts";

/** The most folders below a root that are searched for skills. */
const MAX_FOLDERS = 50_000;

export interface RootScan {
  skills: SkillFolder[];
  /** Folders whose link leaves the project, and those that may be skills and cannot be read. */
  refused: { folder: SkillFolder; diagnostic: Diagnostic }[];
  diagnostics: Diagnostic[];
}

/** Examines a root and its project: where links may lead, and the `.hullignore` of both. */
export function inspectRoot(root: string, project: string, singles: SingleChoices = {}): RootContext {
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
  return { root, boundary, levels, declared, singles };
}

/**
 * The skills of a root, byte-sorted: each folder with SKILL.md, itself included, that is not inside another skill, or
 * that a plugin declares although it is; then the wanted commands and agents. Throws `CommandError` (exit 3) for a
 * missing root, and the system's error for one that cannot be read.
 */
export function findSkills(rootContext: RootContext): RootScan {
  const { root } = rootContext;
  const entries = readFolder(root);
  if (entries === null) {
    const message = `There is no folder ${root}.`;
    const hint = "Make a project with: hull init";
    throw refusalOf(root) ?? new CommandError(EXIT.missing, "folder_missing", message, hint);
  }
  const scan = new Search(rootContext).run(entries);
  if (scan.skills.length === 0 && scan.refused.length === 0) {
    const message = `The folder ${root} holds no skill: no folder in it has a SKILL.md.`;
    scan.diagnostics.push(ofRoot("warning", "no_skills", message, whereElse(root, rootContext.boundary)));
  }
  return scan;
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

/** A folder whose entries are searched. */
interface Searched {
  /** From the root to it; ends with a slash unless it is empty. */
  prefix: string;
  /** 1: the root itself. */
  depth: number;
  /** The ignore files between the root and its entries. */
  ignores: readonly { prefix: string; level: IgnoreLevel }[];
  around: Around | null;
}

/** A folder that may be a skill, with the entries in it. */
interface Candidate {
  path: string;
  name: string;
  /** From the root to it. */
  within: string;
  entries: readonly Dirent[];
  isLink: boolean;
  /** Where its link leads, if that is outside the project. */
  target: string | null;
}

/** Whether it is in a folder of a tool, such as `.claude`. Of two skills with one slug, such a copy is the one left out. */
const isHidden = ({ within }: SkillFolder): boolean => /(?:^|\/)\./.test(within);

/** One search through the folders of a root. */
class Search {
  readonly #context: RootContext;
  readonly #declared: DeclaredPlugins[] = [];
  /** Folders in which plugins have skills. */
  readonly #places: string[] = [];
  /** Folders whose plugins cannot be read: these may declare skills in any folder below. */
  readonly #unsure: string[] = [];
  readonly #found: SkillFolder[] = [];
  /** Targets of links in the root. */
  readonly #linked: SkillFolder[] = [];
  readonly #singles: SkillFolder[] = [];
  /** The places of the commands and agents that the project serves. */
  readonly #singlePlaces: ReadonlyMap<Single, SinglePlaces>;
  readonly #refused: RootScan["refused"] = [];
  readonly #diagnostics: Diagnostic[] = [];
  /** Real paths of the root, and of the folders that links added to the search. */
  readonly #locations: string[];
  #folders = 0;

  constructor(context: RootContext) {
    this.#context = context;
    this.#locations = [realPath(context.root) ?? context.root];
    this.#singlePlaces = new Map(wantedKinds(context.singles).map((kind) => [kind, new SinglePlaces(kind)]));
    for (const declared of context.declared) this.#addPlugins(declared);
  }

  run(top: readonly Dirent[]): RootScan {
    const { root } = this.#context;
    this.#notePlugins(root, top);
    this.#visit(top, { prefix: "", depth: 1, ignores: [], around: this.#rootAsSkill(top) });
    this.#diagnostics.push(...unreadable(root, this.#declared));
    if (this.#folders > MAX_FOLDERS) this.#diagnostics.push(tooLarge(root));
    const own = new Set(this.#linked.length === 0 ? [] : this.#found.map(({ path }) => realPath(path)));
    const others = this.#linked.filter(({ path }) => !own.has(realPath(path)));
    const ordered = (folders: SkillFolder[]): SkillFolder[] =>
      folders
        .sort((a, b) => Number(isHidden(a)) - Number(isHidden(b)) || byteOrder(a.within, b.within))
        .map((folder) => placed(folder, this.#declared));
    const { singles } = this.#context;
    const chosen = ordered(this.#singles).filter((folder) => isChosen(singles, folder));
    const skills = [...ordered([...this.#found, ...others]), ...chosen];
    return { skills, refused: this.#refused, diagnostics: this.#diagnostics };
  }

  /** The root, if it is a skill itself. */
  #rootAsSkill(top: readonly Dirent[]): Around | null {
    const { root } = this.#context;
    const file = skillFileOf(top);
    if (file === null) return null;
    if (!isSkillRoot(root)) {
      this.#diagnostics.push(describes(file));
      return null;
    }
    const apart: string[] = [];
    const configured = hasConfig(top);
    this.#found.push({ root, path: root, name: basename(root), within: "", file, configured, apart });
    return { path: root, text: join(root, file), places: this.#placesIn(root), apart };
  }

  #visit(entries: readonly Dirent[], here: Searched): void {
    if (this.#singlePlaces.size > 0) this.#noteSingles(entries, here);
    for (const entry of entries.toSorted((a, b) => byteOrder(a.name, b.name))) {
      if (!this.#isSearched(entry, here)) continue;
      if (this.#folders++ >= MAX_FOLDERS) return;
      this.#enter(entry, here);
    }
  }

  /** Adds the commands and agents among the files of a folder. */
  #noteSingles(entries: readonly Dirent[], here: Searched): void {
    const { root } = this.#context;
    for (const entry of entries) {
      const ofFile = entry.isDirectory() ? null : singleName(entry.name);
      if (ofFile === null) continue;
      const file = here.prefix + entry.name;
      const path = join(root, file);
      const [single] = Array.from(this.#singlePlaces).find(([, places]) => places.holds(path)) ?? [];
      if (single === undefined || this.#isIgnored(file, false, here)) continue;
      const name = single === "agents" ? agentName(path, ofFile) : ofFile;
      if (name !== null)
        this.#singles.push({ root, path, name, within: file, file, configured: false, single });
    }
  }

  #isIgnored(within: string, isFolder: boolean, { ignores }: Searched): boolean {
    return (
      isIgnored(within, isFolder, this.#context.levels) ||
      ignores.some(({ prefix, level }) => isIgnored(within.slice(prefix.length), isFolder, [level]))
    );
  }

  #isSearched(entry: Dirent, here: Searched): boolean {
    const { prefix, around } = here;
    if (!entry.isDirectory() && !entry.isSymbolicLink()) return false;
    const within = prefix + entry.name;
    if (entry.name === PLUGIN_FOLDER || this.#isIgnored(within, true, here)) return false;
    if (around === null) return true;
    const path = join(this.#context.root, within);
    const leads = around.places.some((place) => isWithin(path, place) || isWithin(place, path));
    return leads || this.#isUnsure(path);
  }

  #enter(entry: Dirent, here: Searched): void {
    const { name } = entry;
    const within = here.prefix + name;
    const path = join(this.#context.root, within);
    const entries = readFolder(path);
    if (entries === null) {
      // What is wrong with it shows among the files of the skill around it.
      if (here.around === null) this.#refuseUnreadable(path, name, within);
      return;
    }
    if (isState(entries)) return;
    const isLink = entry.isSymbolicLink();
    const target = isLink ? outsideTarget(path, this.#context.boundary) : null;
    const folder = { path, name, within, entries, isLink, target };
    const file = skillFileOf(entries);
    if (file === null) this.#enterPlain(folder, here);
    else this.#enterSkill(folder, file, here);
  }

  #enterPlain(folder: Candidate, here: Searched): void {
    const { path, name, entries, isLink, target } = folder;
    if (here.depth === 1 && here.around === null && entries.some((entry) => entry.name === "tools.json"))
      this.#diagnostics.push(toolsAlone(name));
    // Links into the root are found at their targets, and nothing outside of the project is searched.
    if (isLink && (target !== null || !this.#isNew(path))) return;
    this.#notePlugins(path, entries);
    this.#visit(entries, below(folder, here, here.around));
  }

  #enterSkill(candidate: Candidate, file: string, here: Searched): void {
    const { path, name, within, entries, isLink, target } = candidate;
    const { around } = here;
    this.#notePlugins(path, entries);
    const apart: string[] = [];
    const folder = {
      root: this.#context.root,
      path,
      name,
      within,
      file: `${within}/${file}`,
      configured: hasConfig(entries),
      apart,
    };
    const text = join(path, file);
    const isOwn = target === null && (around === null || isApart(path, text, around));
    if (isOwn) {
      (isLink ? this.#linked : this.#found).push(folder);
      around?.apart.push(relative(around.path, path).split(sep).join("/"));
    } else if (target !== null && around === null) {
      this.#refused.push({ folder, diagnostic: linkOutside(folder, within, target) });
    } else if (!isLink && this.#isUnsure(path)) {
      this.#refused.push({ folder, diagnostic: perhapsDeclared(folder) });
    }
    const places = this.#placesIn(path);
    if (isLink || (places.length === 0 && !this.#isUnsure(path))) return;
    const outer = isOwn || around === null ? { path, text, apart } : around;
    this.#visit(entries, below(candidate, here, { ...outer, places }));
  }

  #refuseUnreadable(path: string, name: string, within: string): void {
    const { root } = this.#context;
    const folder = { root, path, name, within, file: `${within}/SKILL.md`, configured: false };
    for (const diagnostic of folderUnreadable(folder, within, path))
      this.#refused.push({ folder, diagnostic });
    if (isNotUtf8(path)) this.#diagnostics.push(nameNotUtf8(name, within));
  }

  #notePlugins(path: string, entries: readonly Dirent[]): void {
    if (entries.some(({ name }) => name === PLUGIN_FOLDER)) this.#addPlugins(readPlugins(path));
  }

  #addPlugins(declared: DeclaredPlugins): void {
    this.#declared.push(declared);
    this.#places.push(...declared.plugins.flatMap(({ places }) => places));
    for (const places of this.#singlePlaces.values())
      this.#places.push(...declared.plugins.flatMap((plugin) => places.add(plugin)));
    this.#unsure.push(...unreadableIn(declared));
  }

  #isUnsure(path: string): boolean {
    return this.#unsure.some((base) => isWithin(path, base));
  }

  /** What plugins declare inside a skill. */
  #placesIn(path: string): string[] {
    return this.#places.filter((place) => place !== path && isWithin(place, path));
  }

  /** Whether a link leads to a folder that is not searched otherwise. */
  #isNew(link: string): boolean {
    const real = realPath(link);
    if (real === null) return false;
    if (this.#locations.some((location) => isWithin(real, location) || isWithin(location, real)))
      return false;
    this.#locations.push(real);
    return true;
  }
}

/** Whether a folder in a skill is a skill of its own, because a plugin declares it. @param text of its SKILL.md */
function isApart(path: string, text: string, around: Around): boolean {
  if (!around.places.some((place) => isWithin(path, place))) return false;
  const real = realPath(text);
  // A link to the text of the skill around it makes no second skill.
  return real === null || real !== realPath(around.text);
}

/** A folder whose entries are searched next. */
function below({ path, within, entries }: Candidate, here: Searched, around: Around | null): Searched {
  const prefix = `${within}/`;
  const ignores = entries.some(({ name }) => name === IGNORE_FILE);
  const own = ignores ? [{ prefix, level: readIgnore(path, "") }] : [];
  return { prefix, depth: here.depth + 1, ignores: [...here.ignores, ...own], around };
}

function unreadable(root: string, declared: readonly DeclaredPlugins[]): Diagnostic[] {
  const files = declared.flatMap(({ unreadable }) => unreadable);
  return files.map((file) => ({
    level: "warning",
    code: "plugin_file",
    skill: "",
    file: relative(root, file).split(sep).join("/"),
    ...faultIn(file),
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

/** A finding about a root's SKILL.md that is no skill. */
function describes(file: string): Diagnostic {
  const message = `The ${file} of the root has no frontmatter, so it is no skill; Hull serves the skills in the folders below.`;
  const hint =
    "Give it a name and a description in frontmatter to make the root one skill, or rename it to README.md.";
  return { level: "warning", code: "frontmatter_missing", skill: "", file, message, hint };
}

/** A finding about a root of which only a part was searched. */
function tooLarge(root: string): Diagnostic {
  const message = `Hull looked for skills in the first ${MAX_FOLDERS} folders of ${root} only.`;
  const hint = "Name a smaller folder, or list in .hullignore what holds no skills.";
  return ofRoot("warning", "root_too_large", message, hint);
}

/** A finding about Skill Tools without a SKILL.md. */
function toolsAlone(folder: string): Diagnostic {
  const message = `The folder ${folder} has a tools.json and no SKILL.md, so it is not a skill.`;
  const hint = "Add a SKILL.md with name and description, or list the folder in .hullignore.";
  const code = { level: "error" as const, code: "skill_file_missing" };
  return { ...code, skill: folder, file: `${folder}/tools.json`, message, hint };
}

const hasConfig = (entries: readonly Dirent[]): boolean => entries.some(({ name }) => name === CONFIG_FILE);
