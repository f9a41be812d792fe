/** Connects the handlers of a run with the rest of Hull: the runner, the session's files, configuration, artifacts. */
import { sha256 } from "../../bytes.ts";
import { mayExecute } from "../../engine/agent/policy.ts";
import { Internal } from "../../errors.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { HandlerCall } from "../../tool/handler/call.ts";
import { type ProcessDeps, runInRunner, runPython } from "../../tool/handler/process.ts";
import { outcomeOfError } from "../../tool/handler/process-outcome.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import { runnerEndpoint, runOptions } from "../runner.ts";
import { type ConfigChoice, configForCall } from "../tool-config.ts";
import { allContents, type WorkspaceAccess } from "../workspace/access.ts";
import { readContent } from "../workspace/store.ts";
import { IncomingChanges, toolWorkspace } from "../workspace/transfer.ts";
import type { HandlerEnvironment, WorkFolder } from "./ports.ts";

export interface HandlerEnvironmentOptions extends Pick<HandlerEnvironment, "emit" | "artifacts"> {
  /** Remembered detached executions; `null`: the run does not outlive its process. */
  known: KnownExecutions | null;
  /** The session's files; `null`: there is no session. */
  workspace: WorkspaceAccess | null;
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

/** Most bytes that go into an isolate. */
const MAX_BYTES = 8 * 1024 * 1024;

/** A session's files as the work folder of a handler in an isolate. */
function workFolder(bucket: R2Bucket, workspace: WorkspaceAccess): WorkFolder {
  return {
    async files() {
      const { files } = await workspace.workspaceManifest();
      const sum = files.reduce((total, { size }) => total + size, 0);
      if (sum > MAX_BYTES) return null;
      const digests = [...new Set(files.map(({ sha256 }) => sha256))];
      const contents = new Map<string, Promise<Uint8Array | null>>();
      for await (const { sha256, content } of allContents(workspace, digests))
        if (content !== null) contents.set(sha256, readContent(bucket, content));
      const whole = files.map(async ({ path, sha256 }) => {
        const bytes = (await contents.get(sha256)) ?? null;
        if (bytes === null) throw new Internal({ cause: `a workspace lacks the content ${sha256}` });
        return { path, bytes };
      });
      return Promise.all(whole);
    },
    async save(written, removed) {
      const changes = new IncomingChanges(bucket, workspace);
      // Deletions come first, since they may make room for a new file.
      for (const path of removed) await changes.change({ kind: "delete", path });
      for (const { path, bytes } of written) {
        const content = { size: bytes.length, sha256: await sha256(bytes), executable: null };
        await changes.change({ kind: "write", path, ...content });
        await changes.bytes(bytes);
      }
      return changes.finish();
    },
  };
}
