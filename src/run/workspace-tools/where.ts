/** Where a run's folders are in the runner, as the texts of its skills and the answers of its tools name them. */
import type { AgentSkill, AgentSpec } from "../../engine/agent/spec.ts";
import { sha256 } from "../../engine/sha256.ts";
import type { Settings } from "../../env.ts";
import { memoNamed } from "../../memo.ts";
import type { RunContext } from "../context.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";

/** The parent folder of a run's skills, and the name by which the runner knows it. */
export function skillsFolder(
  { settings }: Pick<RunContext, "settings">,
  { skills_key = NO_SKILLS }: Pick<AgentSpec, "skills_key">,
): { key: string; path: string } {
  return { key: skills_key, path: `${settings.runner.root}/skills/${skills_key}` };
}

/** A skill's folder in that parent folder. Only from inside the plugin's folder do links lead to the plugin's files. */
export const skillPath = ({
  name,
  plugin_path = "",
  plugin_linked,
}: Pick<AgentSkill, "name" | "plugin_path" | "plugin_linked">): string =>
  plugin_linked === undefined ? name : `.plugins/${name}/${plugin_path}`;

const NO_SKILLS = "0".repeat(16);

/** Each call of a skill that names its folder needs it, and a hash takes longer than the rest of its preparation. */
const hashed = memoNamed((_: Settings, text: string): string => sha256(text).slice(0, 16));

/**
 * The key of that folder. All runs of a session share it, since texts that name the folder stay in the conversation.
 * Runs without a session share it if they have the same skills.
 */
export function skillsKey(
  { settings, tenant }: Pick<RunContext, "settings" | "tenant">,
  session: string | null,
  skills: readonly { name: string; digest: string }[],
): string {
  if (skills.length === 0) return NO_SKILLS;
  const set = skills.map(({ name, digest }) => `${name} ${digest}`).sort();
  return hashed(settings, JSON.stringify(session === null ? [tenant, set] : [tenant, session]));
}

/** The run's work folder. */
export async function workFolder(
  { settings }: Pick<RunContext, "settings">,
  workspace: WorkspaceAccess,
): Promise<string> {
  const { id } = await workspace.workspaceVersion();
  return `${settings.runner.root}/workspaces/${id}/files`;
}
