/** Calls that Hull carried out, and calls of a client's own shell, as items of a response. */
import { firstWords } from "../../cut.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { ToolCallBlock } from "../../engine/messages.ts";
import { closedObject, texts, whole } from "../../engine/parameters.ts";
import { shellCommands, shellOutputs } from "../../engine/workspace-tools/code-tools.ts";
import type { JsonObject } from "../../skill/manifest.ts";

/** The name under which the model sees the shell. */
export const SHELL = "shell";

/** A tool that a client offers as `{type: "shell", environment: {type: "local"}}`. */
export const LOCAL_SHELL = {
  name: SHELL,
  description: "Runs commands with the user's shell, one after the other.",
  parameters: closedObject(
    { commands: texts("The commands"), timeout_ms: whole("Most milliseconds for all commands", 1) },
    ["commands"],
  ),
};

/**
 * The members of a call's item other than id and status. Another tool's call appears as a command: its name and
 * arguments.
 */
export function shellCall(
  { id, name, arguments: given, raw }: ToolCallBlock,
  container: string | null,
): JsonObject {
  const args = given ?? {};
  const { timeout_ms = null } = args;
  const own = name === SHELL;
  const action: JsonObject = {
    commands: own ? shellCommands(args) : [firstWords(`${name} ${raw}`, 1000)],
    max_output_length: null,
    timeout_ms: own ? timeout_ms : null,
    ...(own ? {} : { tool: name, arguments: args }),
  };
  const environment: JsonObject =
    container === null ? { type: "local" } : { type: "container_reference", container_id: container };
  return { type: "shell_call", call_id: id, action, environment };
}

/** The parts of a result that its item shows; `commands`: the number of the call's commands. */
export type ShownResult = Pick<AgentToolResult, "content" | "exit_code" | "error_category" | "status"> & {
  id: string;
  name: string;
  commands: number;
  /** As of `stderrOf`; absent: none. */
  stderr?: string;
};

/** The members of its result's item other than id and status. */
export function shellOutput(result: ShownResult): JsonObject {
  const { id, name, commands, content, stderr: errors = "", exit_code, error_category, status } = result;
  const last = exit_code ?? (status === "ok" ? 0 : 1);
  const whole =
    name === SHELL
      ? shellOutputs(content, { commands, exit_code, stderr: errors })
      : [{ stdout: content, stderr: "", exit_code: null }];
  const output = whole.map(({ stdout, stderr, exit_code: code }, n): JsonObject => {
    const stopped = error_category === "timeout" && n === whole.length - 1;
    const outcome: JsonObject = stopped ? { type: "timeout" } : { type: "exit", exit_code: code ?? last };
    return { stdout, stderr, outcome };
  });
  return { type: "shell_call_output", call_id: id, max_output_length: null, output };
}
