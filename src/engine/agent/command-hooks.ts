/** Command hooks of skills: which of them run at an event of a run, and what their ends mean. Pure. */
import { firstOf } from "../../cut.ts";
import { memo } from "../../memo.ts";
import { watches } from "../../skill/command-hooks.ts";
import { isObject, objectOf, own, textOf } from "../../skill/json.ts";
import { jsonOrText } from "../../skill/json-depth.ts";
import type { CommandHook, JsonObject } from "../../skill/manifest.ts";
import type { Warning } from "../messages.ts";
import type { AgentRecordBody } from "./records.ts";
import { mayRun } from "./skill-commands.ts";
import { placedText, skillsOf, skillsWithFoldersOf } from "./skill-text.ts";
import type { AgentSkill, AgentSpec } from "./spec.ts";
import { effects, isInForce, type OpenCall, type RunState } from "./state.ts";
import { type AgentStep, askHook, type HookStep, recorded } from "./step.ts";

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

/** A warning about the command hooks that may not run. */
export function hooksNotRun(spec: AgentSpec): Warning[] {
  const stopped = hooksOf(spec).filter(({ may }) => !may);
  const [first] = stopped;
  if (first === undefined) return [];
  const skills = [...new Set(stopped.map(({ skill }) => skill))].join(", ");
  const message = `These skills have command hooks that do not run: ${skills}. Bash may not run ${firstOf(first.command, 200)} without an approval.`;
  return [{ code: "hook_not_run", option: "skills", message }];
}

/** The skills whose command hooks watch the run's calls. */
export function watchersOf({ spec, active, loaded }: RunState): AgentSkill[] {
  const { own_skill, watchers: above = [] } = spec;
  return watchers(spec).filter(
    (skill) => skill === own_skill || above.includes(skill) || isInForce({ active, loaded }, skill.name),
  );
}

/** Whether the hook of this name runs only once in a run. */
export const runsOnce = (spec: AgentSpec, hook: string): boolean =>
  hooksOf(spec).some(({ name, once }) => once === true && name === hook);

/** A hook to ask, with what it gets in addition to arguments and result. */
export interface Question {
  question: Pick<HookStep, "effect" | "hook" | "purpose">;
  about: JsonObject;
}

/** A call of a tool, and its effect. */
export type CalledTool = Pick<OpenCall, "call" | "effect">;

/**
 * The command hooks to ask at an event.
 * @param call absent: the event is none of a call, and only the run's own skills count
 */
export function commandsAt(
  event: CommandHook["event"],
  run: RunState,
  { call, effect }: Pick<CalledTool, "effect"> & Partial<CalledTool>,
): Question[] {
  const { watchers: above = [] } = run.spec;
  const all = hooksOf(run.spec);
  if (all.length === 0) return [];
  const watching = watchersOf(run).filter((skill) => call !== undefined || !above.includes(skill));
  const names = watching.map(({ name }) => name);
  return all.flatMap((hook, number): Question[] => {
    const { name, skill, command, timeout_ms, once } = hook;
    if (hook.event !== event || !hook.may || !names.includes(skill)) return [];
    if (call !== undefined && !watches(hook.matcher, call.name)) return [];
    const asked = effects.commandHook(effect, number);
    const over = once === true && run.hooked?.includes(name) === true;
    if (over && own(run.hookResults, asked) === undefined) return [];
    const tool = call === undefined ? {} : { tool_name: call.name, tool_use_id: call.id };
    const about = { skill, command, timeout_ms, event, ...tool };
    return [{ question: { effect: asked, hook: name, purpose: "command" }, about }];
  });
}

/** What the hooks of an event of the run say, or the question that Hull must still ask. */
function askAll(
  event: CommandHook["event"],
  run: RunState,
  about: JsonObject,
): { said: JsonObject[] } | { ask: HookStep } {
  const said: JsonObject[] = [];
  for (const each of commandsAt(event, run, { effect: effects.commandEvent(run.iterations - 1, event) })) {
    const asked = askHook(run, each.question, () => ({ ...each.about, ...about }));
    if ("ask" in asked) return asked;
    said.push(objectOf(asked.answer));
  }
  return { said };
}

const PROMPT = "UserPromptSubmit";
const STOP = "Stop";

/** Asks the hooks about the request of a run, and records what they say; `null`: nothing is left to ask or to record. */
export function aboutPrompt(run: RunState, prompt: string): AgentStep | null {
  if (run.iterations !== 1 || run.feedback.some(({ kind }) => kind === PROMPT)) return null;
  const asked = askAll(PROMPT, run, { prompt });
  if ("ask" in asked) return asked.ask;
  const content = asked.said.flatMap(({ context }) => textOf(context) || []).join("\n");
  if (content === "") return null;
  return recorded({ type: "feedback_added", run: run.spec.run_id, feedback: { kind: PROMPT, content } });
}

/** The records of a turn with which the run ends, unless a hook sends it on. */
export function unlessSentOn(run: RunState, records: AgentRecordBody[]): AgentStep {
  const asked = askAll(STOP, run, { stop_hook_active: run.feedback.some(({ kind }) => kind === STOP) });
  if ("ask" in asked) return asked.ask;
  const content = asked.said.flatMap(({ deny }) => textOf(deny) || []).join("\n");
  if (content === "") return recorded(...records);
  const goesOn = records.flatMap((record): AgentRecordBody[] => {
    if (record.type === "run_settled") return [];
    return record.type === "turn_taken" ? [{ ...record, finished: false }] : [record];
  });
  return recorded(...goesOn, {
    type: "feedback_added",
    run: run.spec.run_id,
    feedback: { kind: STOP, content },
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
 * What the end of a hook's command means: `deny` refuses what the event announces, `confirm` asks a person about a call,
 * `args` replaces its arguments, `context` is for the model. Exit code 2 refuses, with stderr as the reason; any other
 * than 0 means nothing. Before a call, a command that Hull had to end refuses, since nobody knows what it would have
 * said. After a call nothing can be refused, and the reason is for the model.
 */
export function commandAnswer(
  event: CommandHook["event"],
  { exit_code, stdout, stderr }: CommandEnd,
): JsonObject {
  const before = event === "PreToolUse";
  const after = event === "PostToolUse" || event === "PostToolUseFailure";
  const refused = (reason: string): JsonObject => (after ? { context: reason } : { deny: reason });
  if (exit_code === null) return before ? refused(`A hook of the skill did not end: ${stdout}`) : {};
  if (exit_code === 2) return refused(stderr.trim() || stdout.trim() || "A hook of the skill refused it.");
  if (exit_code !== 0) return {};
  const given = jsonOrText(stdout);
  if (!isObject(given)) return event === PROMPT && stdout.trim() !== "" ? { context: stdout.trim() } : {};
  const said = { ...given, ...objectOf(given.hookSpecificOutput) };
  const decision = textOf(said.permissionDecision ?? said.decision);
  const reasons = [said.permissionDecisionReason, said.reason, said.stopReason, said.message];
  const reason = reasons.map(textOf).find(Boolean) ?? "A hook of the skill gave no reason.";
  const context = textOf(said.additionalContext);
  const told = context === "" ? {} : { context };
  // The run is to end, so nothing sends it on.
  if (event === STOP && said.continue === false) return {};
  if (said.continue === false || decision === "deny" || decision === "block")
    return { ...told, ...refused(after && context !== "" ? `${reason}\n${context}` : reason) };
  if (!before) return told;
  const args = isObject(said.updatedInput) ? { args: said.updatedInput } : {};
  return { ...told, ...args, ...(decision === "ask" ? { confirm: reason } : {}) };
}
