/** Builds all skills of some folders into bundles and a catalog. */
import { createHash } from "node:crypto";
import { basename, dirname, join, relative, sep } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Layer } from "../../src/model/registry/layer.ts";
import { lastRetirement } from "../../src/model/registry/retirements.ts";
import { withoutFolder } from "../../src/skill/assemble.ts";
import { blocksServing } from "../../src/skill/blocking-findings.ts";
import { type CatalogBundle, claimAddress, makeCatalog } from "../../src/skill/bundle.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { RouteTable } from "../../src/skill/route.ts";
import { overridesOf } from "../../src/skill/tools-json/overrides.ts";
import { NO_SIGNATURES } from "../../src/skill/trust.ts";
import { workflowNamed } from "../../src/skill/workflow-files.ts";
import { workflowPart } from "../../src/skill/working-parts.ts";
import { CONFIG_FILE, type HullConfig } from "../config.ts";
import { positionIn, positionInFile } from "../position-in.ts";
import type { BuildCache } from "./cache.ts";
import { isWithin, statOf } from "./file-system.ts";
import { isSkill } from "./is-skill.ts";
import { listFiles } from "./list-files.ts";
import { mapLimited } from "./map-limited.ts";
import { openapiOf } from "./openapi.ts";
import { layersOf, type Packages, readPackages } from "./packages.ts";
import { pluginFindings } from "./plugin-findings.ts";
import { type RootedDiagnostic, scanRoots } from "./roots.ts";
import type { RootScan } from "./scan.ts";
import { layerFindings, settingFindings } from "./setting-findings.ts";
import { PluginFolders } from "./shared-folder.ts";
import { wordFor } from "./singles.ts";
import {
  type BuiltSkill,
  type Models,
  modelsOf,
  nodeHash,
  type Outcome,
  type ProjectTerms,
  type ReadAgain,
  readAgain,
  readSkill,
  without,
} from "./skill.ts";
import type { FoundFile, RootContext, SingleChoices, SkillFolder } from "./skill-folder.ts";

/** The most folders to examine in one step. */
const BLOCK = 64;

export interface BuildOptions extends SingleChoices {
  /** Links may lead anywhere inside it; its `.hullignore` counts. */
  projectDir: string;
  /** What the project says of all its skills. Absent: nothing. */
  terms?: ProjectTerms;
  /** hull.toml, and whether these are all roots of its project. Absent: nobody wants findings about it. */
  settings?: { config: HullConfig; whole: boolean };
  /** Skips skills whose files did not change since the last build with the same cache. */
  cache?: BuildCache;
  /** Leaves broken skills out; otherwise they prevent a catalog. */
  keepGoing?: boolean;
  /** Warnings are errors, and errors of tools.json prevent a catalog like all others. */
  strict?: boolean;
  /**
   * As `keepGoing`, but a skill that breaks, or loses a tool, a workflow or its plugin to a fault, keeps its version from
   * `previous`, with the card flag `stale`.
   */
  keepLastGood?: boolean;
  /** Only the skills and their findings are wanted; the build makes no catalog, and keeps no bytes of skills. */
  skillsOnly?: boolean;
  /** Called with the number of folders to build. */
  onScan?: ((folders: number) => void) | undefined;
  /** Skills of an earlier build by absolute folder. */
  previous?: ReadonlyMap<string, BuiltSkill>;
}

export interface BuildResult {
  /** In catalog order (slug). */
  skills: BuiltSkill[];
  /** `null` if an error prevents the catalog, or it was not wanted. */
  catalog: CatalogBundle | null;
  diagnostics: RootedDiagnostic[];
  /** The models that the served skills' folders add to those of the deployment. */
  packages: readonly Layer[];
  /** Absolute paths of files outside their root that skills import, without those of installed packages. */
  imported: string[];
}

/**
 * How many bytes of skills a build keeps until somebody publishes them. It reads those of further skills again then, so
 * that a large collection does not fill the memory.
 */
const MOST_KEPT_BYTES = 32 * 1024 * 1024;

/** Most findings that a catalog has of a broken folder. */
const MAX_FAULTS = 20;

