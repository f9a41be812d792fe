/** A skill folder as the search finds it, and the facts that all skills of a root share. */
import type { Dirent, Stats } from "node:fs";
import { dirname } from "node:path";
import type { IgnoreLevel } from "../../src/skill/ignore.ts";
import type { DeclaredPlugins, Plugin, Single } from "./plugins.ts";

export interface SkillFolder {
  /** Absolute. */
  root: string;
  /** Absolute; of a command or an agent, its file. */
  path: string;
  /** Folder name, or that of the command or agent. */
  name: string;
  /** Relative to the root, `/` as separator; `""`: the root itself is the skill. */
  within: string;
  /** SKILL.md under its own name, or the file of the command or agent, relative to the root. */
  file: string;
  /** It is no folder, but a command or an agent of Claude Code: one file (`singles.ts`). */
  single?: Single;
  /** Whether it has a hull.toml next to its SKILL.md. */
  configured: boolean;
  /**
   * Distinguishes the skill from another one of the same slug: the plugin, or the author's folder; absent: it has
   * neither.
   */
  namespace?: string;
  /** The folders in its plugin that lead to it, if it is not in the plugin's folder `skills`; always those of an agent. */
  pluginFolders?: string;
  /** Its plugin. */
  plugin?: Plugin;
  /** The skill has no plugin, but a file that may declare one cannot be read. */
  pluginUnreadable?: true;
  /** The slug under which it is served, if another skill has the slug of its name. */
  slug?: string;
  /** Folders inside it, relative to it, with skills that their plugin declares: Hull serves them next to it. */
  apart?: readonly string[];
}

/** The folder with the skill's files: absolute, and relative to the root. */
export const folderOf = ({ single, path, within }: SkillFolder): Pick<SkillFolder, "path" | "within"> =>
  single === undefined
    ? { path, within }
    : { path: dirname(path), within: within.slice(0, Math.max(0, within.lastIndexOf("/"))) };

/** The name of a skill and the path of its SKILL.md, for findings: of one file, that which the build makes. */
export const placeOf = ({ name, file, single }: SkillFolder): { folder: string; file: string } => ({
  folder: name,
  file: single === undefined ? file : `${file.slice(0, file.lastIndexOf("/") + 1)}SKILL.md`,
});

export interface FoundFile {
  /** Relative to the skill folder, `/` as separator. */
  path: string;
  absolute: string;
  stats: Stats;
  /** The file to which links on its way lead, from the folder of the skill on; it may be outside. */
  link?: string;
}

/** The commands and agents that a project serves: all, none (also if absent), or those that one of these globs names. */
export type SingleChoices = { readonly [kind in Single]?: boolean | readonly string[] };

/** The common facts of all skills of a root. */
export interface RootContext {
  /** Absolute. */
  root: string;
  /** Real paths that links may lead into. */
  boundary: readonly string[];
  /** The ignore files above the skill folders; `base` leads from each to the root. */
  levels: readonly IgnoreLevel[];
  /** Plugins that contain the root, or that are declared above it in the project. */
  declared: readonly DeclaredPlugins[];
  /** The commands and agents to search for. */
  singles: SingleChoices;
}

/**
 * A file in a folder with the state of a `hull dev`. Such a folder holds secrets and unpacked skills, and `--state` may
 * put it anywhere, so it is not part of a collection or a skill.
 */
export const STATE_MARK = ".hull-state";

/** Whether it is such a folder. */
export const isState = (entries: readonly Dirent[]): boolean =>
  entries.some(({ name }) => name === STATE_MARK);
