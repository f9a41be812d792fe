/** Calls hooks of skills. The module comes from the registry; the isolate belongs to one tenant. */
import type { Deployment } from "../deployment.ts";
import { readBytes } from "../registry/published.ts";
import type { Json } from "../skill/manifest.ts";
import { callInIsolate } from "../tool/isolate/hook.ts";

export interface HookCall {
  deployment: Deployment;
  tenant: string;
  /** SHA-256 of the module. */
  module: string;
  exportName: string;
  /** `null`: the hook is called without arguments. */
  payload: Json;
  signal?: AbortSignal;
  /** Default: the deployment's time limit for hooks. */
  timeoutMs?: number;
  /** Use an isolate for this call alone, as for uploaded code. */
  fresh?: boolean;
  /** Receives lines that the hook wrote to the console, redacted. Absent: they are dropped. */
  onLog?: (line: string) => void;
}

/**
 * The hook's answer; `null` if the hook returns nothing.
 * @throws HookFailed HookInvalid HookTimeout HooksUnavailable, and the signal's reason
 */
export function callHook(call: HookCall): Promise<Json> {
  const { deployment, tenant, module, exportName, payload, signal, onLog } = call;
  const { redactor, local, hook_timeout_ms } = deployment.settings;
  return callInIsolate({
    isolates: deployment.isolates,
    // A digest has a fixed length, so no other tenant's name makes the same id.
    id: call.fresh === true ? null : `hooks:${tenant}:${module}`,
    source: async () => new Response(await readBytes(deployment.env, "module", module)).text(),
    exportName,
    payload,
    timeoutMs: call.timeoutMs ?? hook_timeout_ms,
    signal,
    redactor,
    guarded: local,
    ...(onLog === undefined ? {} : { onLog }),
  });
}
