/** Names of isolates. Calls with the same name share an isolate. */

import { sha256 } from "../../bytes.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import type { SkillTool } from "../../skill/manifest.ts";
import type { HandlerCall } from "../../tool/handler/call.ts";

export class IsolateNames {
  /** Names depend on values of variables, but must not reveal them. */
  #key: CryptoKey | null = null;
  /** By tool, tenant and values of variables. A tool's record lives as long as the deployment remembers it. */
  readonly #names = new WeakMap<SkillTool, Map<string, string>>();

  /** SHA-256 over everything in which calls of different isolates differ. */
  async nameOf(tenant: string, { record, tool, env }: HandlerCall): Promise<string> {
    const known = this.#names.get(tool) ?? new Map<string, string>();
    this.#names.set(tool, known);
    const values = canonicalJson(env);
    const key = `${tenant} ${values}`;
    let name = known.get(key);
    if (name === undefined) {
      const { manifest, pack } = record;
      const parts = [tenant, manifest.slug, pack, tool.module, tool.name, tool.network, tool.timeout_ms];
      name = await sha256(`handler ${canonicalJson([...parts, await this.#keyed(values)])}`);
      known.set(key, name);
    }
    return name;
  }

  async #keyed(values: string): Promise<string> {
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    const made = this.#key ?? (await crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign"]));
    this.#key ??= made;
    const mac = await crypto.subtle.sign("HMAC", this.#key, new TextEncoder().encode(values));
    return sha256(new Uint8Array(mac));
  }
}

const HMAC = { name: "HMAC", hash: "SHA-256" };
