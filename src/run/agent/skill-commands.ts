/** Commands that a skill's author wrote, and that no call of the model asks for: those of its text and its command hooks. */
import { plainResult } from "../../engine/agent/call-results.ts";
import { commandAnswer } from "../../engine/agent/command-hooks.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { HookStep } from "../../engine/agent/step.ts";
import { commandParts, stderrOf } from "../../engine/workspace-tools/command-result.ts";
import { HookRefused } from "../../errors/hook.ts";
import type { HullError } from "../../errors.ts";
import { logLine } from "../../log.ts";
import { objectOf } from "../../skill/json.ts";
import { HOOK_EVENTS, type Json, type JsonObject, type SkillRecord } from "../../skill/manifest.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import type { Command } from "../workspace-tools/bash.ts";
import { WorkspaceTools } from "../workspace-tools/call.ts";
import { withArguments, withInput } from "../workspace-tools/variables.ts";
import { workFolder } from "../workspace-tools/where.ts";
import { isForModel } from "./for-model.ts";

interface CommandsOptions {
  context: RunContext;
  spec: AgentSpec;
  workspace: WorkspaceAccess | null;
  known: KnownExecutions | null;
  own?: { record: SkillRecord };
}

/** Runs the commands in a skill's text one after the other; returns the output of each. */
export async function skillCommands(
  options: CommandsOptions,
  { effect, payload }: HookStep,
  signal: AbortSignal,
): Promise<Json> {
  const { skill, commands, arguments: given } = objectOf(payload);
  const run = await runnerOf(options, String(skill), signal);
  if (run === null || !Array.isArray(commands)) return {};
  const outputs: JsonObject = {};
  for (const [index, command] of commands.entries()) {
    const args = { command: withArguments(String(command), String(given)) };
    const { content } = await run(
      `${effect}-${index}`,
      { args },
      ({ message }) => `[hull: not run: ${message}]`,
    );
    outputs[String(command)] = content;
  }
  return outputs;
}

/** Runs a command hook; returns what its end means for the call. */
export async function hookCommand(
  options: CommandsOptions,
  { effect, hook, payload }: HookStep,
  signal: AbortSignal,
): Promise<Json> {
  const { context, spec, workspace } = options;
  const { skill, command, timeout_ms = null, event, args, result, ...about } = objectOf(payload);
  const run = await runnerOf(options, String(skill), signal);
  const at = HOOK_EVENTS.find((known) => known === event);
  if (run === null || workspace === null || at === undefined) return null;
  const input = {
    session_id: spec.session_id,
    cwd: await workFolder(context, workspace),
    permission_mode: "default",
    hook_event_name: at,
    ...about,
    ...(args === undefined ? {} : { tool_input: args }),
    ...(result === undefined ? {} : { tool_response: result }),
  };
  const asked = { command: withInput(String(command), JSON.stringify(input)), timeout_ms };
  const { exit_code, content, value } = await run(
    effect,
    { args: asked, own_stderr: true },
    ({ message }) => message,
  );
  if (exit_code !== null && exit_code !== 0 && exit_code !== 2)
    logLine(context, { event: "hook_command_failed", run_id: spec.run_id, skill, hook, exit_code }, "warn");
  const end = { ...commandParts(content, exit_code, stderrOf(value)), exit_code };
  const answer = commandAnswer(at, end);
  if (at === "UserPromptSubmit" && typeof answer.deny === "string")
    throw new HookRefused({ hook, reason: answer.deny });
  return answer;
}

type Runs = (
  effect: string,
  command: Pick<Command, "args" | "own_stderr">,
  notRun: (error: HullError) => string,
) => Promise<AgentToolResult>;

/**
 * Runs commands in the run's work folder, with the variables of a skill. `null`: the run has no work folder. The model
 * did not make these calls, so no event reports them.
 */
async function runnerOf(
  { context, workspace, own, ...options }: CommandsOptions,
  skill: string,
  signal: AbortSignal,
): Promise<Runs | null> {
  if (workspace === null) return null;
  await context.beforeEffects();
  const tools = new WorkspaceTools({
    ...options,
    context,
    workspace,
    emit: () => {},
    own: own?.record ?? null,
  });
  return async (effect, command, notRun) => {
    const execution = `${options.spec.run_id}-${effect}`;
    return tools.ran({ ...command, skill, execution, signal }).catch((error: unknown) => {
      if (signal.aborted || !isForModel(error)) throw error;
      return plainResult("error", notRun(error), null);
    });
  };
}
