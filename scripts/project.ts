/** Which project and which skill folders a command works on (serving.md §1). */
import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { TYPED_FILE } from "./build/scan.ts";
import { CommandError, EXIT } from "./command.ts";
import { CONFIG_FILE, type HullConfig, loadConfig } from "./config.ts";
import { type ProjectModels, projectModels } from "./models.ts";

export interface Project {
  /** Absolute: the nearest folder upwards with a hull.toml, else the folder asked for. */
  dir: string;
  config: HullConfig;
  /** Absolute folders of skills; later ones override earlier ones. */
  roots: string[];
  models: ProjectModels;
}

/**
 * Finds the project of `dir` (default: the current folder). Its roots are `skills` (of `--skills`, relative to the
 * current folder) where given; else, for `dir` itself, those of hull.toml, `./skills`, or the folder. Throws
 * `CommandError`: exit 3 when a folder does not exist that was asked for, or none of those in hull.toml does.
 */
export async function openProject(dir: string | undefined, skills: readonly string[] = []): Promise<Project> {
  const start = resolve(dir ?? ".");
  if (!(await isFolder(start))) throw missing(start);
  const projectDir = await findUpwards(start);
  const config = await loadConfig(projectDir);
  const roots =
    skills.length > 0 ? skills.map((path) => resolve(path)) : await defaultRoots(start, projectDir, config);
  const absent: string[] = [];
  for (const root of roots) if (!(await isFolder(root))) absent.push(root);
  const [first] = absent;
  if (first !== undefined && (skills.length > 0 || absent.length === roots.length)) throw missing(first);
  return { dir: projectDir, config, roots, models: await projectModels(projectDir, config) };
}

async function defaultRoots(start: string, projectDir: string, config: HullConfig): Promise<string[]> {
  if (start === projectDir && config.skills !== null)
    return config.skills.map((path) => resolve(projectDir, path.replace(/^~(?=\/|$)/, homedir())));
  const skills = join(start, "skills");
  if (await isFolder(skills)) return [skills];
  if (await holdsSkills(start)) return [start];
  throw missing(skills);
}

/** Whether the folder or one of its immediate sub-folders has a SKILL.md, in whatever letter case, or a skill.ts. */
async function holdsSkills(dir: string): Promise<boolean> {
  const entries = await readdir(dir);
  if (entries.some(isSkillFile)) return true;
  for (const entry of entries) {
    const inside = await readdir(join(dir, entry)).catch(() => []);
    if (inside.some(isSkillFile)) return true;
  }
  return false;
}

function isSkillFile(name: string): boolean {
  return name.toLowerCase() === "skill.md" || name === TYPED_FILE;
}

export async function findUpwards(start: string): Promise<string> {
  for (let dir = start; ; dir = dirname(dir)) {
    if (await isFile(join(dir, CONFIG_FILE))) return dir;
    if (dir === dirname(dir)) return start;
  }
}

function missing(path: string): CommandError {
  return new CommandError(
    EXIT.missing,
    "folder_missing",
    `There is no folder ${path}.`,
    "Name the folder of your skills, or make a project with: hull init",
  );
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() === true;
}
