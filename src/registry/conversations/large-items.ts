/**
 * Items of conversations that are too long for a row of D1: objects in R2. `conversation_objects` names every object
 * that no item has, from before Hull stores it, so that the sweep removes whatever an interrupted request leaves.
 */

import * as z from "zod/mini";
import CONVERSATIONS from "../../../migrations/0011_conversations.sql?raw";
import OBJECTS from "../../../migrations/0027_conversation_objects.sql?raw";
import { askedAgain } from "../../asked-again.ts";
import { utf8, utf8Length } from "../../bytes.ts";
import { type OwnStatement, type OwnTables, ownTables, removeInBatches, Tables } from "../../database.ts";
import type { Bindings, Owner } from "../../env.ts";
import { objectOf } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { JsonObject } from "../../skill/manifest.ts";

/** The most bytes of an item in a row. */
const MAX_ROW_BYTES = 256 * 1024;
/** After this time, no request still stores an object, nor reads one of a removed item. */
const LOOSE_MS = 24 * 3_600_000;
/** Objects that a sweep removes at once; R2 removes no more. */
const BATCH = 1000;

const SCHEMA = CONVERSATIONS + OBJECTS;

export const conversationsOf = (owner: Owner): OwnTables => ownTables(owner, SCHEMA);

/** The objects of all tenants. */
const objectTables = ({ DB }: Bindings): Tables => new Tables(DB, SCHEMA);

/**
 * What the rows of items hold: an item as JSON, or the key of its object, which this stores.
 * @returns also the keys, with the ids of their items; `tiedTo` notes that items have them
 */
export async function storeLarge(
  { env, tenant }: Owner,
  items: readonly JsonObject[],
): Promise<{ values: string[]; objects: [key: string, id: string][] }> {
  const large = new Map<string, string>();
  const objects: [key: string, id: string][] = [];
  const values = items.map((item) => {
    const text = JSON.stringify(item);
    if (utf8Length(text) <= MAX_ROW_BYTES) return text;
    const key = `conversations/${tenant}/${crypto.randomUUID()}`;
    large.set(key, text);
    objects.push([key, String(item.id)]);
    return key;
  });
  if (large.size === 0) return { values, objects };
  const note = `INSERT INTO conversation_objects (key, since_ms) SELECT value, ? FROM json_each(?)
    WHERE true ON CONFLICT (key) DO NOTHING`;
  const keys = [...large.keys()];
  await askedAgain(() => objectTables(env).run(note, [Date.now(), JSON.stringify(keys)]));
  for (const [key, text] of large) await askedAgain(() => env.FILES.put(key, utf8(text)));
  return { values, objects };
}

/** The item of a row, and the bytes of its object; `null`: the object is gone, with the item. */
export async function readItem(
  env: Bindings,
  value: string,
): Promise<{ item: JsonObject; bytes: number } | null> {
  if (value.startsWith("{")) return { item: itemIn(value), bytes: value.length };
  return askedAgain(async () => {
    const object = await env.FILES.get(value);
    return object === null ? null : { item: itemIn(await object.text()), bytes: object.size };
  });
}

const itemIn = (text: string): JsonObject => objectOf(parsedJson(text) ?? {});

/** Statements that note which of these objects, by key and id of the item, a conversation's items have. */
export function tiedTo(
  conversation: string,
  objects: readonly (readonly [key: string, id: string])[],
): OwnStatement[] {
  if (objects.length === 0) return [];
  const tied = `DELETE FROM conversation_objects WHERE key IN (
    SELECT i.item FROM json_each(?3) AS o JOIN conversation_items AS i
      ON i.tenant = ?1 AND i.conversation = ?2 AND i.id = o.value ->> 1 WHERE i.item = o.value ->> 0)`;
  return [[tied, [conversation, JSON.stringify(objects)]]];
}

/** The statement that notes the objects of items before their removal, and returns their keys. */
export const loosenedBy = (which: string, values: readonly unknown[]): OwnStatement => [
  `INSERT INTO conversation_objects (key, since_ms) SELECT item, ${Date.now()} FROM conversation_items
   WHERE tenant = ?1 AND ${which} AND item NOT LIKE '{%' ON CONFLICT (key) DO NOTHING RETURNING key`,
  values,
];

/** A row that names an object. */
export const keyShape = z.lazy(() => z.object({ key: z.string() }));

/** Removes those of these objects that no item has. */
export async function dropLoose(env: Bindings, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += BATCH) {
    const loose = await objectTables(env).rows(
      keyShape,
      "SELECT key FROM conversation_objects WHERE key IN (SELECT value FROM json_each(?))",
      [JSON.stringify(keys.slice(from, from + BATCH))],
    );
    await drop(env, loose);
  }
}

/** Removes objects that no item has had for a day. @param now Unix ms */
export async function sweepConversations(env: Bindings, now: number): Promise<void> {
  await removeInBatches(async () => {
    const old = await objectTables(env).rows(
      keyShape,
      "SELECT key FROM conversation_objects WHERE since_ms <= ? ORDER BY since_ms LIMIT ?",
      [now - LOOSE_MS, BATCH],
    );
    await drop(env, old);
    return old.length === BATCH;
  });
}

async function drop(env: Bindings, rows: readonly { key: string }[]): Promise<void> {
  const keys = rows.map(({ key }) => key);
  if (keys.length === 0) return;
  await env.FILES.delete(keys);
  const forget = "DELETE FROM conversation_objects WHERE key IN (SELECT value FROM json_each(?))";
  await objectTables(env).run(forget, [JSON.stringify(keys)]);
}
