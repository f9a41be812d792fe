/** Connects the handlers of a run with the rest of Hull: the runner, the session's files, configuration, artifacts. */
import { mayExecute } from "../../engine/agent/policy.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { HandlerCall } from "../../tool/handler/call.ts";
import { type ProcessDeps, runInRunner, runPython } from "../../tool/handler/process.ts";
import { outcomeOfError } from "../../tool/handler/process-outcome.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import { runnerEndpoint, runOptions } from "../runner.ts";
import { type ConfigChoice, configForCall } from "../tool-config.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { toolWorkspace } from "../workspace/transfer.ts";
import { workFolder } from "../workspace/work-folder.ts";
import type { ArtifactShelf, HandlerEnvironment } from "./ports.ts";

export interface HandlerEnvironmentOptions {
  emit: (event: RunEvent) => void;
  /** Remembered detached executions; `null`: the run does not outlive its process. */
  known: KnownExecutions | null;
  /** The session's files; `null`: there is no session. */
  workspace: WorkspaceAccess | null;
  /** Receives the artifacts of the call. */
  artifacts: ArtifactShelf;
  /** Selects the configured values. */
  choice: ConfigChoice;
  /** The policy ceiling of the run. */
  policy: JsonObject | null;
}

export function handlerEnvironment(
  context: RunContext,
  { emit, known, workspace, choice, artifacts, policy }: HandlerEnvironmentOptions,
): HandlerEnvironment {
  const pythonCalls = new WeakMap<HandlerCall, number>();
  const depsOf = async ({ executionId, signal }: HandlerCall): Promise<ProcessDeps> => {
    const folder = workspace === null ? null : await toolWorkspace(context.env.FILES, workspace);
    return {
      // All executions of a session go to one runner, which has its folder.
      runner: await runnerEndpoint(context, folder?.id ?? executionId),
      options: runOptions(context, signal, known),
      settings: context.settings,
      ...(folder === null ? {} : { workspace: folder }),
    };
  };
  return {
    context,
    emit,
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
    processes: mayExecute(policy),
    folder: workspace === null ? null : workFolder(context.env.FILES, workspace),
    config: (record, tool) => configForCall(context, record, tool, choice),
    artifacts,
  };
}
