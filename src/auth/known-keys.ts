/**
 * What an isolate remembers of the keys in D1, so that D1 is not asked for every request. What it remembers is used for
 * 10 s at most: so long a revoked key may go on working in other isolates, and about 2 s where it is in use there. In the
 * isolate that revoked it, it is refused at once.
 */
import type { Bindings } from "../env.ts";
import { RecentMap } from "../recent.ts";
import { type ApiKey, digestOf } from "./api-key.ts";
import { hasKeys, keyByHash, noteKeyUse } from "./key-store.ts";

/** Age in ms up to which an answer of D1 is used. */
export const KNOWN_FOR_MS = 10_000;
/** Age in ms from which a key in use is read again in the background, so that no request waits for it. */
const REFRESH_AFTER_MS = 2000;
/** How much older than its last use a key's row may be: so seldom is it written. */
const USE_NOTED_EVERY_MS = 3_600_000;
/** Remembered keys per isolate, unknown ones included. */
const MAX_KNOWN = 5000;

interface Known {
  /** `null`: D1 has no such key. */
  key: ApiKey | null;
  /** Unix ms. */
  readAt: number;
  refreshing: boolean;
  /** This isolate revoked it, for ever. */
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

  /**
   * What is remembered of a key; `undefined`: nothing, ask `read`.
   * @param background keeps a promise alive after the response, e.g. `ctx.waitUntil`
   */
  remembered(hash: string, background: (work: Promise<unknown>) => void): ApiKey | null | undefined {
    const known = this.#byHash.get(hash);
    const age = Date.now() - (known?.readAt ?? 0);
    if (known === undefined || age >= KNOWN_FOR_MS) return undefined;
    if (age >= REFRESH_AFTER_MS && known.key !== null && !known.refreshing) {
      known.refreshing = true;
      // A key that cannot be read again is forgotten when its time is over.
      background(this.read(hash, background).catch(() => {}));
    }
    return known.key;
  }

  /**
   * Reads a key from D1 and remembers the answer. Since a key in use is read again and again, its use is noted here: once an
   * hour at most, and behind the request.
   */
  async read(hash: string, background: (work: Promise<unknown>) => void): Promise<ApiKey | null> {
    const readAt = Date.now();
    const key = await keyByHash(this.#env, hash);
    // A read that began before the revocation tells what was.
    if (this.#byHash.get(hash)?.revoked === true) return null;
    this.#byHash.set(hash, { key, readAt, refreshing: false, revoked: false });
    if (key !== null && readAt - Date.parse(key.last_used_at ?? "1970-01-01") >= USE_NOTED_EVERY_MS)
      background(noteKeyUse(this.#env, key.id, new Date(readAt)).catch(() => {}));
    return key;
  }

  /** Makes a revocation through this isolate take effect here at once. */
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

  /** Whether a digest is that of `HULL_ADMIN_KEY`. The time taken tells nothing about the key. */
  async isAdmin(digest: ArrayBuffer): Promise<boolean> {
    if (this.#adminKey === null) return false;
    this.#adminDigest ??= await digestOf(this.#adminKey);
    return crypto.subtle.timingSafeEqual(digest, this.#adminDigest);
  }
}
