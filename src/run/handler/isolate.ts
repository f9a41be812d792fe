/** Which isolate a handler runs in: whose it is, what it may reach, and with whom it is shared. */
import { settings } from "../../env.ts";
import { readBytes } from "../../registry/published.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import type { SkillTool } from "../../skill/manifest.ts";
import type { HandlerCall } from "../../tool/handler/call.ts";
import type { HandlerIsolate } from "../../tool/isolate/handler.ts";
import type { RunContext } from "../context.ts";
import { sha256 } from "../digest.ts";
import { outboundOf } from "./outbound.ts";

/** Values of variables are part of an isolate's name, but nobody may read them out of it. */
let nameKey: Promise<CryptoKey> | null = null;

/** Names by tool, tenant and values of variables: a tool's record lives as long as the isolate that read it. */
const names = new WeakMap<SkillTool, Map<string, Promise<string>>>();

/**
 * The isolate of a call; `null`: this deployment has none, or the tool no module for one.
 * @param source text of a module that no registry has; it is always loaded afresh
 */
export async function isolateOf(
  { env, tenant }: RunContext,
  call: HandlerCall,
  source: string | null,
): Promise<HandlerIsolate | null> {
  const { tool, record } = call;
  const { LOADER: loader } = env;
  const { module } = tool;
  if (loader === undefined || (module === undefined && source === null)) return null;
  const shared = source === null && record.uploaded_by === undefined;
  return {
    loader,
    id: shared ? await nameOf(tenant, call) : null,
    source: async () => source ?? new Response(await readBytes(env, "module", module ?? "")).text(),
    outbound: tool.network === null ? null : outboundOf(tool.network),
    guarded: settings(env).local,
  };
}

/** SHA-256 over whatever makes two calls strangers to each other. */
function nameOf(tenant: string, { record, tool, env }: HandlerCall): Promise<string> {
  const known = names.get(tool) ?? new Map<string, Promise<string>>();
  names.set(tool, known);
  const values = canonicalJson(env);
  const key = `${tenant} ${values}`;
  let name = known.get(key);
  if (name === undefined) {
    const { manifest, pack } = record;
    const parts = [tenant, manifest.slug, pack, tool.module, tool.name, tool.network, tool.timeout_ms];
    name = keyed(values).then((hash) => sha256(`handler ${canonicalJson([...parts, hash])}`));
    known.set(key, name);
  }
  return name;
}

async function keyed(values: string): Promise<string> {
  nameKey ??= makeKey();
  const mac = await crypto.subtle.sign("HMAC", await nameKey, new TextEncoder().encode(values));
  return sha256(new Uint8Array(mac));
}

async function makeKey(): Promise<CryptoKey> {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}
