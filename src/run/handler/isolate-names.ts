/** Names of isolates. Calls with the same name share an isolate. */

import { sha256 } from "../../bytes.ts";
import { RecentMap } from "../../recent.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import type { HandlerCall } from "../../tool/handler/call.ts";

export class IsolateNames {
  /** Names depend on values of variables, but must not reveal them. */
  #key: CryptoKey | null = null;
  /** By tenant, tool and values of variables. Hull can derive a forgotten name again. */
  readonly #names = new RecentMap<string, string>(1000);

  /** SHA-256 over everything in which calls of different isolates differ. */
  async nameOf(
    tenant: string,
    { record, tool, env }: Pick<HandlerCall, "record" | "tool" | "env">,
  ): Promise<string> {
    const { manifest, pack } = record;
    const owner = canonicalJson([
      tenant,
      manifest.slug,
      pack,
      tool.module,
      tool.name,
      tool.network,
      tool.timeout_ms,
    ]);
    const values = canonicalJson(env);
    const key = `${owner} ${values}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      name = await sha256(`handler ${owner} ${await this.#keyed(values)}`);
      this.#names.set(key, name);
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