/** What a skill is checked against in addition to its own files. */
interface Surroundings {
  models: Models;
  packages: Packages;
  /** A text that changes with any of the terms from which `models` follow. */
  fingerprint: string;
  /** How many more bytes of skills to keep, and those that are kept. */
  room: { bytes: number; kept: Set<Uint8Array> };
  plugins: PluginFolders;
}

/**
 * Builds every skill of the roots; a skill of a later root replaces one of an earlier root with the same slug. Reports
 * all problems together. Skips missing roots if there are several; throws `CommandError` (exit 3) if the only one is
 * missing.
 */
export async function buildRoots(roots: readonly string[], options: BuildOptions): Promise<BuildResult> {
  if (options.cache !== undefined) options.cache.rebuilt = 0;
  const built: { outcomes: Outcome[]; build: (folder: SkillFolder) => Promise<Outcome> }[] = [];
  const { scans, diagnostics } = scanRoots(roots, options.projectDir, options);
  options.onScan?.(scans.reduce((sum, { scan }) => sum + scan.skills.length, 0));
  const surroundings = surroundingsOf(
    scans.flatMap(({ scan }) => scan.skills),
    options,
  );
  for (const { root, rootContext, scan } of scans) {
    const build = (folder: SkillFolder) => buildFolder(folder, rootContext, surroundings, options);
    const outcomes = await mapLimited(scan.skills, async (folder, i) => {
      // Reading a folder blocks, so the build lets other work of this process run now and then.
      if (i % BLOCK === 0) await setImmediate();
      return build(folder);
    });
    for (const { folder, diagnostic } of scan.refused) {
      outcomes.push(without(folder, [diagnostic]));
    }
    outcomes.push(...vanished(root, scan, outcomes, options));
    diagnostics.push(...scan.diagnostics.map((diagnostic) => ({ root, diagnostic })));
    built.push({ outcomes, build });
  }
  const perRoot = await Promise.all(
    built.map(({ outcomes, build }) => {
      const elsewhere = built.flatMap((each) => (each.outcomes === outcomes ? [] : each.outcomes));
      return withNamespaces(outcomes, elsewhere, options, build);
    }),
  );
  const all = perRoot.flat();
  options.cache?.keep([...scans.flatMap(({ scan }) => scan.skills), ...all.map(({ folder }) => folder)]);
  diagnostics.push(
    ...all.flatMap((o) => o.diagnostics.map((diagnostic) => ({ root: o.folder.root, diagnostic }))),
  );
  const served = chooseServed(perRoot, options, diagnostics);
  const { provided } = surroundings.models.terms;
  if (provided !== undefined) {
    const models = all.flatMap(({ folder, skill }) => (skill?.manifest.llm === undefined ? [] : [folder]));
    diagnostics.push(...pluginFindings(models, provided.mcp_servers, options));
  }
  diagnostics.push(...foundInSettings(served, all, surroundings, options));
  const { strict = false } = options;
  const failed = diagnostics.some(({ diagnostic }) =>
    strict ? diagnostic.level !== "info" : blocksServing(diagnostic),
  );
  const publishable =
    options.skillsOnly !== true && (!failed || options.keepGoing === true || options.keepLastGood === true);
  const cards = served.map((skill) => skill.card);
  const manifests = served.map((skill) => skill.manifest);
  const overrides = overridesOf(served.map(({ card, tools }) => ({ slug: card.slug, tools })));
  const stale = new Set(cards.flatMap((card) => (card.stale === true ? [card.slug] : [])));
  const catalog = publishable
    ? await makeCatalog(cards, await openapiOf(manifests, stale), manifests, nodeHash, {
        overrides,
        faults: faultsOf(served),
      })
    : null;
  served.sort((a, b) => (a.card.slug < b.card.slug ? -1 : 1));
  const folders = served.map(({ folder }) => folder);
  const packages = layersOf(surroundings.packages, folders);
  return { skills: served, catalog, diagnostics, packages, imported: importedFiles(all) };
}

