/** Turns a skill folder into what Hull publishes of it, before the skills are compared with each other. */

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { utf8 } from "../../src/bytes.ts";
import { readSkillGraph } from "../../src/engine/workflow/skill-file.ts";
import type { ModelRegistry } from "../../src/model/registry/definition.ts";
import type { Layer } from "../../src/model/registry/layer.ts";
import { type AssembledSkill, assembleSkill } from "../../src/skill/assemble.ts";
import { blocksServing } from "../../src/skill/blocking-findings.ts";
import type { Hash } from "../../src/skill/bundle.ts";
import { Findings } from "../../src/skill/findings.ts";
import type { HookReader } from "../../src/skill/hooks.ts";
import { defined } from "../../src/skill/json.ts";
import type { KnownProviders } from "../../src/skill/known-providers.ts";
import type { Card, Diagnostic, Manifest, SkillTool } from "../../src/skill/manifest.ts";
import type { ProvidedTools } from "../../src/skill/missing-tools.ts";
import { reportFaults } from "../../src/skill/module-fault.ts";
import type { ParsedSkill } from "../../src/skill/parse.ts";
import { PACK_LIMITS } from "../../src/skill/tar.ts";
import type { HandlerMaker } from "../../src/skill/tools-json/handlers.ts";
import type { SignaturePolicy } from "../../src/skill/trust.ts";
import { PLUGIN_PART, workingParts } from "../../src/skill/working-parts.ts";
import { CommandError, EXIT } from "../command.ts";
import { type ProjectModels, projectModelRegistry, projectProviders } from "../models.ts";
import { expandFolder } from "./expand.ts";
import { buildHandler } from "./handlers.ts";
import { bundleHooks } from "./hooks.ts";
import { TYPED_FILE } from "./is-skill.ts";
import { listFiles, refusedFile } from "./list-files.ts";
import { checkModels } from "./model-findings.ts";
import { locationOf, PluginFolders, type SharedFolder, sharedFolder } from "./shared-folder.ts";
import { type FoundFile, placeOf, type RootContext, type SkillFolder } from "./skill-folder.ts";
import { MAX_SKILL_BYTES, readSources } from "./sources.ts";
import { disagreement } from "./typed.ts";

export interface BuiltSkill {
  /** Absolute path of the source folder: the key of `previous` and of the cache. */
  folder: string;
  digest: string;
  manifest: Manifest;
  /** The tools of its tools.json. */
  tools: SkillTool[];
  /** Its parts that work (`src/skill/working-parts.ts`). */
  parts: readonly string[];
  card: Card;
  /** What is wrong with the folder, whose last good version this is. Absent: nothing. */
  faults?: Diagnostic[];
  /** Names (`<kind>/<sha256>`) of its objects in the registry, the record last. */
  objects: readonly string[];
  /** The bytes of `objects`, by name. @param plugins those of one sending of several skills */
  contents(plugins?: PluginFolders): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>>;
}

/** The result for one folder. */
export interface Outcome {
  folder: SkillFolder;
  skill: BuiltSkill | null;
  /** Parts of the skill that faults leave out or disable. */
  broken: readonly string[];
  positions: ParsedSkill["positions"];
  diagnostics: Diagnostic[];
  /** The sources of the skill's hooks and handlers, and their state; `null`: always build it again. */
  imported: string[] | null;
  stamp: string;
  /** The state of the plugin's folder, if that is part of the skill; `null`: it is not. */
  plugin: string | null;
}

export const nodeHash: Hash = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** What a project says of all its skills. */
export interface ProjectTerms {
  /** The models that it defines in addition to the shipped ones. */
  models: ProjectModels;
  /** The accepted signers of skills. */
  signatures: SignaturePolicy;
  /**
   * The deployment's tools in addition to the skills' own; absent: nothing checks whether a tool that a skill wants
   * exists.
   */
  provided?: ProvidedTools;
}

/** What a skill depends on besides its own folder: JSON. A cached skill is used only while all of it is the same. */
interface Terms extends ProjectTerms {
  /** Absolute: the folder of the project. */
  project: string;
  /** The models that folders of skills define. */
  packages: readonly Layer[];
  /** See `lastRetirement`. */
  retired: string;
}

/** The terms, and what follows from them alone. */
export interface Models {
  terms: Terms;
  modelRegistry: ModelRegistry;
  providers: KnownProviders;
}

export function modelsOf(terms: Terms): Models {
  const { models, packages } = terms;
  const modelRegistry = projectModelRegistry(models, packages);
  return { terms, modelRegistry, providers: projectProviders(models, packages) };
}

/** Reads, checks and bundles the files of a folder. @param diagnostics findings from listing them */
export async function readSkill(
  folder: SkillFolder,
  found: readonly FoundFile[],
  diagnostics: Diagnostic[],
  models: Models,
  plugins: PluginFolders,
): Promise<Outcome> {
  try {
    return await readFiles(folder, found, diagnostics, models, plugins);
  } catch (error) {
    return without(folder, [...diagnostics, refusedFile(folder, found, error)]);
  }
}

function sizeFault({ name, file }: SkillFolder, found: readonly FoundFile[]): Diagnostic | null {
  const total = found.reduce((sum, { stats }) => sum + stats.size, 0);
  const entries = new Set(found.flatMap(({ path }) => withFolders(path))).size;
  const finding = (holds: string): Diagnostic => ({
    level: "error",
    code: "skill_too_large",
    skill: name,
    file,
    message: `The folder holds ${holds} can be bundled.`,
    hint: "List what the skill does not need in .hullignore.",
  });
  if (total > MAX_SKILL_BYTES) return finding(`${total} bytes; at most ${MAX_SKILL_BYTES} (256 MiB)`);
  if (entries <= PACK_LIMITS.entries) return null;
  return finding(`${entries} files and folders; at most ${PACK_LIMITS.entries}`);
}

