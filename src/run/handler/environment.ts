/** Connects the handlers of a run with the rest of Hull: the runner, the session's files, configuration, artifacts. */
import { mayExecute } from "../../engine/agent/policy.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import { type ConfigChoice, configForCall } from "../tool-config.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { workFolder } from "../workspace/work-folder.ts";
import { runnerPorts } from "./in-runner.ts";
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
  return {
    context,
    emit,
    ...runnerPorts(context, known, workspace),
    processes: mayExecute(policy),
    folder: workspace === null ? null : workFolder(context.env.FILES, workspace),
    config: (record, tool) => configForCall(context, record, tool, choice),
    artifacts,
  };
}