/** What is wrong with hull.toml, and with those of skill folders. */
function foundInSettings(
  served: readonly BuiltSkill[],
  all: readonly Outcome[],
  { models: { terms, modelRegistry: registry }, packages }: Surroundings,
  { settings, projectDir }: BuildOptions,
): RootedDiagnostic[] {
  if (settings === undefined) return [];
  const { file: providers, text = "", in_kv } = terms.models;
  const known = { registry, retired: terms.retired, all: in_kv !== true };
  const broken = all.flatMap(({ skill, folder }) => (skill === null ? [folder.name] : []));
  const placeOf = (path: string) => positionIn("providers.toml", text, path);
  const file = layerFindings(providers, "HULL_PROVIDERS_CONFIG", "", { ...known, placeOf });
  const placeIn = (folder: string) => (path: string) => positionInFile(join(folder, CONFIG_FILE), path);
  const singles = all.flatMap(({ folder }) => (folder.single === undefined ? [] : [folder]));
  const ofProject = { ...known, broken, singles, whole: settings.whole, placeOf: placeIn(projectDir) };
  const found = [...settingFindings(settings.config, served, ofProject), ...file];
  return [
    ...found.map((diagnostic) => ({ root: projectDir, diagnostic })),
    ...all.flatMap(({ folder }) => {
      const layer = packages.layers.get(folder.path);
      const path = folder.within === "" ? CONFIG_FILE : `${folder.within}/${CONFIG_FILE}`;
      const around = { ...known, placeOf: placeIn(folder.path) };
      const list = layer === undefined ? [] : layerFindings(layer, path, "llm.", around);
      return list.map((diagnostic) => ({
        root: folder.root,
        diagnostic: { ...diagnostic, skill: folder.name },
      }));
    }),
  ];
}

/** An import with a syntax error is known only from its finding. */
function importedFiles(outcomes: readonly Outcome[]): string[] {
  const all = outcomes.flatMap(({ imported, diagnostics, folder: { root } }) => {
    const paths = [...(imported ?? []), ...diagnostics.map(({ file }) => join(root, file))];
    return paths.filter((path) => !isWithin(path, root));
  });
  return [...new Set(all)].filter((path) => !path.split(sep).includes("node_modules"));
}

function surroundingsOf(
  folders: readonly SkillFolder[],
  { projectDir, terms: given = NO_TERMS, skillsOnly }: BuildOptions,
): Surroundings {
  const packages = readPackages(folders, projectDir, given.models);
  const layers = layersOf(
    packages,
    folders.map(({ path }) => path),
  );
  const retired = lastRetirement(new Date().toISOString().slice(0, 10));
  const terms = { ...given, project: projectDir, packages: layers, retired };
  return {
    models: modelsOf(terms),
    packages,
    fingerprint: digestOf(terms),
    room: { bytes: skillsOnly === true ? 0 : MOST_KEPT_BYTES, kept: new Set() },
    plugins: new PluginFolders(),
  };
}

const NO_TERMS: ProjectTerms = { models: { file: {}, root: {} }, signatures: NO_SIGNATURES };

const digestOf = (value: unknown): string => createHash("sha256").update(JSON.stringify(value)).digest("hex");

/** Decides which skills are served: later roots override, addresses are unique, broken skills fall back on request. */
function chooseServed(
  perRoot: Outcome[][],
  options: BuildOptions,
  diagnostics: RootedDiagnostic[],
): BuiltSkill[] {
  const table = new RouteTable();
  const served: BuiltSkill[] = [];
  const candidates = perRoot.flatMap((outcomes, root) =>
    outcomes.flatMap((outcome) => {
      const current = currentOf(outcome, options);
      return current === null ? [] : [{ root, outcome, current, slug: current.card.slug }];
    }),
  );
  const last = new Map(candidates.map((candidate) => [candidate.slug, candidate]));
  for (const { root, outcome, current, slug } of candidates) {
    const { folder, positions } = outcome;
    const by = last.get(slug);
    if (by !== undefined && by.root > root) {
      const diagnostic = replaced(folder, slug, by.outcome.folder, options);
      diagnostics.push({ root: folder.root, diagnostic });
      continue;
    }
    const conflictOf = ({ manifest }: BuiltSkill) =>
      claimAddress(table, { folder: folder.name, file: folder.file, manifest, positions });
    const conflict = conflictOf(current);
    if (conflict === null) {
      served.push(current);
      continue;
    }
    diagnostics.push({ root: folder.root, diagnostic: ofSingle(folder, conflict) });
    const fallback = current === outcome.skill ? lastGood(outcome, options, [conflict]) : null;
    if (fallback !== null && conflictOf(fallback) === null) served.push(fallback);
  }
  return served;
}

