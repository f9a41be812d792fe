/**
 * An isolate's cache of the keys in D1, so that D1 is not asked for every request. An entry is used for at most 10 s.
 * So a revoked key may keep working in other isolates for that time, or for about 2 s if it is in use there. The
 * isolate that revoked it refuses it immediately.
 */

import type { Bindings } from "../env.ts";
import type { Background } from "../log.ts";
import { type CacheEntry, RecentMap, usable } from "../recent.ts";
import { type ApiKey, digestOf } from "./api-key.ts";
import { hasKeys, keyByHash, noteKeyUse } from "./key-store.ts";

/** Age in ms up to which an answer of D1 is used. */
const KNOWN_FOR_MS = 10_000;
/** Age in ms from which a key in use is read again in the background, so that no request waits for it. */
const REFRESH_AFTER_MS = 2000;
/** The stored time of use is written again only when it is older than this. */
const USE_NOTED_EVERY_MS = 3_600_000;
/** Cached keys per isolate, including unknown ones. */
const MAX_KNOWN = 5000;

interface Known extends CacheEntry {
  /** `null`: D1 has no such key. */
  key: ApiKey | null;
  /** This isolate has revoked the key. */
  revoked: boolean;
}

export class KnownKeys {
  readonly #env: Bindings;
  readonly #adminKey: string | null;
  readonly #byHash = new RecentMap<string, Known>(MAX_KNOWN);
  #anyKey: { value: boolean; readAt: number } | null = null;
  #adminDigest: ArrayBuffer | null = null;

  constructor(env: Bindings, adminKey: string | null) {
    this.#env = env;
    this.#adminKey = adminKey;
  }

  /** The cached entry of a key; `undefined` if there is none, and the caller must `read` it. */
  remembered(hash: string, background: Background): ApiKey | null | undefined {
    const known = this.#byHash.get(hash);
    // Whether an unknown key exists by now is read only when the entry has expired.
    const refresh = known?.key === null ? KNOWN_FOR_MS : REFRESH_AFTER_MS;
    const ages = { refresh, expire: KNOWN_FOR_MS };
    return usable(known, ages, () => this.read(hash, background), background)?.key;
  }

  /**
   * Reads a key from D1 and caches the answer. A key in use is read repeatedly, so its use is recorded here: at most
   * once an hour, and after the request.
   */
  async read(hash: string, background: Background): Promise<ApiKey | null> {
    const readAt = Date.now();
    const key = await keyByHash(this.#env, hash);
    // The read began before the revocation, so its answer is out of date.
    if (this.#byHash.get(hash)?.revoked === true) return null;
    this.#byHash.set(hash, { key, readAt, refreshing: false, revoked: false });
    if (key !== null && readAt - Date.parse(key.last_used_at ?? "1970-01-01") >= USE_NOTED_EVERY_MS)
      background(noteKeyUse(this.#env, key.id, new Date(readAt)).catch(() => {}));
    return key;
  }

  /** Makes a revocation through this isolate take effect here immediately. */
  forget(hash: string): void {
    this.#byHash.set(hash, { key: null, readAt: Date.now(), refreshing: false, revoked: true });
  }

  /** Whether D1 holds any key. */
  async any(): Promise<boolean> {
    if (this.#anyKey !== null && Date.now() - this.#anyKey.readAt < KNOWN_FOR_MS) return this.#anyKey.value;
    const readAt = Date.now();
    const value = await hasKeys(this.#env);
    this.#anyKey = { value, readAt };
    return value;
  }

  /** Whether a digest is that of `HULL_ADMIN_KEY`. The time that the comparison takes reveals nothing about the key. */
  async isAdmin(digest: ArrayBuffer): Promise<boolean> {
    if (this.#adminKey === null) return false;
    this.#adminDigest ??= await digestOf(this.#adminKey);
    return crypto.subtle.timingSafeEqual(digest, this.#adminDigest);
  }
}
