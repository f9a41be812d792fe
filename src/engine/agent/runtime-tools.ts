/** The loop's own tools, in addition to those of a run. Pure. */
import type { ToolDefinition } from "../messages.ts";
import { resourceDefinition } from "./skill-resource.ts";
import { loadSkillTool, loadsSkills, searchesSkills, searchSkillsTool } from "./skills.ts";
import type { RunState } from "./state.ts";
import { keepsLedger, ledgerTool } from "./task-ledger.ts";

/** The tools on offer in every call of the run's model. */
export function runtimeTools(run: RunState): ToolDefinition[] {
  const { skills } = run.spec;
  const loads = loadsSkills(run.spec) && skills.some((skill) => !skill.disable_model_invocation);
  const reads = resourceDefinition(run.spec);
  return [
    ...(loads ? [loadSkillTool(skills)] : []),
    ...(searchesSkills(run.spec) ? [searchSkillsTool()] : []),
    ...(reads === null ? [] : [reads]),
    ...(keepsLedger(run) ? [ledgerTool()] : []),
  ];
}
