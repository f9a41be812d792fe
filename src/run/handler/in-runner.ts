/** Handlers as processes: the runner of the call's session, and the session's files in it. */
import type { HandlerCall, HandlerOutcome } from "../../tool/handler/call.ts";
import { type ProcessDeps, runInRunner, runPython } from "../../tool/handler/process.ts";
import { outcomeOfError } from "../../tool/handler/process-outcome.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import { runnerEndpoint, runOptions } from "../runner.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { toolWorkspace } from "../workspace/transfer.ts";

interface RunnerPorts {
  /** Executes a call. */
  runner: (call: HandlerCall) => Promise<HandlerOutcome>;
  /** Runs Python for a handler that is not in the runner; returns what the handler gets. */
  python: (
    call: HandlerCall,
    code: string,
    timeoutMs: number | null,
  ) => Promise<{ stdout: string; stderr: string; exit_code: number }>;
}

/**
 * @param known remembered detached executions; `null`: the run does not outlive its process
 * @param access the session's files; `null`: there is no session
 */
export function runnerPorts(
  context: RunContext,
  known: KnownExecutions | null,
  access: WorkspaceAccess | null,
): RunnerPorts {
  const pythonCalls = new WeakMap<HandlerCall, number>();
  const depsOf = async ({ executionId, signal }: HandlerCall): Promise<ProcessDeps> => {
    const workspace = access === null ? null : await toolWorkspace(context.env.FILES, access);
    return {
      // All executions of a session go to one runner, which has its folder.
      runner: await runnerEndpoint(context, workspace?.id ?? executionId),
      options: runOptions(context, signal, known),
      graceMs: context.settings.grace_ms,
      providerKeys: context.settings.providerKeys,
      ...(workspace === null ? {} : { workspace }),
    };
  };
  return {
    async runner(call) {
      try {
        return await runInRunner(call, await depsOf(call));
      } catch (error) {
        return outcomeOfError(error);
      }
    },
    python: async (call, code, timeoutMs) => {
      const count = (pythonCalls.get(call) ?? 0) + 1;
      pythonCalls.set(call, count);
      return runPython(call, code, count, timeoutMs, await depsOf(call));
    },
  };
}
