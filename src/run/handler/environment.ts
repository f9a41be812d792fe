/** Connects the handlers of a run with the rest of Hull: the runner, the session's files, configuration, artifacts. */
import { mayExecute } from "../../engine/agent/policy.ts";
import { Internal } from "../../errors.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { HandlerCall } from "../../tool/handler/call.ts";
import { type ProcessDeps, runInRunner, runPython } from "../../tool/handler/process.ts";
import { outcomeOfError } from "../../tool/handler/process-outcome.ts";
import type { FolderFile } from "../../tool/isolate/handler-rpc.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import { readWhole } from "../large-body.ts";
import { runnerEndpoint, runOptions } from "../runner.ts";
import { type ConfigChoice, configForCall } from "../tool-config.ts";
import type { FileChange, WorkspaceAccess } from "../workspace/access.ts";
import { keyFor, storeContent } from "../workspace/store.ts";
import { toolWorkspace } from "../workspace/transfer.ts";
import { refusedOf } from "../workspace/write-rules.ts";
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
      const keys = digests.length === 0 ? [] : await workspace.contentKeys(digests);
      const read = keys.map(async ({ sha256, key }) => [sha256, await readWhole(bucket, key)] as const);
      const contents = new Map(await Promise.all(read));
      return files.map(({ path, sha256 }) => {
        const bytes = contents.get(sha256) ?? null;
        if (bytes === null) throw new Internal({ cause: `a workspace lacks the content ${sha256}` });
        return { path, bytes };
      });
    },
    async save(written, removed) {
      const writes = await Promise.all(written.map((file) => stored(bucket, workspace, file)));
      const deletions = removed.map((path): FileChange => ({ kind: "delete", path, expected: null }));
      // Deletions come first, since they may make room for a new file.
      const changes = [...deletions, ...writes];
      return refusedOf(changes, await workspace.changeFiles(changes));
    },
  };
}

async function stored(
  bucket: R2Bucket,
  workspace: WorkspaceAccess,
  { path, bytes }: FolderFile,
): Promise<FileChange> {
  const key = await keyFor(workspace);
  const content = await storeContent(bucket, workspace, key, [bytes]);
  return { kind: "write", path, key, ...content, executable: null, expected: null };
}
