/** Commands in skills' texts that their outputs replace: which commands run, and what they wrote. Pure. */

import { objectOf } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import { approvedBeforehand } from "../workspace-tools/approved.ts";
import { knownSkill, skillOutputs } from "./known-skills.ts";
import { judgeCall } from "./policy.ts";
import { commandsOf, skillsOf } from "./skill-text.ts";
import type { AgentSkill, AgentSpec } from "./spec.ts";
import { type AgentState, effects, type RunState } from "./state.ts";
import type { AgentStep } from "./step.ts";

/** The name of the hook for a skill's commands. */
const MARK = "!";

/**
 * The commands of a skill that must run before its text is shown; `null`: there are none, or they have run.
 * @param given what the skill is called with
 */
export function dueCommands(
  state: AgentState,
  run: RunState,
  skill: AgentSkill,
  given = skill.arguments ?? knownSkill(state, skill.name)?.arguments ?? "",
): AgentStep | null {
  if (skillOutputs(state, skill.name) !== undefined) return null;
  const commands = commandsOf(skill, skillsOf(run.spec));
  if (commands.length === 0 || !commands.every((command) => mayRun(run.spec, skill, command))) return null;
  return {
    type: "call_hook",
    effect: effects.skillCommands(run.iterations - 1, skill.name),
    hook: `${MARK}${skill.name}`,
    purpose: "skill_commands",
    payload: { skill: skill.name, commands, arguments: given },
  };
}

/** Whether `Bash` could run the command without an approval. Commands of uploads never run. */
export function mayRun({ tools, policies }: AgentSpec, skill: AgentSkill, command: string): boolean {
  const bash = tools.find(({ executor, handler }) => executor === "workspace" && handler === "Bash");
  if (bash === undefined || skill.uploaded === true) return false;
  const args = { command };
  const verdict = judgeCall(policies, bash, args, () => undefined);
  if (verdict.verdict === "allow") return true;
  return verdict.verdict === "ask" && verdict.by_risk && approvedBeforehand([skill], bash, args);
}

/** The session's outputs after a hook; empty if the hook was not one of these. */
export function withCommandOutputs(
  { outputs = {} }: AgentState,
  hook: string,
  result: Json,
): Pick<AgentState, "outputs"> | null {
  if (!hook.startsWith(MARK)) return null;
  const own = Object.entries(objectOf(result)).flatMap(([command, output]): [string, string][] =>
    typeof output === "string" ? [[command, output]] : [],
  );
  return { outputs: { ...outputs, [hook.slice(MARK.length)]: Object.fromEntries(own) } };
}
