/** The agents to which a run's model may hand work. */

import type { AgentSkill } from "../../engine/agent/spec.ts";
import type { SkillRecord } from "../../skill/manifest.ts";
import { agentOf, agentsIn } from "../../skill/named-agents.ts";
import type { RunContext } from "../context.ts";

/** The slugs of the published agents that the texts of these skills name, sorted. */
export const agentsNamedBy = async (
  { deployment, background }: RunContext,
  records: readonly SkillRecord[],
): Promise<string[]> =>
  records.length === 0 ? [] : agentsIn(await deployment.registry.catalog(background), records);

/**
 * A skill with the text and the tools of the agent as which it works, according to its fields `context: fork` and
 * `agent`; the skill as it is, if the run has no such agent.
 * @param records of the run
 */
export function workingAs(
  skill: AgentSkill,
  record: SkillRecord,
  agents: readonly AgentSkill[],
  records: readonly SkillRecord[],
): AgentSkill {
  const wanted = agentOf(record, records);
  const agent = agents.find(({ name }) => name === wanted?.manifest.slug);
  if (agent === undefined) return skill;
  const { prompt, allowed_tools } = agent;
  return {
    ...skill,
    prompt: `${prompt}\n\n${skill.prompt}`,
    allowed_tools: skill.allowed_tools.length === 0 ? allowed_tools : skill.allowed_tools,
  };
}
