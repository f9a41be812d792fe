/** The Worker's request to the runner for one process: the spec and its environment. */

import { PROVIDER_KEY_VARIABLES } from "../secrets.ts";
import { present } from "../skill/json.ts";
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
  record: SkillRecord;
  argv: string[];
  /** ms, already limited by the rest of the deadline. */
  timeoutMs: number;
  maxOutputBytes: number;
  input: ExecutionSpec["input"];
  output: ExecutionSpec["output"];
  /** The process is a tool's handler. */
  handler?: NonNullable<ExecutionSpec["handler"]>;
  /** The session's files for the process. */
  workspace?: NonNullable<ExecutionSpec["workspace"]>;
  /** Names of its variables; absent: the manifest's `tool_env`. */
  variables?: readonly string[];
  /** It continues when its caller is gone; the caller comes back for it. */
  detach: boolean;
  settings: ProcessSettings;
  /** The variables that the skill may have; `null` means any. */
  granted: ReadonlySet<string> | null;
}

/** The spec of one execution; `null` if the skill has no files to run. */
export function executionSpec(request: ExecutionRequest): ExecutionSpec | null {
  const { settings } = request;
  const { manifest, pack, stored } = request.record;
  if (pack === null) return null;
  const variables = request.variables ?? manifest.tool_env;
  return {
    version: PROTOCOL_VERSION,
    id: request.id,
    request_id: request.runId,
    skill: manifest.slug,
    digest: pack,
    argv: request.argv,
    env: allowedVariables(variables, settings, request.granted),
    ...withheldKeys(variables, settings.providerKeys),
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
    ...present({ handler: request.handler, workspace: request.workspace }),
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
