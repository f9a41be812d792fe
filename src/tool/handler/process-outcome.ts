/** Turns the end of a handler's process into the outcome of its call. */
import { ConcurrencyLimited } from "../../errors/request.ts";
import {
  ClientClosedRequest,
  ExecutionLost,
  RunnerBusy,
  RunnerDraining,
  RunnerUnavailable,
} from "../../errors/run.ts";
import { cutShort, LOST } from "../process-end.ts";
import { DEPENDENCIES_FAULT, type EndedStatus, type ExecutionSpec } from "../protocol.ts";
import { CANCELLED, failedCall, type HandlerCall, type HandlerOutcome, networkHint } from "./call.ts";
import { MAX_RESULT_BYTES, type ProcessResult } from "./process-result.ts";

/** The most bytes that a handler's process may write: its result and its notes. */
export const MAX_CHANNEL_BYTES = 32 * 1024 * 1024;

/**
 * The outcome of a process that has ended.
 * @param stderr its last characters
 */
export function outcomeOf(
  status: EndedStatus,
  result: ProcessResult | null,
  stderr: string,
  { tool }: HandlerCall,
  spec: ExecutionSpec,
): HandlerOutcome {
  const { duration_ms, exit_code } = status;
  const script = tool.script ?? tool.name;
  const failed = (error: string): HandlerOutcome => ({
    ...failedCall("tool_error", error + networkHint(error, tool), duration_ms),
    exit_code,
  });
  if (status.cause === "cancelled" && !spec.detach) return failedCall("cancelled", CANCELLED, duration_ms);
  const cut = cutShort(status, spec);
  if (cut !== null) {
    const error = `${script} was ${cut.remark}`;
    if (cut.unknown) return unknown(error, duration_ms);
    if (cut.code === "timed_out") return { ...failedCall("timeout", error, duration_ms), exit_code };
    return failed(status.reason === DEPENDENCIES_FAULT ? `${error}\n${stderr}` : error);
  }
  if (result?.kind === "error") return failed(result.error);
  if (result?.kind === "too_large") return failed(`The result has more than ${MAX_RESULT_BYTES} bytes.`);
  if (exit_code !== 0)
    return failed([`${script} ended with status ${exit_code}.`, stderr].filter(Boolean).join("\n"));
  const succeeded = { fault: null, duration_ms, exit_code };
  if (result?.kind !== "text") return { value: result?.value ?? null, ...succeeded, diagnostics: [] };
  const message = `What ${script} wrote to stdout is not JSON, so Hull took it as a string.`;
  return { value: result.text, ...succeeded, diagnostics: [{ code: "stdout_not_json", message }] };
}

const unknown = (error: string, durationMs: number): HandlerOutcome => ({
  ...failedCall("tool_error", error, durationMs),
  diagnostics: [{ code: "outcome_unknown", message: error }],
});

/** Turns faults on the way to the runner into outcomes. @throws any other error unchanged */
export function outcomeOfError(error: unknown): HandlerOutcome {
  if (error instanceof ClientClosedRequest) return failedCall("cancelled", CANCELLED, 0);
  if (error instanceof ExecutionLost) return unknown(`The call was ${LOST}`, 0);
  for (const kind of [RunnerUnavailable, RunnerBusy, RunnerDraining, ConcurrencyLimited]) {
    if (error instanceof kind) {
      return { ...failedCall("unavailable", error.data.detail, 0), operator: error.operator };
    }
  }
  throw error;
}
