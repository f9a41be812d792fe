/** The tool that reads files of a run's skills: which calls may be made. Pure. */
import { memo } from "../../memo.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { insidePath, pluginPath } from "../../skill/path.ts";
import type { ToolDefinition } from "../messages.ts";
import { closedObject, text, whole } from "../parameters.ts";
import { knownSkill } from "./known-skills.ts";
import { skillCalled } from "./skill-prefix.ts";
import { listedSkills, skillsOf } from "./skill-text.ts";
import type { AgentSkill, AgentSpec, AgentTool } from "./spec.ts";
import type { AgentState, RunState } from "./state.ts";

export const READ_SKILL_RESOURCE = "read_skill_resource";

/** Characters of a slice by default, and at most. */
export const SLICE_CHARS = 16_000;
export const MAX_SLICE_CHARS = 64_000;

const hasFiles = ({ files, plugin_path }: AgentSkill): boolean =>
  (files !== undefined && files.count > 0) || plugin_path !== undefined;

/**
 * The skills whose files the model may read: the run's own, listed ones, and hidden ones that a person has activated.
 */
function readable({ spec }: RunState, state: Pick<AgentState, "known">): AgentSkill[] {
  const activated = spec.skills.filter(({ name }) => knownSkill(state, name) !== undefined);
  const open = [...(spec.own_skill === undefined ? [] : [spec.own_skill]), ...listedSkills(spec.skills)];
  return [...new Set([...open, ...activated])].filter(hasFiles);
}

/**
 * The tool's definition; `null`: no skill of the run has files, or the run has its own tool of this name. It stays the
 * same throughout the run.
 */
export const resourceDefinition = memo(({ skills, own_skill, tools }: AgentSpec): ToolDefinition | null => {
  if (tools.some(({ definition }) => definition.name === READ_SKILL_RESOURCE)) return null;
  const own = own_skill !== undefined && hasFiles(own_skill);
  return own || skills.some(hasFiles) ? resourceToolDefinition() : null;
});

function resourceToolDefinition(): ToolDefinition {
  const properties = {
    skill: text("Name of the skill"),
    path: text("Path in the skill's folder, e.g. references/a.md"),
    offset: whole("Characters to leave out before the slice; 0 unless given"),
    limit: whole(`Characters of the slice; ${SLICE_CHARS} unless given, at most ${MAX_SLICE_CHARS}`),
  };
  return {
    name: READ_SKILL_RESOURCE,
    description:
      "Reads a file of a skill: text in slices, images as images, of other files their size and type.",
    parameters: closedObject(properties, ["skill", "path"]),
  };
}

/** The tool as the driver executes it. */
export const resourceTool = (definition: ToolDefinition): AgentTool => ({
  definition,
  executor: "builtin",
  annotations: { kind: "read", side_effect_level: "none" },
  handler: null,
  skill: null,
});

/**
 * A call's arguments if its path, or its skill, is written as a folder of the run: `DIR/references/a.md`,
 * `skill://name/references/a.md`, `../other/a.md`. The path of a file of the plugin becomes relative to the skill's folder.
 */
export function resourceArguments(spec: AgentSpec, args: JsonObject | null): JsonObject {
  const given = args ?? {};
  const all = skillsOf(spec);
  const { skill, path } = given;
  const named = typeof skill === "string" ? skillCalled(skill, all) : undefined;
  const own = named === undefined ? given : { ...given, skill: named.name };
  if (typeof path !== "string") return own;
  const up = path.startsWith("../") && named !== undefined;
  const siblingPath = up ? insidePath(`${named.name}/${path}`) : null;
  for (const { name, dir = `skill://${name}`, plugin_dir, plugin_path = "" } of all) {
    for (const folder of [dir, `skill://${name}`])
      if (path.startsWith(`${folder}/`)) return { ...own, skill: name, path: path.slice(folder.length + 1) };
    if (siblingPath?.startsWith(`${name}/`))
      return { ...own, skill: name, path: siblingPath.slice(name.length + 1) };
    if (plugin_dir !== undefined && path.startsWith(`${plugin_dir}/`)) {
      const up = plugin_path.replace(/[^/]+/g, "..");
      return { ...own, skill: name, path: `${up}${path.slice(plugin_dir.length)}` };
    }
  }
  return own;
}

/** Why a call is refused; `null`: it is not. */
export function resourceFault(state: AgentState, run: RunState, args: JsonObject | null): string | null {
  const all = readable(run, state);
  const { skill, path, offset = 0, limit = SLICE_CHARS } = args ?? {};
  const found = all.find(({ name }) => name === skill);
  if (found === undefined) {
    const fault =
      skill === undefined ? "skill is missing." : `There is no skill ${JSON.stringify(skill)} with files.`;
    return `${fault} There are: ${all.map(({ name }) => name).join(", ")}.`;
  }
  if (typeof path !== "string") return "path must be the path of a file in the skill's folder.";
  if (insidePath(path) === null && pluginPath(path, found.plugin_path ?? "") === null)
    return `${JSON.stringify(path)} is not inside the skill's folder.`;
  const whole = [offset, limit].every(
    (value) => typeof value === "number" && Number.isInteger(value) && value >= 0,
  );
  return whole ? null : "offset and limit must be whole numbers from 0.";
}
