/**
 * The part of a plugin's folder that belongs to a skill: the skill's text or scripts name it by
 * `${CLAUDE_PLUGIN_ROOT}`.
 */
import { createHash } from "node:crypto";
import { relative, sep } from "node:path";
import type { RecordExtras, SourceFile } from "../../src/skill/bundle.ts";
import type { BundledFile, Diagnostic, PluginOfSkill } from "../../src/skill/manifest.ts";
import { packTar } from "../../src/skill/tar.ts";
import { type FoundFile, inspectRoot, listFiles, type SkillFolder } from "./scan.ts";
import { MAX_SKILL_BYTES, readSources } from "./sources.ts";

/** A plugin's folder in its published form. */
export interface SharedFolder extends NonNullable<PluginOfSkill["folder"]> {
  bytes: Uint8Array<ArrayBuffer>;
}

const NAMES_IT = "CLAUDE_PLUGIN_ROOT";

/** The part of a record about the skill's location. */
export function locationOf(
  { plugin, path, namespace }: SkillFolder,
  shared: SharedFolder | null,
): Pick<RecordExtras, "plugin" | "namespace"> {
  const skill = plugin === undefined ? "" : relative(plugin.path, path).split(sep).join("/");
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(plugin === undefined
      ? {}
      : {
          plugin: {
            name: plugin.name,
            skill,
            ...(shared === null ? {} : { folder: { pack: shared.pack, files: shared.files } }),
          },
        }),
  };
}

/**
 * The plugin's folder in the form that a build bundles, if the skill needs it.
 * @param files those of the skill
 * @param project links may lead anywhere inside it
 */
export async function sharedFolder(
  folder: SkillFolder,
  files: readonly SourceFile[],
  project: string,
): Promise<{ folder: SharedFolder | null; stamp: string | null; diagnostics: Diagnostic[] }> {
  if (folder.plugin === undefined || !files.some(({ bytes }) => Buffer.from(bytes).includes(NAMES_IT)))
    return { folder: null, stamp: null, diagnostics: [] };
  const found = filesOf(folder, project);
  const stamp = stampOf(found);
  const total = found.reduce((sum, { stats }) => sum + stats.size, 0);
  if (total > MAX_SKILL_BYTES) {
    const { name, path } = folder.plugin;
    const finding = {
      level: "warning" as const,
      code: "plugin_too_large",
      skill: folder.name,
      file: folder.file,
      message: `The plugin ${name} in ${path} holds ${total} bytes, more than the ${MAX_SKILL_BYTES} (256 MiB) that Hull bundles, so the skill does not have its files.`,
      hint: "List what its skills do not need in .hullignore.",
    };
    return { folder: null, stamp, diagnostics: [finding] };
  }
  const sources = await readSources(found);
  const bytes = packTar(sources);
  const index: BundledFile[] = sources.map((file) => ({
    path: file.path,
    size: file.bytes.length,
    mode: file.mode,
    sha256: sha256(file.bytes),
  }));
  return { folder: { pack: sha256(bytes), files: index, bytes }, stamp, diagnostics: [] };
}

/** The present state of the plugin's folder; `null`: the skill has no plugin. */
export function sharedStamp(folder: SkillFolder, project: string): string | null {
  return folder.plugin === undefined ? null : stampOf(filesOf(folder, project));
}

function filesOf({ plugin, root, name }: SkillFolder, project: string): FoundFile[] {
  const path = plugin?.path ?? root;
  const whole = { root: path, path, name, within: "", file: "SKILL.md", configured: false };
  return listFiles(whole, inspectRoot(path, project)).files;
}

const stampOf = (files: readonly FoundFile[]): string =>
  sha256(
    JSON.stringify(files.map(({ path, stats }) => [path, stats.size, stats.mtimeMs, stats.ino, stats.mode])),
  );

const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");