/** A conflict of addresses; a command that has the slug of a skill of its plugin is no fault, since the skill counts. */
const ofSingle = ({ single, file }: SkillFolder, conflict: Diagnostic): Diagnostic =>
  single === undefined || conflict.code !== "duplicate_slug"
    ? conflict
    : {
        level: "info",
        code: "slug_replaced",
        skill: conflict.skill,
        file,
        field: "name",
        message: `Hull does not serve this ${wordFor(single)}. ${conflict.message}`,
      };

function replaced(
  folder: SkillFolder,
  slug: string,
  by: SkillFolder,
  { projectDir }: BuildOptions,
): Diagnostic {
  return {
    level: "info",
    code: "slug_replaced",
    skill: folder.name,
    file: folder.file,
    field: "name",
    message: `Hull does not serve this skill: ${relative(projectDir, by.path)} has the slug ${slug} too, and its folder of skills comes later.`,
  };
}

/** Another slug for a skill, and who has its own. */
interface MovedTo {
  slug: string;
  holder: SkillFolder;
}

/**
 * Gives skills of one slug in different namespaces separate addresses. The first keeps the slug: a skill without
 * namespace comes first, and one in another folder of its plugin than `skills` last, if a skill of that folder has the
 * slug too; agents come after all others. The build makes the others again as `namespace--slug`, or as
 * `namespace-folders--slug` if another skill of the plugin has that address.
 * @param elsewhere the outcomes of the other roots, whose skills agents do not replace either
 */
async function withNamespaces(
  outcomes: readonly Outcome[],
  elsewhere: readonly Outcome[],
  options: BuildOptions,
  again: (folder: SkillFolder) => Promise<Outcome>,
): Promise<Outcome[]> {
  const holders = new Map<string, SkillFolder>();
  const others = new Map(
    elsewhere.flatMap(({ folder, skill }) =>
      skill === null || folder.single === "agents" ? [] : [[skill.card.slug, folder] as const],
    ),
  );
  const moved = new Map<Outcome, MovedTo>();
  for (const outcome of inOrder(outcomes, options)) {
    const current = currentOf(outcome, options);
    if (current === null) continue;
    const { slug } = current.card;
    const { folder, skill } = outcome;
    const holder = holders.get(slug) ?? (folder.single === "agents" ? others.get(slug) : undefined);
    if (holder === undefined) {
      holders.set(slug, folder);
      continue;
    }
    const { namespace, pluginFolders } = folder;
    const wanted = [
      ...(areApart(folder, holder) ? [addressOf(slug, namespace)] : []),
      ...(pluginFolders === undefined ? [] : [addressOf(slug, namespace, pluginFolders)]),
    ];
    const own = wanted.find((address) => !holders.has(address));
    if (current !== skill || own === undefined) continue;
    holders.set(own, folder);
    moved.set(outcome, { slug: own, holder });
  }
  const [first] = outcomes.filter((outcome) => moved.has(outcome));
  return mapLimited(outcomes, async (outcome) => {
    const to = moved.get(outcome);
    if (to === undefined) return outcome;
    const built = await again({ ...outcome.folder, slug: to.slug });
    const told = outcome === first ? [slugsInUse(outcome, moved)] : [];
    return { ...built, diagnostics: [...built.diagnostics, ...told] };
  });
}

