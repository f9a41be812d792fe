/**
 * The part of a plugin's folder that belongs to a skill: the skill's text or scripts name it by
 * `${CLAUDE_PLUGIN_ROOT}`, or name files there by relative paths, or a script is a symbolic link to a file there.
 */
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, join, posix, relative, resolve, sep } from "node:path";
import { once } from "../../src/memo.ts";
import { RecentMap } from "../../src/recent.ts";
import type { RecordExtras, SourceFile } from "../../src/skill/bundle.ts";
import { decodeText, skillFileName } from "../../src/skill/file-text.ts";
import { present } from "../../src/skill/json.ts";
import { relativeLinks } from "../../src/skill/lint.ts";
import type { BundledFile, Diagnostic, PluginOfSkill } from "../../src/skill/manifest.ts";
import { insidePath, pluginPath } from "../../src/skill/path.ts";
import { packTar } from "../../src/skill/tar.ts";
import { listFiles, refusedFile } from "./list-files.ts";
import type { Plugin } from "./plugins.ts";
import { inspectRoot } from "./scan.ts";
import { type FoundFile, folderOf, type SkillFolder } from "./skill-folder.ts";
import { MAX_SKILL_BYTES, readSources } from "./sources.ts";

/** A plugin's folder in its published form. */
export interface SharedFolder extends NonNullable<PluginOfSkill["folder"]> {
  bytes: Uint8Array<ArrayBuffer>;
}

/** What is the same for all skills of a plugin. */
interface PluginFolder extends ReturnType<typeof listFiles> {
  /** Its present state. */
  stamp: string;
  /** The finding is about a file that cannot be read. */
  packed: () => Promise<SharedFolder | Diagnostic>;
}

/** The skills of a plugin come one after the other, and the packs of a few plugins fit into the memory. */
const MOST_KEPT = 4;

/**
 * The folders of plugins, so that what builds or sends many skills lists and packs each folder once. It is for one build, or
 * for one sending: it sees no later changes.
 */
export class PluginFolders {
  readonly #known = new RecentMap<string, PluginFolder>(MOST_KEPT);

  /** @param path of the plugin. @param project links may lead anywhere inside it */
  at(path: string, project: string): PluginFolder {
    const known = this.#known.get(path) ?? inspected(path, project);
    this.#known.set(path, known);
    return known;
  }
}

function inspected(path: string, project: string): PluginFolder {
  // Listed like a skill.
  const whole = { root: path, path, name: basename(path), within: "", file: "SKILL.md", configured: false };
  const listed = listFiles(whole, inspectRoot(path, project));
  const packed = once(() => packedFolder(whole, listed.files));
  return { ...listed, stamp: stampOf(listed.files), packed };
}

async function packedFolder(
  whole: SkillFolder,
  found: readonly FoundFile[],
): Promise<SharedFolder | Diagnostic> {
  const sources = await readSources(found).catch((error: unknown) => refusedFile(whole, found, error));
  if (!Array.isArray(sources)) return sources;
  const bytes = packTar(sources);
  const files: BundledFile[] = sources.map((file) => ({
    path: file.path,
    size: file.bytes.length,
    mode: file.mode,
    sha256: sha256(file.bytes),
  }));
  return { pack: sha256(bytes), files, bytes };
}

const NAMES_IT = "CLAUDE_PLUGIN_ROOT";
const SCRIPT = /\.(?:[cm]?[jt]s|py|sh|bash|pl|rb)$/i;
/** A path that leads out of the folder in which it counts. */
const UPWARDS = /(?:\.\.\/)+[\w@.-][\w@./-]*/g;

/** A relative path as written, and from the skill's folder on. */
interface Named {
  target: string;
  path: string;
}

/** The skill's folder inside its plugin's, `/` as separator. */
const withinPlugin = (folder: SkillFolder): string =>
  folder.plugin === undefined ? "" : relative(folder.plugin.path, folderOf(folder).path).split(sep).join("/");

/** The part of a record that follows from where the skill is. */
export function locationOf(
  folder: SkillFolder,
  shared: SharedFolder | null,
): Pick<RecordExtras, "plugin" | "namespace" | "wants_workspace_tools"> {
  const { plugin, namespace, single } = folder;
  // The files for which a command is made are those of a project, not its own.
  const wants_workspace_tools = single === "commands" ? (true as const) : undefined;
  const location = present({ namespace, wants_workspace_tools });
  if (plugin === undefined) return location;
  const { name, servers } = plugin;
  const further = { mcp_servers: servers.map((server) => server.name), folder: shared && inRecord(shared) };
  return {
    ...location,
    plugin: { name, skill: withinPlugin(folder), ...present(further) },
  };
}

const inRecord = ({ bytes: _, ...folder }: SharedFolder): NonNullable<PluginOfSkill["folder"]> => folder;

/**
 * Whether a link leads to a file of the skill next to this one, as it does in runs that have both.
 * @param path the folder of the skill
 */
