/** Finds the project and the skill folders for a command. */
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { ProvidedTools } from "../src/skill/missing-tools.ts";
import type { BuildOptions } from "./build/build.ts";
import { statOf } from "./build/file-system.ts";
import { holdsSkill, isSkillRoot } from "./build/is-skill.ts";
import { PLUGIN_FOLDER, SINGLES } from "./build/plugins.ts";
import { wantedKinds } from "./build/singles.ts";
import type { SingleChoices } from "./build/skill-folder.ts";
import { CommandError, EXIT } from "./command.ts";
import { CONFIG_FILE, type HullConfig, loadConfig } from "./config.ts";
import { type ProjectModels, projectModels } from "./models.ts";

export interface Project {
  /** Absolute: the nearest folder upwards with a hull.toml, else the requested folder. */
  dir: string;
  config: HullConfig;
  /** Absolute folders of skills; later ones override earlier ones. */
  roots: string[];
  /** Whether these are all roots of the project. */
  whole: boolean;
  models: ProjectModels;
}

/**
 * Finds the project of `dir` (default: the current folder). Its roots are `skills` (of `--skills`, relative to the
 * current folder) if given; else, for `dir` itself, those of hull.toml, `./skills`, or the folder.
 * @param asItIs search the folder itself if it has no hull.toml of its own
 * @throws CommandError exit 3 if a requested folder does not exist, or none of several does
 */
export async function openProject(
  dir: string | undefined,
  skills: readonly string[] = [],
  asItIs = false,
): Promise<Project> {
  const start = resolve(dir ?? ".");
  if (!isFolder(start)) throw missing(start);
  const projectDir = findUpwards(start);
  const config = await loadConfig(projectDir);
  const roots =
    skills.length > 0 ? skills.map((path) => resolve(path)) : defaultRoots(start, projectDir, config, asItIs);
  const absent = roots.filter((root) => statOf(root) === null);
  const [first] = absent;
  if (first !== undefined && absent.length === roots.length) throw missing(first);
  const whole = skills.length === 0 && start === projectDir;
  return { dir: projectDir, config, roots, whole, models: await projectModels(projectDir, config) };
}

/**
 * The project of one command or agent, which is its only root; without a hull.toml above it, its plugin or marketplace.
 * @param file absolute
 */
export function openSingle(file: string): Promise<Project> {
  return openProject(findUpwards(dirname(file), PLUGIN_FOLDER), [file]);
}

/** The project's options for a build. */
export function buildOptionsOf({ dir, models, config, whole }: Project): BuildOptions {
  const { signatures, mcp, workspace_tools, commands, agents } = config;
  const provided: ProvidedTools = {
    mcp_servers: Object.keys(mcp.servers),
    workspace_tools: workspace_tools.enabled !== "never",
    sub_agents: true,
  };
  const terms = { models, signatures, provided };
  return { projectDir: dir, settings: { config, whole }, commands, agents, terms };
}

function defaultRoots(start: string, projectDir: string, config: HullConfig, asItIs: boolean): string[] {
  if (start === projectDir && config.skills !== null)
    return config.skills.map((path) => resolve(projectDir, path.replace(/^~(?=\/|$)/, homedir())));
  const skills = join(start, "skills");
  const usual = isFolder(skills);
  const configured = isFile(join(start, CONFIG_FILE));
  if (isSkillRoot(start) || (asItIs && !configured)) return [start];
  if (usual && (configured || holdsSkill(skills) || !holdsSkill(start)))
    return [...singleRoots(start, config), skills];
  if (wantedKinds(config).length > 0 || holdsSkill(start)) return [start];
  const message = `There are no skills: no folder ${skills}, and no SKILL.md in or below ${start}.`;
  const here = SINGLES.filter((kind) => singleRoots(start, { [kind]: true }).length > 0);
  const settings = here.map((kind) => `${kind} = true`).join(" and ");
  const remedy = `To serve the ${here.join(" and ")} of Claude Code here as skills, write ${settings} into hull.toml.`;
  throw new CommandError(EXIT.missing, "folder_missing", message, here.length === 0 ? REMEDY : remedy);
}

/** The folders of commands and agents next to the folder `skills`; they come first, so that a skill of the same name counts. */
function singleRoots(start: string, choices: SingleChoices): string[] {
  const bases = [".claude", ...(isFolder(join(start, PLUGIN_FOLDER)) ? ["."] : [])];
  return wantedKinds(choices)
    .flatMap((kind) => bases.map((base) => join(start, base, kind)))
    .filter(isFolder);
}

/** The nearest folder from this one upwards that has an entry of this name, else itself. */
export function findUpwards(start: string, name = CONFIG_FILE): string {
  for (let dir = start; ; dir = dirname(dir)) {
    if (statOf(join(dir, name)) !== null) return dir;
    if (dir === dirname(dir)) return start;
  }
}

const REMEDY = "Name the folder of your skills, or make a project with: hull init";

function missing(path: string): CommandError {
  return new CommandError(EXIT.missing, "folder_missing", `There is no folder ${path}.`, REMEDY);
}

const isFolder = (path: string): boolean => statOf(path)?.isDirectory() === true;
const isFile = (path: string): boolean => statOf(path)?.isFile() === true;