/** Skills in the order in which they may choose their slugs. */
function inOrder(outcomes: readonly Outcome[], options: BuildOptions): Outcome[] {
  const address = (outcome: Outcome): string =>
    addressOf(currentOf(outcome, options)?.card.slug ?? "", outcome.folder.namespace);
  const ofPlugins = new Set(
    outcomes
      .filter(({ folder }) => folder.pluginFolders === undefined && folder.single === undefined)
      .map(address),
  );
  const rank = (outcome: Outcome): number => {
    const { namespace, pluginFolders, single } = outcome.folder;
    if (single === "agents") return 3;
    return (
      Number(namespace !== undefined) + Number(pluginFolders !== undefined && ofPlugins.has(address(outcome)))
    );
  };
  return outcomes.toSorted((a, b) => rank(a) - rank(b));
}

/** @param parts its namespace, and the folders that lead to it in its plugin */
function addressOf(slug: string, ...parts: readonly (string | undefined)[]): string {
  const namespace = parts.filter((part) => part !== undefined).join("-");
  return namespace === "" ? slug : `${namespace}--${slug}`;
}

/** Whether two skills of one slug may both be served: their namespaces differ, or a plugin declares one in the other. */
const areApart = (folder: SkillFolder, holder: SkillFolder): boolean =>
  folder.namespace !== holder.namespace || isWithin(folder.path, holder.path);

/** The most skills to name in one finding. */
const MOST_NAMED = 20;

/** One finding for all skills of a root that got other slugs. @param first the one whose file it names */
function slugsInUse({ folder }: Outcome, moved: ReadonlyMap<Outcome, MovedTo>): Diagnostic {
  const cases = Array.from(moved, ([{ folder: own, skill }, { slug, holder }]) => {
    const other = holder.within === "" ? "the root" : holder.within;
    return `${skill?.card.slug}: ${other} is served under it, ${own.within} as ${slug}`;
  });
  const named = cases.slice(0, MOST_NAMED).join("; ");
  const left = cases.length - MOST_NAMED;
  const finding = { skill: folder.name, file: folder.file, field: "name" };
  const [{ slug = "" } = {}, ...more] = moved.values();
  const [message, hint] =
    more.length === 0
      ? [`Two skills have the slug ${named}.`, `Call it ${slug}, or rename one of the two.`]
      : [
          `${cases.length} skills have slugs that others have: ${named}${left > 0 ? `; and ${left} more` : ""}.`,
          "Call them by these slugs, or rename them.",
        ];
  return { level: "warning", code: "slug_in_use", ...finding, message, hint };
}

/** What is wrong with the folders of stale skills, by slug. */
function faultsOf(served: readonly BuiltSkill[]): Record<string, Diagnostic[]> {
  return Object.fromEntries(
    served.flatMap(({ card, faults = [] }) => (faults.length === 0 ? [] : [[card.slug, faults]])),
  );
}

/** The part of a folder that is to be served. */
function currentOf(outcome: Outcome, options: BuildOptions): BuiltSkill | null {
  const { skill, broken } = outcome;
  if (skill !== null && broken.length === 0) return skill;
  const previous = lastGood(outcome, options);
  if (skill === null) return previous;
  return previous !== null && broken.some((part) => previous.parts.includes(part)) ? previous : skill;
}

/** @param faults why the folder's present version is not served */
function lastGood(
  { folder, diagnostics }: Outcome,
  options: BuildOptions,
  faults = diagnostics.filter(({ level }) => level === "error"),
): BuiltSkill | null {
  const previous = options.keepLastGood === true ? options.previous?.get(folder.path) : undefined;
  if (previous === undefined) return null;
  const shown = withoutFolder(faults.slice(0, MAX_FAULTS), folder.file, previous.card.slug);
  return { ...previous, card: { ...previous.card, stale: true }, faults: shown };
}

/**
 * Skills of the previous build whose folder still exists but has lost its SKILL.md, or is not found since the file that
 * may declare it cannot be read: broken, not gone.
 */
