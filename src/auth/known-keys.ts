/**
 * What an isolate remembers of the keys in D1, so that D1 is not asked for every request. What it remembers is used for
 * 10 s at most: so long a revoked key may go on working in other isolates, and about 2 s where it is in use there. In the
 * isolate that revoked it, it is refused at once.
 */
import type { Bindings } from "../env.ts";
import type { ApiKey } from "./api-key.ts";
import { hasKeys, keyByHash } from "./key-store.ts";

/** Age in ms up to which an answer of D1 is used. */
export const KNOWN_FOR_MS = 10_000;
/** Age in ms from which a key in use is read again in the background, so that no request waits for it. */
const REFRESH_AFTER_MS = 2000;
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

interface Memory {
  byHash: Map<string, Known>;
  anyKey: { value: boolean; readAt: number } | null;
}

const memories = new WeakMap<D1Database, Memory>();

function memoryOf({ DB }: Bindings): Memory {
  let memory = memories.get(DB);
  if (memory === undefined) {
    memory = { byHash: new Map(), anyKey: null };
    memories.set(DB, memory);
  }
  return memory;
}

/**
 * What is remembered of a key; `undefined`: nothing, ask `readKey`.
 * @param background keeps a promise alive after the response, e.g. `ctx.waitUntil`
 */
export function rememberedKey(
  env: Bindings,
  hash: string,
  background: (work: Promise<unknown>) => void,
): ApiKey | null | undefined {
  const known = memoryOf(env).byHash.get(hash);
  const age = Date.now() - (known?.readAt ?? 0);
  if (known === undefined || age >= KNOWN_FOR_MS) return undefined;
  if (age >= REFRESH_AFTER_MS && known.key !== null && !known.refreshing) {
    known.refreshing = true;
    // A key that cannot be read again is forgotten when its time is over.
    background(readKey(env, hash).catch(() => {}));
  }
  return known.key;
}

/** Reads a key from D1 and remembers the answer. */
export async function readKey(env: Bindings, hash: string): Promise<ApiKey | null> {
  const { byHash } = memoryOf(env);
  const readAt = Date.now();
  const key = await keyByHash(env, hash);
  // A read that began before the revocation tells what was.
  if (byHash.get(hash)?.revoked === true) return null;
  remember(byHash, hash, { key, readAt, refreshing: false, revoked: false });
  return key;
}

function remember(byHash: Memory["byHash"], hash: string, known: Known): void {
  byHash.delete(hash);
  const oldest = byHash.size >= MAX_KNOWN ? byHash.keys().next().value : undefined;
  if (oldest !== undefined) byHash.delete(oldest);
  byHash.set(hash, known);
}

/** Makes a revocation through this isolate take effect here at once. */
export function forgetKey(env: Bindings, hash: string): void {
  remember(memoryOf(env).byHash, hash, { key: null, readAt: Date.now(), refreshing: false, revoked: true });
}

/** Whether D1 holds any key. */
export async function anyKey(env: Bindings): Promise<boolean> {
  const memory = memoryOf(env);
  if (memory.anyKey !== null && Date.now() - memory.anyKey.readAt < KNOWN_FOR_MS) return memory.anyKey.value;
  const readAt = Date.now();
  const value = await hasKeys(env);
  memory.anyKey = { value, readAt };
  return value;
}
