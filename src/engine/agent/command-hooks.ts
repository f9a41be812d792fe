/** Command hooks of skills: which of them run around a call, and what their ends mean. Pure. */
import { memo } from "../../memo.ts";
import { watches } from "../../skill/command-hooks.ts";
import { isObject, objectOf, own, textOf } from "../../skill/json.ts";
import { jsonOrText } from "../../skill/json-depth.ts";
import type { CommandHook, JsonObject } from "../../skill/manifest.ts";
import type { Warning } from "../messages.ts";
import { mayRun } from "./skill-commands.ts";
import { placedText, skillsOf, skillsWithFoldersOf } from "./skill-text.ts";
import type { AgentSkill, AgentSpec } from "./spec.ts";
import { effects, isInForce, type OpenCall, type RunState } from "./state.ts";
import type { HookStep } from "./step.ts";

/** A command hook of a run. */
interface RunHook extends CommandHook {
  /** Its name in records. */
  name: string;
  skill: string;
  /** Whether `Bash` could run the command without an approval. */
  may: boolean;
}

/** The skills that may watch a run's calls, each once: those of the runs above, then its own. */
const watchers = memo((spec: AgentSpec): readonly AgentSkill[] => {
  const { watchers: above = [] } = spec;
  const own = skillsOf(spec).filter(({ name }) => above.every((skill) => skill.name !== name));
  return [...above, ...own].filter(({ command_hooks }) => command_hooks !== undefined);
});

/** Their hooks. */
const hooksOf = memo((spec: AgentSpec): readonly RunHook[] =>
  watchers(spec).flatMap((skill) =>
    (skill.command_hooks ?? []).map((given, index) => {
      const command = placedText(skill, given.command, skillsWithFoldersOf(spec));
      const name = `${skill.name}#${given.event}.${index}`;
      return { ...given, command, name, skill: skill.name, may: mayRun(spec, skill, command) };
    }),
  ),
);

/** Warns of the command hooks that may not run. */
export function hooksNotRun(spec: AgentSpec): Warning[] {
  const stopped = hooksOf(spec).filter(({ may }) => !may);
  return Array.from(
    Map.groupBy(stopped, ({ skill }) => skill),
    ([skill, [first]]) => ({
      code: "hook_not_run",
      option: "skills",
      message: `Hooks of the skill ${skill} do not run: Bash may not run ${first?.command} without an approval.`,
    }),
  );
}

/** The skills whose command hooks watch the run's calls. */
export function watchersOf({ spec, active, loaded }: RunState): AgentSkill[] {
  const { own_skill, watchers: above = [] } = spec;
  return watchers(spec).filter(
    (skill) => skill === own_skill || above.includes(skill) || isInForce({ active, loaded }, skill.name),
  );
}

/** Whether the hook of this name runs for one call only. */
export const runsOnce = (spec: AgentSpec, hook: string): boolean =>
  hooksOf(spec).some(({ name, once }) => once === true && name === hook);

/** A hook to ask about a call, with what it gets in addition to arguments and result. */
export interface Question {
  question: Pick<HookStep, "effect" | "hook" | "purpose">;
  about: JsonObject;
}

/** A call of a tool, and its effect. */
export type CalledTool = Pick<OpenCall, "call" | "effect">;

/** The command hooks to ask at an event of a call. */
export function commandsAt(
  event: CommandHook["event"],
  run: RunState,
  { call, effect }: CalledTool,
): Question[] {
  const all = hooksOf(run.spec);
  if (all.length === 0) return [];
  const watching = watchersOf(run).map(({ name }) => name);
  return all.flatMap((hook, number): Question[] => {
    const { name, skill, command, timeout_ms, once } = hook;
    if (hook.event !== event || !hook.may || !watching.includes(skill) || !watches(hook.matcher, call.name))
      return [];
    const asked = effects.commandHook(effect, number);
    const over = once === true && run.hooked?.includes(name) === true;
    if (over && own(run.hookResults, asked) === undefined) return [];
    const about = { skill, command, timeout_ms, event, tool: call.name, call_id: call.id };
    return [{ question: { effect: asked, hook: name, purpose: "command" }, about }];
  });
}

/** How a hook's command ended. */
interface CommandEnd {
  /** `null`: it did not end by itself. */
  exit_code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * What the end of a hook's command means: `deny` refuses the call, `confirm` asks a person, `args` replaces the
 * arguments, `context` is for the model. Exit code 2 refuses, with stderr as the reason, and any other than 0 means nothing.
 * A command that Hull had to end refuses, since nobody knows what it would have said. After a call nothing can be refused, and the
 * reason is for the model. @param before the call
 */
export function commandAnswer(before: boolean, end: CommandEnd): JsonObject {
  const { exit_code, stdout, stderr } = end;
  const refused = (reason: string): JsonObject => (before ? { deny: reason } : { context: reason });
  if (exit_code === null) return before ? { deny: `A hook of the skill did not end: ${stdout}` } : {};
  if (exit_code === 2)
    return refused(stderr.trim() || stdout.trim() || "A hook of the skill refused the call.");
  const given = objectOf(exit_code === 0 ? jsonOrText(stdout) : null);
  const said = { ...given, ...objectOf(given.hookSpecificOutput) };
  const decision = textOf(said.permissionDecision ?? said.decision);
  const reason =
    [said.permissionDecisionReason, said.reason, said.stopReason, said.message].map(textOf).find(Boolean) ??
    "A hook of the skill gave no reason.";
  const context = textOf(said.additionalContext);
  const told = context === "" ? {} : { context };
  if (said.continue === false || decision === "deny" || decision === "block")
    return { ...told, ...refused(context === "" || before ? reason : `${reason}\n${context}`) };
  if (!before) return told;
  const args = isObject(said.updatedInput) ? { args: said.updatedInput } : {};
  return { ...told, ...args, ...(decision === "ask" ? { confirm: reason } : {}) };
}
