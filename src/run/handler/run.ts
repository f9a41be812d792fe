/** Runs one call of a Skill Tools handler where it must run: in an isolate or in the runner. */

import { exports } from "cloudflare:workers";
import { listNotKept } from "../../engine/tool-result.ts";
import { Internal } from "../../errors.ts";
import { readBytes } from "../../registry/published.ts";
import type { NetworkNeed } from "../../skill/manifest.ts";
import { failedCall, type HandlerCall, type HandlerOutcome } from "../../tool/handler/call.ts";
import { callHandler, type HandlerIsolate } from "../../tool/isolate/handler.ts";
import type { RunContext } from "../context.ts";
import type { HandlerEnvironment } from "./ports.ts";

/** Where a call ran. */
export type Runtime = "isolate" | "runner" | "stub" | "none";

/**
 * Executes a call. The runner gets calls that need a process, calls for which there is no isolate here, and calls with
 * more files than an isolate can hold.
 * @param source text of a handler that is in no registry
 * @throws HullError for faults of the registry and of the workspace
 */
export async function runHandler(
  call: HandlerCall,
  environment: HandlerEnvironment,
  source: string | null,
): Promise<{ outcome: HandlerOutcome; runtime: Runtime }> {
  const { tool, signal } = call;
  if (tool.tier === "stub") return { outcome: stubAnswer(call), runtime: "stub" };
  const inRunner = async () => ({ outcome: await environment.runner(call), runtime: "runner" as const });
  if (tool.tier === "runner") return inRunner();
  // The run's ceiling admitted a tool of this tier as one that starts no process.
  const instead = async () =>
    environment.processes
      ? inRunner()
      : { outcome: failedCall("tool_error", noProcess(call), 0), runtime: "none" as const };
  const isolate = await isolateOf(environment.context, call, source);
  if (isolate === null) return instead();
  const files = (await environment.folder?.files()) ?? (environment.folder === null ? [] : null);
  if (files === null) return instead();
  const python =
    tool.filesystem && environment.processes
      ? (code: string, timeoutMs: number | null) => environment.python(call, code, timeoutMs)
      : null;
  const { outcome, changes } = await callHandler(call, isolate, { files, python });
  const notKept = changes.left.map(([path, why]) => ({ path, why }));
  const changed = changes.written.length + changes.removed.length > 0;
  if (changed && !signal.aborted)
    notKept.push(...((await environment.folder?.save(changes.written, changes.removed)) ?? []));
  // Without a session, there is nowhere to keep files.
  if (environment.folder === null || notKept.length === 0) return { outcome, runtime: "isolate" };
  const message = `Not kept among the session's files: ${listNotKept(notKept)}.`;
  const diagnostics = [...outcome.diagnostics, { code: "files_not_kept", message }];
  return { outcome: { ...outcome, diagnostics }, runtime: "isolate" };
}

function noProcess({ tool }: HandlerCall): string {
  return `The tool ${tool.name} can only run as a process here, which the run's policy does not permit.`;
}

/**
 * The answer of a tool without a script: it says where to read on. A run that is the skill has its instructions and no
 * load_skill.
 */
function stubAnswer({ tool, record }: HandlerCall): HandlerOutcome {
  const { slug } = record.manifest;
  const message = `The tool ${tool.name} has no handler. Follow the instructions of the skill ${slug}, which say how to do what it is for. Where you have not read them, call load_skill with {"name": "${slug}"}.`;
  return { value: { message }, fault: null, duration_ms: 0, exit_code: null, diagnostics: [] };
}

/** The outcome of a call that an earlier run attempt began and that must not run twice. */
export function lostCall(): HandlerOutcome {
  const text = "The call was interrupted. It may or may not have taken effect, and was not made again.";
  return failedCall("cancelled", text, 0);
}

/**
 * The isolate of a call; `null`: this deployment has no isolates, or the tool has no module for one.
 * @param source text of a module that is in no registry; it is always loaded afresh
 */
async function isolateOf(
  { deployment, isolatePlaces, env, settings, tenant }: RunContext,
  call: HandlerCall,
  source: string | null,
): Promise<HandlerIsolate | null> {
  const { tool, record } = call;
  const { isolates } = deployment;
  const { module } = tool;
  if (isolates === null || (module === undefined && source === null)) return null;
  const shared = source === null && record.uploaded_by === undefined;
  return {
    isolates,
    places: isolatePlaces,
    id: shared ? await deployment.isolateNames.nameOf(tenant, call) : null,
    source: async () => source ?? new Response(await readBytes(env, "module", module ?? "")).text(),
    outbound: tool.network === null ? null : outboundOf(tool.network),
    guarded: settings.local,
  };
}

/** A way out to these hosts, which checks the destination of each request. */
function outboundOf(network: NonNullable<NetworkNeed>): Fetcher {
  const entrypoint: unknown = Reflect.get(exports, "HandlerOutbound");
  if (!isEntrypoint(entrypoint)) throw new Internal({ cause: "the Worker exports no HandlerOutbound" });
  return entrypoint({ props: { hosts: network.hosts } });
}

type Entrypoint = (options: { props: { hosts: string[] | null } }) => Fetcher;

const isEntrypoint = (value: unknown): value is Entrypoint => typeof value === "function";