/** A path, and those of the folders around it. */
const withFolders = (path: string): string[] =>
  path.split("/").map((_, at, names) => names.slice(0, at + 1).join("/"));

async function readFiles(
  folder: SkillFolder,
  found: readonly FoundFile[],
  diagnostics: Diagnostic[],
  { modelRegistry, providers, terms: { signatures, provided, project, retired } }: Models,
  plugins: PluginFolders,
): Promise<Outcome> {
  const tooLarge = sizeFault(folder, found);
  if (tooLarge !== null) return without(folder, [...diagnostics, tooLarge]);
  const location = placeOf(folder);
  const typed = await expandFolder(folder, await readSources(found), signatures);
  const { files, described, locations } = typed;
  if (typed.diagnostics.some(blocksServing)) {
    const seen = { imported: typed.read, stamp: stampOf(typed.read ?? []), plugin: null };
    return { ...without(folder, [...diagnostics, ...typed.diagnostics]), ...seen };
  }
  let imported: string[] | null = [];
  // A module that an import lacks may exist next time.
  const noteRead = (read: string[] | null): void => {
    imported = imported === null || read === null ? null : [...imported, ...read];
  };
  noteRead(typed.read);
  const hooks: HookReader = async (source) => {
    const bundled = await bundleHooks(folder.path, source);
    noteRead("faults" in bundled.result ? null : bundled.read);
    return bundled.result;
  };
  const handlers: HandlerMaker = async (script, wanted) => {
    const { made, read } = await buildHandler(folder.path, script, wanted, typed.handlers.has(script.path));
    noteRead(read);
    return made;
  };
  const shared = await sharedFolder(folder, files, project, plugins);
  diagnostics.push(...shared.diagnostics);
  noteRead(shared.sought);
  const assembly = await assembleSkill(files, {
    ...location,
    location: locationOf(folder, shared.folder),
    hash: nodeHash,
    providers,
    hooks,
    handlers,
    workflows: readSkillGraph,
    signatures,
    ...defined({ slug: folder.slug, provided }),
  });
  const { positions, skill } = assembly;
  const broken = [...assembly.broken, ...(folder.pluginUnreadable === undefined ? [] : [PLUGIN_PART])];
  const base = location.file.slice(0, -"SKILL.md".length);
  if (described !== null && skill !== null) {
    const findings = new Findings(folder.name, folder.file);
    reportFaults(findings, disagreement(skill.record.manifest, described), TYPED_FILE);
    diagnostics.push(...findings.list);
  }
  const seen = { imported, stamp: stampOf(imported ?? []), plugin: shared.stamp };
  diagnostics.push(
    ...typed.diagnostics,
    ...assembly.diagnostics,
    ...checkModels(assembly, location, modelRegistry, retired),
  );
  const stopped = skill === null || diagnostics.some(blocksServing);
  const shown = locations === null ? diagnostics : diagnostics.map((found) => locations.pointed(found, base));
  if (stopped) return { ...without(folder, shown), positions, ...seen };
  return {
    folder,
    skill: builtSkill(folder, skill, broken, shared.folder),
    broken,
    positions,
    diagnostics: shown,
    ...seen,
  };
}

/** The result for a folder without a skill. */
export function without(folder: SkillFolder, diagnostics: Diagnostic[]): Outcome {
  return {
    folder,
    skill: null,
    broken: [],
    positions: new Map(),
    diagnostics,
    imported: [],
    stamp: "",
    plugin: null,
  };
}

/** A text for the present state of files; it stays the same until one of them is written. */
export function stampOf(paths: readonly string[]): string {
  if (paths.length === 0) return "";
  const all = paths.map((path) => statSync(path, { throwIfNoEntry: false }));
  return JSON.stringify(all.map((stats) => stats && [stats.size, stats.mtimeMs, stats.ino]));
}

function builtSkill(
  { path }: SkillFolder,
  { digest, record, recordJson, pack, blob, modules, card }: AssembledSkill,
  broken: readonly string[],
  shared: SharedFolder | null,
): BuiltSkill {
  const contents = new Map<string, Uint8Array<ArrayBuffer>>();
  if (shared !== null) contents.set(`pack/${shared.pack}`, shared.bytes);
  if (record.pack !== null) contents.set(`pack/${record.pack}`, pack);
  if (blob !== null) contents.set(`blob/${blob.sha256}`, blob.bytes);
  for (const { sha256, bytes } of modules) contents.set(`module/${sha256}`, bytes);
  contents.set(`skill/${digest}`, utf8(recordJson));
  const { manifest, tools = [] } = record;
  return {
    folder: path,
    digest,
    manifest,
    tools,
    parts: workingParts(record, broken),
    card,
    objects: [...contents.keys()],
    contents: async () => contents,
  };
}

export type ReadAgain = (digest: string, plugins?: PluginFolders) => ReturnType<BuiltSkill["contents"]>;

/**
 * What reads a folder with a known digest again. It throws a CommandError if the folder has changed meanwhile. A cache keeps
 * it for long, so it holds nothing of the build but the terms.
 */
export const readAgain =
  (folder: SkillFolder, rootContext: RootContext, models: Models): ReadAgain =>
  async (digest, plugins = new PluginFolders()) => {
    const { files, diagnostics } = listFiles(folder, rootContext);
    const { skill } = await readSkill(folder, files, diagnostics, models, plugins);
    if (skill?.digest === digest) return skill.contents();
    const message = `${folder.path} was changed meanwhile.`;
    throw new CommandError(EXIT.failed, "skill_changed", message, "Try again.");
  };
