/** Carries out a call of a handler as a process in the runner (skill-formats.md §4.2 to §4.4). */
import { ConcurrencyLimited } from "../../errors/request.ts";
import {
  ClientClosedRequest,
  ExecutionLost,
  RunnerBusy,
  RunnerDraining,
  RunnerProtocolError,
  RunnerUnavailable,
} from "../../errors/run.ts";
import type { SkillRecord } from "../../skill/manifest.ts";
import { executionSpec } from "../execution.ts";
import {
  DEPENDENCIES_FAULT,
  type EndedStatus,
  type ExecutionSpec,
  HANDLER_TEXT_LIMIT,
  sha256Hex,
} from "../protocol.ts";
import type { Runner, RunOptions } from "../runner-client.ts";
import { runWithWorkspace, type ToolWorkspace } from "../with-workspace.ts";
import { failedCall, type HandlerCall, type HandlerOutcome } from "./call.ts";
import { MAX_RESULT_BYTES, type ProcessResult, ResultReader } from "./process-result.ts";

type Handler = NonNullable<ExecutionSpec["handler"]>;

/** What one execution in the runner needs. */
export interface ProcessDeps {
  /** Of a session all executions meet the runner that is named by its workspace's id. */
  runner: Runner;
  /** With `known`, the process goes on when its caller is gone, and a later call of the same execution id finds it. */
  options: Omit<RunOptions, "signal" | "workspace">;
  graceMs: number;
  /** Variables that hold provider keys. */
  providerKeys: ReadonlySet<string>;
  /** The session's files, for this execution alone. Absent: the call has no session, and works in a new folder. */
  workspace?: ToolWorkspace;
}

/** Of the channel of results: the result itself, and what a handler tells meanwhile. */
const MAX_CHANNEL_BYTES = 32 * 1024 * 1024;
const MAX_ARGUMENTS_BYTES = 16 * 1024 * 1024;

const LOST =
  "The call was lost while it ran. It may or may not have taken effect, and was not made a second time.";

/**
 * Carries the call out. Faults of the handler and of the way to it are outcomes; an execution id that the runner knows is
 * followed, not run again.
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
  const stdin = new TextEncoder().encode(JSON.stringify(call.args));
  if (stdin.length > MAX_ARGUMENTS_BYTES) {
    return failedCall("tool_error", `The arguments have ${stdin.length} bytes as JSON.`, 0);
  }
  const spec = specOf(call, deps, {
    id: call.executionId,
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
    const outcome = outcomeOf(status, reader.end(), reader.stderrTail, call);
    if (notKept.length === 0) return outcome;
    const files = notKept.map(({ path, why }) => `${JSON.stringify(path)} (${why})`);
    const message = `Not kept among the session's files: ${files.join(", ")}.`;
    return { ...outcome, diagnostics: [...outcome.diagnostics, { code: "files_not_kept", message }] };
  } catch (error) {
    const outcome = outcomeOfError(error);
    if (outcome === null) throw error;
    return outcome;
  }
}

/** Calls of `ctx.python` so far, of the calls under way. */
const pythonCalls = new WeakMap<HandlerCall, number>();

/**
 * Runs Python for a handler (§7.8 `ctx.python`), where the session's files are. The same code, asked for in the same order by
 * the same call, is the same execution.
 * @param timeoutMs `null`: what the call itself has
 * @throws HullError for faults of the runner
 */
export async function runPython(
  call: HandlerCall,
  code: string,
  timeoutMs: number | null,
  deps: ProcessDeps,
): Promise<{ stdout: string; stderr: string; exit_code: number }> {
  const count = (pythonCalls.get(call) ?? 0) + 1;
  pythonCalls.set(call, count);
  const { record, signal } = call;
  const packed = { ...call, record: { ...record, pack: record.pack ?? EMPTY_PACK } };
  const handler = { language: "program" as const, ...textsOf(call) };
  const tooLong = faultOfTexts(handler);
  if (tooLong !== null) return { stdout: "", stderr: tooLong, exit_code: 1 };
  const spec = specOf(packed, deps, {
    id: `python-${await sha256Hex(JSON.stringify([call.executionId, count, code]))}`,
    argv: ["python3", "-"],
    handler,
    timeoutMs: Math.min(timeoutMs ?? call.timeoutMs, call.timeoutMs),
    detach: false,
  });
  const texts = { stdout: "", stderr: "" };
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const options = {
    ...deps.options,
    signal,
    pack: (digest: string) =>
      digest === EMPTY_PACK ? Promise.resolve(new Uint8Array(EMPTY_PACK_BYTES)) : deps.options.pack(digest),
  };
  const input = { stdin: new TextEncoder().encode(code) };
  const { status } = await runWithWorkspace({ ...deps, spec, input, options }, (event) => {
    if (event.kind === "stdout" || event.kind === "stderr")
      texts[event.kind] += decoders[event.kind].decode(event.bytes, { stream: true });
  });
  const remark = status.cause === "exit" ? "" : `${causeText(status, "python3", spec.timeout_ms)}\n`;
  return { stdout: texts.stdout, stderr: texts.stderr + remark, exit_code: status.exit_code ?? 1 };
}

/** A tar without a file, for skills that have none in the runner. */
const EMPTY_PACK_BYTES = 1024;
const EMPTY_PACK = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";

