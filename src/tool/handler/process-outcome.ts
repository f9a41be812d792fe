/** Turns the end of a handler's process into the outcome of its call. */
import { ConcurrencyLimited } from "../../errors/request.ts";
import {
  ClientClosedRequest,
  ExecutionLost,
  RunnerBusy,
  RunnerDraining,
  RunnerUnavailable,
} from "../../errors/run.ts";
import { DEPENDENCIES_FAULT, type EndedStatus } from "../protocol.ts";
import { failedCall, type HandlerCall, type HandlerOutcome, networkHint } from "./call.ts";
import { MAX_RESULT_BYTES, type ProcessResult } from "./process-result.ts";

/** The most bytes that a handler's process may write: its result and its notes. */
export const MAX_CHANNEL_BYTES = 32 * 1024 * 1024;

const CANCELLED = "The call was cancelled.";
const LOST =
  "The call was lost while it ran. It may or may not have taken effect, and was not made a second time.";

/**
 * The outcome of a process that has ended.
 * @param stderr its last characters
 */
export function outcomeOf(
  status: EndedStatus,
  result: ProcessResult | null,
  stderr: string,
  { tool, timeoutMs }: HandlerCall,
): HandlerOutcome {
  const { duration_ms, exit_code } = status;
  const script = tool.script ?? tool.name;
  const failed = (error: string): HandlerOutcome => ({
    ...failedCall("tool_error", error + networkHint(error, tool), duration_ms),
    exit_code,
  });
  if (status.cause === "cancelled") return failedCall("cancelled", CANCELLED, duration_ms);
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

/** A sentence for ends that a process does not explain itself. */
export function causeText({ cause, signal, reason }: EndedStatus, script: string, timeoutMs: number): string {
  switch (cause) {
    case "timed_out":
      return `It was stopped after ${timeoutMs} ms.`;
    case "out_of_memory":
      return `${script} exceeded its memory limit and was killed.`;
    case "signal":
      return `${script} was terminated by ${signal ?? "a signal"}.`;
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

/** Turns faults on the way to the runner into outcomes. @throws any other error unchanged */
export function outcomeOfError(error: unknown): HandlerOutcome {
  if (error instanceof ClientClosedRequest) return failedCall("cancelled", CANCELLED, 0);
  if (error instanceof ExecutionLost) return lost(0);
  for (const kind of [RunnerUnavailable, RunnerBusy, RunnerDraining, ConcurrencyLimited]) {
    if (error instanceof kind) return failedCall("unavailable", error.data.detail, 0);
  }
  throw error;
}
