/**
 * The folders of a run's skills, as the workspace tools see them: read-only, in one parent folder, under the skills'
 * names.
 */
import { skillsWithFoldersOf } from "../../engine/agent/skill-text.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { codeHandler } from "../../engine/workspace-tools/code-tools.ts";
import type { SkillRegistry } from "../../registry/published.ts";
import { namedFile } from "../../skill/file-lookup.ts";
import type { BundledFile, SkillRecord } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { mayHaveWorkspaceTools } from "../variables.ts";

/** A folder in the parent folder: a skill's, or below `.plugins/` that of the skill's plugin. */
interface Folder {
  name: string;
  files: readonly BundledFile[];
  /** Digest of the tar with its files; `null`: it has none. */
  pack: string | null;
  /** Whether its programs may be run. */
  runs: boolean;
  read(file: BundledFile): Promise<Uint8Array | null>;
}

/** The folders of plugins are in it. */
export const PLUGINS = ".plugins/";

interface FoundFile {
  /** Relative to the folder of all skills. */
  path: string;
  size: number;
  read(): Promise<Uint8Array | null>;
}

export class SkillFolders {
  readonly #context: Pick<RunContext, "deployment" | "settings">;
  readonly #spec: AgentSpec;
  readonly #own: SkillRecord | null;
  #folders: Promise<Folder[]> | null = null;

  /** @param own the served skill that the run is, if already loaded */
  constructor(
    context: Pick<RunContext, "deployment" | "settings">,
    spec: AgentSpec,
    own: SkillRecord | null,
  ) {
    this.#context = context;
    this.#spec = spec;
    this.#own = own;
  }

  /** Finds the file of a path: exactly, else without regard to case; `null`: no file. @param skill a folder's name */
  async find(skill: string, path: string): Promise<FoundFile | null> {
    const wanted = `${skill}/${path}`;
    for (const folder of await this.all()) {
      if (!wanted.startsWith(`${folder.name}/`)) continue;
      const file = namedFile(wanted.slice(folder.name.length + 1), folder.files);
      if (file !== null) return foundFile(folder, file);
    }
    return null;
  }

  /** The files that a path means in the folders of the run's skills. */
  async named(path: string): Promise<FoundFile[]> {
    const own = (await this.all()).filter(({ name }) => !name.startsWith(PLUGINS));
    const files = await Promise.all(own.map(({ name }) => this.find(name, path)));
    return files.filter((file) => file !== null);
  }

  /** All files below a folder; `""`: of all skills. */
  async below(path: string): Promise<FoundFile[]> {
    const all = (await this.all()).flatMap((folder) => folder.files.map((file) => foundFile(folder, file)));
    return path === "" ? all : all.filter((file) => file.path.normalize("NFC").startsWith(`${path}/`));
  }

  /** The folders that the runner needs. */
  async toRun(): Promise<{ name: string; digest: string }[]> {
    return (await this.all()).flatMap(({ name, pack, runs }) =>
      pack === null || !runs ? [] : [{ name, digest: pack }],
    );
  }

  all(): Promise<Folder[]> {
    this.#folders ??= this.#load();
    return this.#folders;
  }

  async #load(): Promise<Folder[]> {
    const served = new Map(
      skillsWithFoldersOf(this.#spec).flatMap(({ name, dir, digest }) =>
        dir && digest ? [[name, digest]] : [],
      ),
    );
    // A caller that asks for code execution may run anything, so the skills' programs add no risk.
    const free = this.#spec.tools.some(({ handler }) => codeHandler(handler) !== null);
    const { deployment, settings } = this.#context;
    const { registry } = deployment;
    const folders = await Promise.all(
      [...served].map(async ([name, digest]) => {
        const own = this.#own?.manifest.slug === name ? this.#own : null;
        const record = own ?? (await registry.skill(digest));
        return foldersOf(registry, name, record, free || mayHaveWorkspaceTools(settings, record));
      }),
    );
    return folders.flat();
  }
}

/** @param runs whether its programs may be run */
function foldersOf(registry: SkillRegistry, name: string, record: SkillRecord, runs: boolean): Folder[] {
  const { files, pack, plugin } = record;
  const own: Folder = { name, files, pack, runs, read: (file) => registry.file(record, file) };
  if (plugin?.folder === undefined) return [own];
  const { folder } = plugin;
  const read = (file: BundledFile): Promise<Uint8Array | null> => registry.packed(folder.pack, file);
  return [own, { name: `${PLUGINS}${name}`, files: folder.files, pack: folder.pack, runs, read }];
}

const foundFile = (folder: Folder, file: BundledFile): FoundFile => ({
  path: `${folder.name}/${file.path}`,
  size: file.size,
  read: () => folder.read(file),
});