function vanished(
  root: string,
  { diagnostics }: RootScan,
  found: Outcome[],
  options: BuildOptions,
): Outcome[] {
  if (options.keepLastGood !== true) return [];
  const known = new Set(found.map((outcome) => outcome.folder.path));
  const lost: Outcome[] = [];
  for (const path of options.previous?.keys() ?? []) {
    const within = path.slice(root.length + 1);
    if (known.has(path) || path !== join(root, within) || within === "") continue;
    if (statOf(path)?.isDirectory() !== true) continue;
    const whole = isSkill(path);
    const holds = (file: string) => isWithin(path, join(root, dirname(dirname(file))));
    if (whole && !diagnostics.some(({ code, file }) => code === "plugin_file" && holds(file))) continue;
    const name = basename(path);
    const folder: SkillFolder = { root, path, name, within, file: `${within}/SKILL.md`, configured: false };
    const diagnostic: Diagnostic = {
      level: "error",
      code: "skill_file_missing",
      skill: name,
      file: folder.file,
      message: `The folder ${name} has lost its SKILL.md; its last good version stays.`,
      hint: "Restore the file, or remove the folder to take the skill down.",
    };
    lost.push(without(folder, whole ? [] : [diagnostic]));
  }
  return lost;
}

async function buildFolder(
  folder: SkillFolder,
  rootContext: RootContext,
  surroundings: Surroundings,
  options: BuildOptions,
): Promise<Outcome> {
  const { models, room, plugins } = surroundings;
  const lookedAt = Date.now();
  const { files, diagnostics } = listFiles(folder, rootContext);
  diagnostics.push(...(surroundings.packages.diagnostics.get(folder.path) ?? []));
  const fingerprint = fingerprintOf(folder, files, diagnostics, surroundings);
  const again = readAgain(folder, rootContext, models);
  const cached = options.cache?.get(folder, fingerprint, again, () =>
    folder.plugin === undefined ? null : plugins.at(folder.plugin.path, options.projectDir).stamp,
  );
  if (cached !== undefined) return withLostWorkflows(cached, options);
  const read = await readSkill(folder, files, diagnostics, models, plugins);
  const outcome = await keptWithin(room, read, again);
  options.cache?.set(fingerprint, outcome, files, lookedAt);
  return withLostWorkflows(outcome, options);
}

/** The same, without the skill's bytes unless there is room for them. @param again reads them */
async function keptWithin(room: Surroundings["room"], outcome: Outcome, again: ReadAgain): Promise<Outcome> {
  if (outcome.skill === null) return outcome;
  const contents = await outcome.skill.contents();
  let size = 0;
  for (const bytes of contents.values()) size += room.kept.has(bytes) ? 0 : bytes.length;
  if (size <= room.bytes) {
    room.bytes -= size;
    for (const bytes of contents.values()) room.kept.add(bytes);
    return outcome;
  }
  // A function that names `outcome`, or another one next to it that names `room`, would keep the bytes.
  const { digest } = outcome.skill;
  return { ...outcome, skill: { ...outcome.skill, contents: (plugins) => again(digest, plugins) } };
}

/**
 * Marks a workflow as broken if its file no longer contains a graph. Such a file is not a fault, but the last good
 * version had the workflow.
 */
function withLostWorkflows(outcome: Outcome, options: BuildOptions): Outcome {
  const previous = lastGood(outcome, options);
  if (previous === null) return outcome;
  const broken = [...outcome.broken];
  const diagnostics = outcome.diagnostics.map((diagnostic) => {
    if (diagnostic.code !== "workflow_foreign") return diagnostic;
    const part = workflowPart(workflowNamed(diagnostic) ?? "");
    if (!previous.parts.includes(part) || outcome.skill?.parts.includes(part)) return diagnostic;
    broken.push(part);
    const hint = "Make it a graph again, or remove the file to take the workflow down.";
    return { ...diagnostic, level: "error" as const, hint };
  });
  return { ...outcome, broken, diagnostics };
}

function fingerprintOf(
  folder: SkillFolder,
  files: readonly FoundFile[],
  diagnostics: readonly Diagnostic[],
  surroundings: Surroundings,
): string {
  const lines = files.map(({ path, stats }) => [
    path,
    stats.size,
    stats.mtimeMs,
    stats.ctimeMs,
    stats.ino,
    stats.mode,
  ]);
  return JSON.stringify([folder, lines, diagnostics, surroundings.fingerprint]);
}
