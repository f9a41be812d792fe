/** API keys in D1: makes them, finds them by their hash, lists and revokes them. */

import * as z from "zod/mini";
import API_KEYS from "../../migrations/0001_api_keys.sql?raw";
import API_KEY_USES from "../../migrations/0013_api_key_uses.sql?raw";
import KEYS_OF_TENANT from "../../migrations/0031_api_keys_of_tenant.sql?raw";
import { sha256 } from "../bytes.ts";
import { matching, Tables } from "../database.ts";
import { keySource } from "../derived-key.ts";
import type { Bindings } from "../env.ts";
import { unknownCursor } from "../errors/unknown-cursor.ts";
import { Internal } from "../errors.ts";
import { pageOfRows } from "../list-page.ts";
import { type ApiKey, keyOf, keyRowShape, prefixOf, SCOPES, type Scope } from "./api-key.ts";

const COLUMNS = "id, prefix, tenant, scopes, name, created_at";
const KEYS = `SELECT ${COLUMNS}, used_at AS last_used_at FROM api_keys LEFT JOIN api_key_uses USING (id)`;
const tables = ({ DB }: Bindings): Tables => new Tables(DB, API_KEYS + API_KEY_USES + KEYS_OF_TENANT);

interface NewKey extends Pick<ApiKey, "id" | "tenant" | "name"> {
  scopes: readonly Scope[];
}

/** Stores a new key, but not the key itself, unless there is one with this id. @param keyFor the key with this id */
export async function addKey(
  env: Bindings,
  wanted: NewKey,
  keyFor: (id: string) => Promise<string> | string,
  now: Date,
): Promise<ApiKey & { key: string }> {
  const { id, tenant, name } = wanted;
  const key = await keyFor(id);
  const scopes = SCOPES.filter((scope) => wanted.scopes.includes(scope));
  const values = [id, prefixOf(key), tenant, scopes.join(" "), name, now.toISOString(), await sha256(key)];
  const made = await tables(env).first(
    keyRowShape,
    `INSERT INTO api_keys (${COLUMNS}, hash) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET id = id RETURNING ${COLUMNS}, NULL AS last_used_at`,
    values,
  );
  if (made === null) throw new Internal({ cause: "a stored key has no row" });
  return { ...made, key };
}

/** The key that has this id, for a key that a repeated request shows again. @param secret of the deployment */
export async function derivedKey(secret: string, id: string): Promise<string> {
  return keyOf(new Uint8Array(await (await keySource(secret)).bits(`API key ${id}`, 256)));
}

/** The key with this hash, or `null`. */
export async function keyByHash(env: Bindings, hash: string): Promise<ApiKey | null> {
  return tables(env).first(keyRowShape, `${KEYS} WHERE hash = ?`, [hash]);
}

/** Records that a key is used now. */
export async function noteKeyUse(env: Bindings, id: string, now: Date): Promise<void> {
  // If the key was revoked meanwhile, this writes no row.
  await tables(env).run(
    `INSERT INTO api_key_uses (id, used_at) SELECT id, ?2 FROM api_keys WHERE id = ?1
     ON CONFLICT (id) DO UPDATE SET used_at = max(used_at, excluded.used_at)`,
    [id, now.toISOString()],
  );
}

/** Whether there is any key at all. */
export async function hasKeys(env: Bindings): Promise<boolean> {
  return (await tables(env).first(z.unknown(), "SELECT 1 FROM api_keys LIMIT 1")) !== null;
}

/**
 * Keys in the order of creation, a page at a time.
 * @param tenant `null`: all tenants
 * @throws BadRequest for an unknown cursor
 */
export async function listKeys(
  env: Bindings,
  { tenant, limit, cursor }: { tenant: string | null; limit: number; cursor: string | null },
) {
  const begun = cursor === null ? ["", ""] : position(cursor);
  const [conditions, values] = matching({ tenant });
  const keys = await tables(env).rows(
    keyRowShape,
    `${KEYS} WHERE (created_at, id) > (?, ?) ${conditions} ORDER BY created_at, id LIMIT ?`,
    [...begun, ...values, limit + 1],
  );
  return pageOfRows(keys, limit, (last) => `${last.created_at}~${last.id}`);
}

function position(cursor: string): [string, string] {
  const [, after, id] = /^([0-9TZ:.-]+)~(key_[0-9a-f]+)$/.exec(cursor) ?? [];
  if (after === undefined || id === undefined) throw unknownCursor();
  return [after, id];
}

/**
 * Revokes a key permanently; returns its hash, or `null` if there is none with this id.
 * @param tenant `null` means any tenant
 */
export async function revokeKey(env: Bindings, id: string, tenant: string | null): Promise<string | null> {
  const [conditions, values] = matching({ tenant });
  const which = `FROM api_keys WHERE id = ?1 ${conditions}`;
  const [, gone] = await tables(env).batch([
    [`DELETE FROM api_key_uses WHERE id IN (SELECT id ${which})`, [id, ...values]],
    [`DELETE ${which} RETURNING hash`, [id, ...values]],
  ]);
  return z.array(z.object({ hash: z.string() })).parse(gone)[0]?.hash ?? null;
}