export function leadsToSkill(path: string, target: string): boolean {
  const [, sibling = "", file = ""] = /^\.\.\/([^/.][^/]*)\/([^?#]+)/.exec(target) ?? [];
  const next = join(path, "..", sibling);
  return sibling !== "" && existsSync(join(next, "SKILL.md")) && existsSync(join(next, file));
}

/** The paths by which a skill's scripts name files above their own folders, and to which those that are links lead. */
const namedByScripts = (files: readonly SourceFile[]): Named[] =>
  files
    .filter(({ path }) => SCRIPT.test(path))
    .flatMap(({ path, bytes, link }) => {
      const named = Buffer.from(bytes).toString("latin1").matchAll(UPWARDS);
      const ways = Array.from(named, ([way]) => posix.join(posix.dirname(path), way));
      const leads = ways.map((way) => ({ target: way, path: way }));
      return link === undefined ? leads : [...leads, { target: path, path: link }];
    });

/**
 * The links of a skill's text to files of its plugin's folder outside its own, but not to a skill next to it.
 * @param named the links, or other relative paths
 * @returns `targets`, as written, of those that lead to a bundled file or folder; `sought`, absolute, of all
 */
export function linksToPlugin(
  folder: SkillFolder,
  named: readonly Named[],
  project: string,
  plugins: PluginFolders,
): { targets: string[]; sought: string[] } {
  const { plugin, file, single } = folder;
  const { path: own } = folderOf(folder);
  if (plugin === undefined) return { targets: [], sought: [] };
  const skill = withinPlugin(folder);
  const text = posix.join(skill, basename(file));
  // Only its text belongs to a command or agent, and nothing else of its folder.
  const outOf = (path: string): string | null => {
    if (single === undefined) return pluginPath(path, skill);
    const inside = insidePath(posix.join(skill, path));
    return inside === text ? null : inside;
  };
  const links = named.flatMap(({ target, path }) => {
    const inside = leadsToSkill(own, target) ? null : outOf(path);
    return inside === null ? [] : [{ target, inside, absolute: resolve(plugin.path, inside) }];
  });
  const sought = links.map(({ absolute }) => absolute);
  if (!sought.some((path) => existsSync(path))) return { targets: [], sought };
  const paths = plugins.at(plugin.path, project).files.map(({ path }) => path);
  // The build makes the text of a skill.ts, so the plugin's folder does not hold it.
  if (!paths.includes(text)) return { targets: [], sought };
  const leads = links.filter(({ inside }) =>
    paths.some((path) => path === inside || path.startsWith(`${inside}/`)),
  );
  return { targets: leads.map(({ target }) => target), sought };
}

/**
 * The plugin's folder in the form that a build bundles, if the skill needs it.
 * @param files those of the skill
 * @param project links may lead anywhere inside it
 * @returns also the absolute paths that the skill's text or scripts name there, whether or not a file is there
 */
export async function sharedFolder(
  folder: SkillFolder,
  files: readonly SourceFile[],
  project: string,
  plugins: PluginFolders,
): Promise<{
  folder: SharedFolder | null;
  stamp: string | null;
  sought: string[];
  diagnostics: Diagnostic[];
}> {
  const name = skillFileName(files.map(({ path }) => path));
  const { bytes: content = new Uint8Array() } = files.find(({ path }) => path === name) ?? {};
  const named = [...relativeLinks(decodeText(content).text), ...namedByScripts(files)];
  const { targets, sought } = linksToPlugin(folder, named, project, plugins);
  const linked = targets.length > 0;
  const namesIt = ({ bytes: { buffer, byteOffset, length } }: SourceFile): boolean =>
    Buffer.from(buffer, byteOffset, length).includes(NAMES_IT);
  const { plugin } = folder;
  if (plugin === undefined || !(linked || files.some(namesIt)))
    return { folder: null, stamp: null, sought, diagnostics: [] };
  const { files: found, stamp, diagnostics, packed } = plugins.at(plugin.path, project);
  const faults = faultsOf(folder, plugin, diagnostics);
  const total = found.reduce((sum, { stats }) => sum + stats.size, 0);
  if (total > MAX_SKILL_BYTES) {
    const { name, path } = plugin;
    const finding = {
      level: "warning" as const,
      code: "plugin_too_large",
      skill: folder.name,
      file: folder.file,
      message: `The plugin ${name} in ${path} holds ${total} bytes, more than the ${MAX_SKILL_BYTES} (256 MiB) that Hull bundles, so the skill does not have its files.`,
      hint: "List what its skills do not need in .hullignore.",
    };
    return { folder: null, stamp, sought, diagnostics: [...faults, finding] };
  }
  const pack = await packed();
  if ("code" in pack)
    return { folder: null, stamp, sought, diagnostics: [...faults, ...faultsOf(folder, plugin, [pack])] };
  const shared = linked ? { ...pack, linked: true as const } : pack;
  return { folder: shared, stamp, sought, diagnostics: faults };
}

/**
 * Findings about files of the plugin outside of the skill's own folder, as warnings about the skill: it is served
 * without these files.
 */
function faultsOf(folder: SkillFolder, { path }: Plugin, found: readonly Diagnostic[]): Diagnostic[] {
  const { root, name } = folder;
  const own = `${withinPlugin(folder)}/`;
  return found
    .filter(({ code, file }) => code !== "nested_skill" && !file.startsWith(own))
    .map((fault) => {
      const file = relative(root, join(path, fault.file)).split(sep).join("/");
      return { ...fault, level: "warning", skill: name, file };
    });
}

const stampOf = (files: readonly FoundFile[]): string =>
  sha256(
    JSON.stringify(files.map(({ path, stats }) => [path, stats.size, stats.mtimeMs, stats.ino, stats.mode])),
  );

const sha256 = (content: string | Uint8Array): string => hash("sha256", content);
