/** The Worker's request to the runner for one process: the spec and its environment. */

import { PROVIDER_KEY_VARIABLES } from "../secrets.ts";
import { defined } from "../skill/json.ts";
import type { SkillRecord } from "../skill/manifest.ts";
import { isReserved } from "../skill/placeholder.ts";
import { type ExecutionSpec, PROTOCOL_VERSION } from "./protocol.ts";

/** The deployment's settings for processes. */
export interface ProcessSettings {
  /** Reads one of the Worker's variables. */
  read: (name: string) => string | undefined;
  /** Variables that hold provider keys. */
  providerKeys: ReadonlySet<string>;
  grace_ms: number;
}

export interface ExecutionRequest {
  id: string;
  /** All executions of one request share it; cancelling it stops them all. */
  runId: string;
  record: Pick<SkillRecord, "manifest" | "stored" | "uploaded_by">;
  /** Pack digest of its files. */
  digest: string;
  argv: string[];
  /** Its variables, which `allowedVariables` has admitted. */
  env: Record<string, string>;
  /** ms, already limited by the rest of the deadline. */
  timeoutMs: number;
  maxOutputBytes: number;
  input: ExecutionSpec["input"];
  output: ExecutionSpec["output"];
  /** The process is a tool's handler. */
  handler?: NonNullable<ExecutionSpec["handler"]>;
  /** The session's files for the process. A handler begins in their folder. */
  workspace?: { id: string; version: number } | undefined;
  /** It continues when its caller is gone; the caller comes back for it. */
  detach: boolean;
  settings: Omit<ProcessSettings, "read">;
}

/** The spec of one execution. */
export function executionSpec(request: ExecutionRequest): ExecutionSpec {
  const { settings, workspace, handler, env } = request;
  const { manifest, stored } = request.record;
  return {
    version: PROTOCOL_VERSION,
    id: request.id,
    request_id: request.runId,
    skill: manifest.slug,
    digest: request.digest,
    argv: request.argv,
    env,
    ...withheldKeys(Object.keys(env), settings.providerKeys),
    timeout_ms: Math.max(1, Math.ceil(request.timeoutMs)),
    grace_ms: settings.grace_ms,
    limits: {
      max_output_bytes: request.maxOutputBytes,
      // Every tenant may store a skill of any name, which would count with the skill that has the name as its address.
      ...(manifest.mode === "script" && manifest.concurrency !== undefined && stored !== true
        ? { concurrency: manifest.concurrency }
        : {}),
    },
    input: request.input,
    output: request.output,
    detach: request.detach,
    ...defined({ handler }),
    ...(workspace === undefined
      ? {}
      : { workspace: { id: workspace.id, version: workspace.version, cwd: handler !== undefined } }),
    ...(request.record.uploaded_by === undefined ? {} : { untrusted: true }),
  };
}

/**
 * The variables that a skill or a tool requests, if they are set and the skill may have them. Provider keys are never
 * among them, neither by name nor under another name.
 */
export function allowedVariables(
  names: readonly string[],
  { read, providerKeys }: Omit<ProcessSettings, "grace_ms">,
  granted: ReadonlySet<string> | null,
): Record<string, string> {
  if (names.length === 0) return {};
  const keys = new Set([...providerKeys].flatMap((name) => read(name) ?? []));
  const entries = names.flatMap((name): [string, string][] => {
    const value = read(name);
    const refused =
      value === undefined ||
      granted?.has(name) === false ||
      providerKeys.has(name) ||
      isReserved(name) ||
      keys.has(value);
    return refused ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}

/** Sends the runner the keys that it cannot know, if there is anything to check. */
export function withheldKeys(
  variables: readonly string[],
  providerKeys: ReadonlySet<string>,
): { withheld?: string[] } {
  if (variables.length === 0) return {};
  const own = [...providerKeys].filter((name) => !PROVIDER_KEY_VARIABLES.includes(name)).sort();
  return own.length === 0 ? {} : { withheld: own };
}
