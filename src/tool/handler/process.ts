/** Executes a call of a handler as a process in the runner. */

import { sha256 } from "../../bytes.ts";
import { listNotKept } from "../../engine/tool-result.ts";
import { exactJson } from "../../skill/exact-json.ts";
import type { SkillRecord } from "../../skill/manifest.ts";
import { EMPTY_PACK, withEmptyPack } from "../empty-pack.ts";
import { type ExecutionRequest, executionSpec, type ProcessSettings } from "../execution.ts";
import { cutShort } from "../process-end.ts";
import { type ExecutionSpec, HANDLER_TEXT_LIMIT } from "../protocol.ts";
import type { Runner, RunOptions } from "../runner-client.ts";
import { runWithWorkspace, type ToolWorkspace } from "../with-workspace.ts";
import { failedCall, type HandlerCall, type HandlerOutcome } from "./call.ts";
import { MAX_CHANNEL_BYTES, outcomeOf, outcomeOfError } from "./process-outcome.ts";
import { ResultReader } from "./process-result.ts";

type Handler = NonNullable<ExecutionSpec["handler"]>;

/** What one execution in the runner needs. */
export interface ProcessDeps {
  /** All executions of a session go to the runner that its workspace's id selects. */
  runner: Runner;
  /**
   * With `known`, the process continues when its caller is gone, and a later call of the same execution id finds it.
   */
  options: Omit<RunOptions, "signal" | "workspace">;
  settings: Omit<ProcessSettings, "read">;
  /** The session's files, for this execution alone. Absent: the call has no session, and works in a new folder. */
  workspace?: ToolWorkspace;
}

const MAX_ARGUMENTS_BYTES = 16 * 1024 * 1024;

/**
 * Runs the call. A fault of the handler, or on the way to it, is an outcome. If the runner already knows the execution
 * id, Hull follows that execution and does not run it again.
 * @throws HullError for faults of the protocol, the registry and the workspace
 */
export async function runInRunner(call: HandlerCall, deps: ProcessDeps): Promise<HandlerOutcome> {
  const { tool, record, signal } = call;
  const { script } = tool;
  if (script === undefined || record.pack === null) {
    return failedCall("tool_error", `${tool.name} has no script that could be run.`, 0);
  }
  const handler = { language: languageOf(script, record), ...textsOf(call) };
  const tooLong = faultOfTexts(handler);
  if (tooLong !== null) return failedCall("tool_error", tooLong, 0);
  const stdin = new TextEncoder().encode(exactJson(call.args, call.raw));
  if (stdin.length > MAX_ARGUMENTS_BYTES) {
    return failedCall("tool_error", `The arguments have ${stdin.length} bytes as JSON.`, 0);
  }
  const spec = specOf(call, deps, {
    id: call.executionId,
    digest: record.pack,
    argv: [script],
    handler,
    timeoutMs: call.timeoutMs,
    detach: deps.options.known !== undefined,
  });
  const reader = new ResultReader(call.note);
  try {
    const execution = { ...deps, spec, input: { stdin }, options: { ...deps.options, signal } };
    const { status, notKept } = await runWithWorkspace(execution, (event) => {
      if (event.kind === "stdout") reader.result(event.bytes);
      else if (event.kind === "stderr") reader.stderr(event.bytes);
    });
    const outcome = outcomeOf(status, reader.end(), reader.stderrTail, call, spec);
    if (notKept.length === 0) return outcome;
    const message = `Not kept among the session's files: ${listNotKept(notKept, notKept.length)}.`;
    return { ...outcome, diagnostics: [...outcome.diagnostics, { code: "files_not_kept", message }] };
  } catch (error) {
    return outcomeOfError(error);
  }
}

/**
 * Runs Python for a handler, in the folder of the session's files. If the same call asks for the same code in the same
 * order again, it gets the same execution.
 * @param count how many times the call has requested Python, including this time
 * @param timeoutMs `null`: the time limit of the call
 * @throws HullError for faults of the runner
 */
export async function runPython(
  call: HandlerCall,
  code: string,
  count: number,
  timeoutMs: number | null,
  deps: ProcessDeps,
): Promise<{ stdout: string; stderr: string; exit_code: number }> {
  const { record, signal } = call;
  const handler = { language: "program" as const, ...textsOf(call) };
  const tooLong = faultOfTexts(handler);
  if (tooLong !== null) return { stdout: "", stderr: tooLong, exit_code: 1 };
  const spec = specOf(call, deps, {
    id: `python-${await sha256(JSON.stringify([call.executionId, count, code]))}`,
    digest: record.pack ?? EMPTY_PACK,
    argv: ["python3", "-"],
    handler,
    timeoutMs: Math.min(timeoutMs ?? call.timeoutMs, call.timeoutMs),
    detach: false,
  });
  const texts = { stdout: "", stderr: "" };
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const options = { ...deps.options, signal, pack: withEmptyPack(deps.options.pack) };
  const input = { stdin: new TextEncoder().encode(code) };
  const { status } = await runWithWorkspace({ ...deps, spec, input, options }, (event) => {
    if (event.kind === "stdout" || event.kind === "stderr")
      texts[event.kind] += decoders[event.kind].decode(event.bytes, { stream: true });
  });
  const cut = cutShort(status, spec);
  const remark = cut === null ? "" : `python3 was ${cut.remark}\n`;
  return { stdout: texts.stdout, stderr: texts.stderr + remark, exit_code: status.exit_code ?? 1 };
}

const specOf = (
  { runId, record, env }: HandlerCall,
  { settings, workspace }: ProcessDeps,
  of: Pick<ExecutionRequest, "id" | "digest" | "argv" | "handler" | "timeoutMs" | "detach">,
): ExecutionSpec =>
  executionSpec({
    ...of,
    runId,
    record,
    env,
    maxOutputBytes: MAX_CHANNEL_BYTES,
    input: { mode: "stdin" },
    output: "text",
    workspace,
    settings,
  });

function textsOf({ config, env, callId, sessionId, bot, models, tool }: HandlerCall) {
  const context = { env: Object.keys(env), callId, sessionId, bot, models, filesystem: tool.filesystem };
  return { config: JSON.stringify(config), context: JSON.stringify(context), network: tool.network };
}

function faultOfTexts({ config, context }: Handler): string | null {
  const length = Math.max(...[config, context].map((text) => new TextEncoder().encode(text).length));
  if (length <= HANDLER_TEXT_LIMIT) return null;
  return `The tool's configuration has ${length} bytes as JSON; a process takes ${HANDLER_TEXT_LIMIT}.`;
}

/** A script that Node cannot read directly counts as JavaScript, because the build has bundled it into one file. */
function languageOf(script: string, { files }: SkillRecord): Handler["language"] {
  if (script.endsWith(".py")) return "python";
  if (script.endsWith(".sh")) return "shell";
  const executable = files.some(({ path, mode }) => path === script && mode === 0o755);
  return /\.[cm]?[jt]s$/.test(script) && !(executable && script.endsWith(".cjs")) ? "node" : "file";
}
