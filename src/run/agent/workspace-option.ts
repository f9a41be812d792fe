/** Which workspace tools a run has, and where the folders of its skills are. */
import { namesFolder } from "../../engine/agent/skill-text.ts";
import type { AgentSkill, AgentSpec, AgentTool } from "../../engine/agent/spec.ts";
import type { Warning } from "../../engine/messages.ts";
import { workspaceTools } from "../../engine/workspace-tools/definitions.ts";
import { PUBLIC_TENANT } from "../../env.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import type { SkillRecord } from "../../skill/manifest.ts";
import { WORKSPACE_TOOLS, type WorkspaceTool, workspaceTool } from "../../skill/tool-names.ts";
import { givesWorkspaceTools } from "../../skill/workspace-tools.ts";
import type { RunContext } from "../context.ts";
import { withRequiredApproval } from "../handler/policy.ts";
import { mayHaveWorkspaceTools } from "../variables.ts";
import { skillPath, skillsFolder, skillsKey } from "../workspace-tools/where.ts";
import { ignored } from "./ignored-options.ts";

/** The workspace tools of a run, with the risk that the deployment gives them. @param others the run's other tools */
export function workspaceToolsOf(
  context: RunContext,
  given: boolean | readonly string[] | undefined,
  records: readonly SkillRecord[],
  others: readonly AgentTool[],
): AgentTool[] {
  const wanted = wantedWorkspaceTools(context, given, records);
  return workspaceTools(wanted, others).map((tool) => withRequiredApproval(context.settings, tool));
}

/**
 * The workspace tools of a run, without those whose names other tools have.
 * @param given the run's option
 * @param records of the served skills of the run
 * @throws InvalidRequest if the option names something else
 */
function wantedWorkspaceTools(
  context: Pick<RunContext, "settings" | "tenant">,
  given: boolean | readonly string[] | undefined,
  records: readonly SkillRecord[],
): WorkspaceTool[] {
  const asked = typeof given === "object" ? given.map(named) : given;
  // A public deployment runs its own skills for everybody, but not commands that anybody chooses.
  if (context.tenant === PUBLIC_TENANT) {
    if (asked !== undefined && asked !== false)
      throw new InvalidRequest({
        option: "workspace_tools",
        detail: "workspace_tools are for callers with a key.",
      });
    if (records.length === 0) return [];
  }
  const { enabled } = context.settings.workspace_tools;
  const trusted = records.filter((record) => mayHaveWorkspaceTools(context.settings, record));
  // A run that consists only of uploads has the rights of uploads.
  if (enabled === "never" || asked === false || (records.length > 0 && trusted.length === 0)) return [];
  if (typeof asked === "object") return WORKSPACE_TOOLS.filter((name) => asked.includes(name));
  if (asked === true) return [...WORKSPACE_TOOLS];
  const wanting = trusted.filter(givesWorkspaceTools).map(({ manifest }) => manifest.workspace_tools);
  const lists = wanting.map((declared) => (Array.isArray(declared) ? declared : WORKSPACE_TOOLS));
  if (enabled === "always" && trusted.every(({ manifest }) => manifest.workspace_tools === undefined))
    return [...WORKSPACE_TOOLS];
  return WORKSPACE_TOOLS.filter((name) => lists.some((list) => list.includes(name)));
}

/** The warning, with the reason, if a run asks for workspace tools and gets none. */
export function withheldWorkspaceTools(
  context: Pick<RunContext, "settings" | "tenant">,
  given: boolean | readonly string[] | undefined,
  records: readonly SkillRecord[],
): Warning[] {
  const asks = typeof given === "object" ? given.length > 0 : given === true;
  if (!asks || wantedWorkspaceTools(context, given, records).length > 0) return [];
  const why =
    context.settings.workspace_tools.enabled === "never"
      ? 'hull.toml says [workspace_tools] enabled = "never"'
      : "all skills of the run are uploaded ones, to which HULL_GRANTS does not give workspace_tools";
  return [ignored("workspace_tools", why)];
}

/** Whether a call of a served skill accepts files of any kind, because its run has tools to work on them. */
export const takesAnyFile = (
  context: Pick<RunContext, "settings" | "tenant">,
  record: SkillRecord,
): boolean => record.manifest.mode === "llm" && wantedWorkspaceTools(context, undefined, [record]).length > 0;

function named(name: string): WorkspaceTool {
  const tool = workspaceTool(name);
  if (tool !== null) return tool;
  throw new InvalidRequest({
    option: "workspace_tools",
    detail: `workspace_tools names "${name}". There are: ${WORKSPACE_TOOLS.join(", ")}.`,
  });
}

/** The skills of a run with their folders. @param given `tools`: the run has workspace tools */
export function skillsWithFolders(
  context: RunContext,
  session: string | null,
  {
    skills,
    agents,
    own,
    tools,
  }: { skills: readonly AgentSkill[]; agents: readonly AgentSkill[]; own: AgentSkill | null; tools: boolean },
): Pick<AgentSpec, "skills" | "agents" | "own_skill" | "skills_key"> {
  const served = [...(own === null ? [] : [own]), ...skills, ...agents].flatMap(({ name, digest, files }) =>
    files === undefined || digest === undefined ? [] : [{ name, digest }],
  );
  if (served.length === 0) return { skills: [...skills], ...(own === null ? {} : { own_skill: own }) };
  const skills_key = skillsKey(context, session, served);
  const { path } = skillsFolder(context, { skills_key });
  const placed = (skill: AgentSkill): AgentSkill => {
    if (skill.files === undefined) return skill;
    // Only commands, and texts that name the folder, can use a folder that contains only SKILL.md.
    const { name, files, plugin_path, plugin_linked: linked = false } = skill;
    if (files.count === 0 && !tools && !linked && !namesFolder(skill)) return skill;
    const dir = `${path}/${skillPath(skill)}`;
    return {
      ...skill,
      dir,
      ...(plugin_path === undefined ? {} : { plugin_dir: `${path}/.plugins/${name}` }),
    };
  };
  return {
    skills: skills.map(placed),
    ...(agents.length === 0 ? {} : { agents: agents.map(placed) }),
    ...(own === null ? {} : { own_skill: placed(own) }),
    skills_key,
  };
}
