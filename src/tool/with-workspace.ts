/** Runs an execution with the files of its session: sends the files that it needs, and takes its changes back. */
import { RunnerProtocolError } from "../errors/run.ts";
import type { ExecutionInput } from "./multipart.ts";
import type { EndedStatus, ExecutionSpec, WorkspaceChange } from "./protocol.ts";
import {
  type RunEvent,
  type Runner,
  type RunOptions,
  runExecution,
  type WorkspaceSource,
} from "./runner-client.ts";

/** The session's files during one execution, which finds them at HULL_WORKSPACE. */
export interface ToolWorkspace {
  id: string;
  version: number;
  source: WorkspaceSource;
  changes: {
    change(change: WorkspaceChange): Promise<void>;
    bytes(bytes: Uint8Array): Promise<void>;
    /** Applies the changes to the session; returns the changes that did not become files of it. */
    finish(): Promise<readonly { path: string; why: string }[]>;
    abandon(): Promise<void>;
  };
}

interface FiledExecution {
  runner: Runner;
  spec: ExecutionSpec;
  input: ExecutionInput;
  options: RunOptions;
  /** Absent: the execution has no session. */
  workspace?: ToolWorkspace;
}

/**
 * Runs an execution to its end; `onEvent` receives the other events. The session has its changes when this returns;
 * `notKept`: what did not become a file of the session.
 * @throws HullError as `runExecution`, and of the workspace
 */
export async function runWithWorkspace(
  { runner, spec, input, options, workspace }: FiledExecution,
  onEvent: (event: RunEvent) => void | Promise<void>,
): Promise<{ status: EndedStatus; notKept: readonly { path: string; why: string }[] }> {
  const all = workspace === undefined ? options : { ...options, workspace: workspace.source };
  try {
    for await (const event of runExecution(runner, spec, input, all)) {
      if (event.kind === "change") await workspace?.changes.change(event.change);
      else if (event.kind === "change_bytes") await workspace?.changes.bytes(event.bytes);
      else if (event.kind !== "ended") await onEvent(event);
      else return { status: event.status, notKept: (await workspace?.changes.finish()) ?? [] };
    }
  } catch (error) {
    await workspace?.changes.abandon();
    throw error;
  }
  throw new RunnerProtocolError({ reason: "the frames ended without a status" });
}