function specOf(
  call: HandlerCall,
  { providerKeys, graceMs, workspace }: ProcessDeps,
  of: { id: string; argv: string[]; handler: Handler; timeoutMs: number; detach: boolean },
): ExecutionSpec {
  const spec = executionSpec({
    ...of,
    runId: call.runId,
    record: call.record,
    graceMs,
    maxOutputBytes: MAX_CHANNEL_BYTES,
    input: { mode: "stdin" },
    output: "text",
    ...(workspace === undefined
      ? {}
      : { workspace: { id: workspace.id, version: workspace.version, cwd: true } }),
    variables: Object.keys(call.env),
    read: (name) => call.env[name],
    granted: null,
    providerKeys,
  });
  if (spec === null) throw new RunnerProtocolError({ reason: "a skill without files has nothing to run" });
  return spec;
}

function textsOf({ config, env, callId, sessionId, bot, models, tool }: HandlerCall) {
  const context = { env: Object.keys(env), callId, sessionId, bot, models, filesystem: tool.filesystem };
  return { config: JSON.stringify(config), context: JSON.stringify(context) };
}

function faultOfTexts({ config, context }: Handler): string | null {
  const length = Math.max(...[config, context].map((text) => new TextEncoder().encode(text).length));
  if (length <= HANDLER_TEXT_LIMIT) return null;
  return `The tool's configuration has ${length} bytes as JSON; a process takes ${HANDLER_TEXT_LIMIT}.`;
}

/** §3 L4, §4.2. The build has made one JavaScript file of what Node could not read as it is. */
function languageOf(script: string, { files }: SkillRecord): Handler["language"] {
  if (script.endsWith(".py")) return "python";
  if (script.endsWith(".sh")) return "shell";
  const executable = files.some(({ path, mode }) => path === script && mode === 0o755);
  return /\.[cm]?[jt]s$/.test(script) && !(executable && script.endsWith(".cjs")) ? "node" : "file";
}

function outcomeOf(
  status: EndedStatus,
  result: ProcessResult | null,
  stderr: string,
  { tool, timeoutMs }: HandlerCall,
): HandlerOutcome {
  const { duration_ms, exit_code } = status;
  const script = tool.script ?? tool.name;
  const failed = (error: string): HandlerOutcome => ({
    ...failedCall("tool_error", error, duration_ms),
    exit_code,
  });
  if (status.cause === "cancelled") return failedCall("cancelled", "The call was cancelled.", duration_ms);
  if (status.cause === "timed_out") {
    const error = `${tool.name} was stopped: its time limit is ${timeoutMs} ms.`;
    return { ...failedCall("timeout", error, duration_ms), exit_code };
  }
  if (status.cause === "spawn_failed" && status.reason === DEPENDENCIES_FAULT)
    return failed(`The packages that ${script} needs could not be installed:\n${stderr}`);
  if (status.cause === "lost") return lost(duration_ms);
  if (status.cause !== "exit") return failed(causeText(status, script, timeoutMs));
  if (result?.kind === "error") return failed(result.error);
  if (result?.kind === "too_large") return failed(`The result has more than ${MAX_RESULT_BYTES} bytes.`);
  if (exit_code !== 0)
    return failed([`${script} ended with status ${exit_code}.`, stderr].filter(Boolean).join("\n"));
  const succeeded = { fault: null, duration_ms, exit_code };
  if (result?.kind !== "text") return { value: result?.value ?? null, ...succeeded, diagnostics: [] };
  const message = `What ${script} wrote to stdout is not JSON: it was taken as a text.`;
  return { value: result.text, ...succeeded, diagnostics: [{ code: "stdout_not_json", message }] };
}

/** Ends that a process says nothing of itself. */
function causeText({ cause, signal, reason }: EndedStatus, script: string, timeoutMs: number): string {
  switch (cause) {
    case "timed_out":
      return `It was stopped after ${timeoutMs} ms.`;
    case "out_of_memory":
      return `${script} used more memory than it may, and was ended.`;
    case "signal":
      return `${script} was ended by ${signal ?? "a signal"}.`;
    case "output_too_large":
      return `${script} wrote more than ${MAX_CHANNEL_BYTES} bytes.`;
    case "command_not_found":
      return `${script} cannot be started: the runner lacks it, or its interpreter.`;
    case "spawn_failed":
      return reason === "EACCES"
        ? `${script} cannot be started: it is not executable.`
        : `${script} cannot be started (${reason ?? "for an unknown reason"}): a file of its kind needs a #! line.`;
    default:
      return `${script} was stopped.`;
  }
}

const lost = (durationMs: number): HandlerOutcome => ({
  ...failedCall("tool_error", LOST, durationMs),
  diagnostics: [{ code: "outcome_unknown", message: LOST }],
});

/** Faults on the way to the runner as an outcome; `null`: it is none of these. */
function outcomeOfError(error: unknown): HandlerOutcome | null {
  if (error instanceof ClientClosedRequest) return failedCall("cancelled", "The call was cancelled.", 0);
  if (error instanceof ExecutionLost) return lost(0);
  const unavailable = [RunnerUnavailable, RunnerBusy, RunnerDraining, ConcurrencyLimited];
  for (const kind of unavailable) {
    if (error instanceof kind) return failedCall("unavailable", error.data.detail, 0);
  }
  return null;
}
