/** Which isolate a handler runs in: who owns it, what it may reach, and which calls share it. */
import { exports } from "cloudflare:workers";
import { Internal } from "../../errors.ts";
import { readBytes } from "../../registry/published.ts";
import type { NetworkNeed } from "../../skill/manifest.ts";
import type { HandlerCall } from "../../tool/handler/call.ts";
import type { HandlerIsolate } from "../../tool/isolate/handler.ts";
import type { RunContext } from "../context.ts";

/**
 * The isolate of a call; `null`: this deployment has no isolates, or the tool has no module for one.
 * @param source text of a module that is in no registry; it is always loaded afresh
 */
export async function isolateOf(
  { deployment, env, settings, tenant }: RunContext,
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
