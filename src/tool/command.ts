/** Executes one call of a command tool in the runner. */
import type { AgentToolResult } from "../engine/agent/records.ts";
import { commandLine } from "../engine/arguments.ts";
import type { ToolCallBlock } from "../engine/messages.ts";
import {
  listNotKept,
  OutputWindow,
  type ProcessEnd,
  processResult,
  refusedCall,
} from "../engine/tool-result.ts";
import { ExecutionLost } from "../errors/run.ts";
import type { Redactor } from "../redact.ts";
import { defined } from "../skill/json.ts";
import type { SkillRecord } from "../skill/manifest.ts";
import { allowedVariables, type ExecutionRequest, executionSpec, type ProcessSettings } from "./execution.ts";
import type { ExecutionInput } from "./multipart.ts";
import { LOST, toolCutShort } from "./process-end.ts";
import type { EndedStatus, ExecutionSpec } from "./protocol.ts";
import type { Runner, RunOptions } from "./runner-client.ts";
import { runWithWorkspace, type ToolWorkspace } from "./with-workspace.ts";

interface CommandToolContext extends Pick<ExecutionRequest, "runId" | "timeoutMs"> {
  record: SkillRecord;
  /** The variables that the skill may have; `null` means any. */
  granted: ReadonlySet<string> | null;
  /** `redactor`: removes what the model may not read. */
  settings: ProcessSettings & { max_output_bytes: number; redactor: Redactor };
  runner: Runner;
  options: RunOptions;
  /** Execution id of this call, unique to run, round and call. */
  executionId: string;
  /** Files of the request. Tools see the first one as HULL_INPUT_FILE. */
  files: NonNullable<ExecutionInput["files"]>;
  /** Absent: the call has no session. */
  workspace?: ToolWorkspace;
  /** Called when the process starts, with the ms that the call waited in the queue. */
  started?: (queueMs: number) => void;
}

/**
 * Runs the call and renders its result. Faults of the tool are results for the model. So is the loss of a detached
 * call, after one repetition if its tool is idempotent: the model can find out what happened, or ask.
 * @throws HullError for other faults of the runner, which end the run
 */
export async function runCommandTool(
  call: ToolCallBlock,
  context: CommandToolContext,
): Promise<AgentToolResult> {
  const { record, settings, files, workspace } = context;
  const tools = record.manifest.llm?.tools ?? [];
  const tool = tools.find((t) => t.name === call.name);
  if (tool === undefined) {
    const names = tools.map((t) => t.name);
    return refusedCall("unknown_tool", `There is no tool "${call.name}". Use one of: ${names.join(", ")}.`);
  }
  const line = commandLine(call, tool);
  if (!line.ok) return refusedCall(line.code, line.message);
  const { manifest, pack } = record;
  if (pack === null) return refusedCall("command_not_found", "The skill has no files to run.");
  const first = files[0];
  const described = (id: string): ExecutionSpec =>
    executionSpec({
      id,
      runId: context.runId,
      record,
      digest: pack,
      argv: line.argv,
      env: allowedVariables(manifest.tool_env, settings, context.granted),
      timeoutMs: context.timeoutMs,
      maxOutputBytes: settings.max_output_bytes,
      input: {
        mode: first === undefined ? "none" : "file",
        ...defined({ mime: first?.mime, filename: first?.filename || undefined }),
      },
      output: "text",
      detach: context.options.known !== undefined,
      workspace,
      settings,
    });
  const ids = [context.executionId, ...(tool.idempotent === true ? [`${context.executionId}-again`] : [])];
  for (const id of ids) {
    const result = await executed(described(id), context);
    if (result !== null) return result;
  }
  return refusedCall("outcome_unknown", `The tool was ${LOST}`);
}

/** Runs the execution to its end; `null` if a detached execution was lost. */
async function executed(spec: ExecutionSpec, context: CommandToolContext): Promise<AgentToolResult | null> {
  const { record, files } = context;
  const { redactor } = context.settings;
  const limit = record.manifest.llm?.max_tool_output_bytes ?? 65_536;
  const stdout = new OutputWindow(limit);
  const stderr = new OutputWindow(limit);
  // Redacted before the window cuts the output: the redactor would not recognise half of a secret.
  const clean = { stdout: redactor.stream(), stderr: redactor.stream() };
  try {
    const { status, notKept } = await runWithWorkspace({ ...context, spec, input: { files } }, (event) => {
      if (event.kind === "started") context.started?.(event.queue_ms);
      else if (event.kind === "stdout") stdout.push(clean.stdout.push(event.bytes));
      else if (event.kind === "stderr") stderr.push(clean.stderr.push(event.bytes));
    });
    stdout.push(clean.stdout.end());
    stderr.push(clean.stderr.end());
    return withNotKept(processResult(processEnd(status, spec), stdout, stderr), notKept);
  } catch (error) {
    if (!spec.detach || !(error instanceof ExecutionLost)) throw error;
    return null;
  }
}

function withNotKept(
  result: AgentToolResult,
  notKept: readonly { path: string; why: string }[],
): AgentToolResult {
  if (notKept.length === 0) return result;
  const line = `[not kept among the session's files: ${listNotKept(notKept)}]`;
  return { ...result, content: result.content === "" ? line : `${result.content}\n${line}` };
}

function processEnd(status: EndedStatus, spec: ExecutionSpec): ProcessEnd {
  const { exit_code, duration_ms } = status;
  if (status.cause === "lost") throw new ExecutionLost({ id: spec.id });
  const cut = toolCutShort(status, spec);
  if (cut !== null) return { code: cut.code, exit_code, duration_ms, remark: `It was ${cut.remark}` };
  return { code: exit_code === 0 ? null : "exit_nonzero", exit_code, duration_ms };
}
