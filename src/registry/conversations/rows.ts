/**
 * Conversations of OpenAI's clients in D1. Every query contains the tenant, so another tenant's id is unknown. A large
 * item is an object in R2 (`large-items.ts`), and its row has the object's key.
 */

import * as z from "zod/mini";
import { askedAgain } from "../../asked-again.ts";
import type { OwnStatement } from "../../database.ts";
import type { Owner } from "../../env.ts";
import type { PageWanted } from "../../list-page.ts";
import { objectOf } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import {
  dropLoose,
  keyShape,
  loosenedBy,
  conversationsOf as own,
  readItem,
  storeLarge,
  tiedTo,
} from "./large-items.ts";

const json = () =>
  z.pipe(
    z.string(),
    z.transform((text): JsonObject => objectOf(parsedJson(text) ?? {})),
  );

export type ConversationRow = z.output<typeof conversationShape>;
const conversationShape = z.lazy(() =>
  z.object({
    /** `conv_<32 hex digits>`. */
    id: z.string(),
    metadata: json(),
    /** Unix ms. */
    created_ms: z.int(),
  }),
);

export interface ItemRow {
  seq: number;
  id: string;
  item: JsonObject;
}
const itemShape = z.lazy(() => z.object({ seq: z.int(), id: z.string(), item: z.string() }));

/** The most bytes of large items in a page: what a request to a model may have. */
const MAX_PAGE = 32 * 1024 * 1024;

/** Stores a conversation, unless there is one with this id; returns the stored one. */
export async function addConversation(owner: Owner, row: ConversationRow): Promise<ConversationRow> {
  const stored = await own(owner).first(
    conversationShape,
    `INSERT INTO conversations (tenant, id, metadata, created_ms) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (tenant, id) DO UPDATE SET id = id RETURNING id, metadata, created_ms`,
    [row.id, JSON.stringify(row.metadata), row.created_ms],
  );
  return stored ?? row;
}

/** `null` for an unknown or foreign id. */
export function findConversation(owner: Owner, id: string): Promise<ConversationRow | null> {
  const query = "SELECT id, metadata, created_ms FROM conversations WHERE tenant = ?1 AND id = ?2";
  return own(owner).first(conversationShape, query, [id]);
}

export async function setMetadata(owner: Owner, id: string, metadata: JsonObject): Promise<void> {
  const update = "UPDATE conversations SET metadata = ?3 WHERE tenant = ?1 AND id = ?2";
  await own(owner).run(update, [id, JSON.stringify(metadata)]);
}

/** Removes a conversation with its items. */
export async function removeConversation(owner: Owner, id: string): Promise<void> {
  const remove = "DELETE FROM conversations WHERE tenant = ?1 AND id = ?2";
  await removeItems(owner, "conversation = ?2", [id], [[remove, [id]]]);
}

/**
 * Appends items, all or none. Existing items keep their place, and a removed conversation gets none. If an object stays
 * that no item has, the sweep removes it later.
 */
export async function appendItems(
  owner: Owner,
  conversation: string,
  items: readonly JsonObject[],
): Promise<void> {
  if (items.length === 0) return;
  const { values, objects } = await storeLarge(owner, items);
  const insert = `INSERT OR IGNORE INTO conversation_items (tenant, conversation, seq, id, item)
    SELECT ?1, ?2, 1 + coalesce((SELECT max(seq) FROM conversation_items WHERE tenant = ?1 AND conversation = ?2), 0), ?3, ?4
    WHERE EXISTS (SELECT 1 FROM conversations WHERE tenant = ?1 AND id = ?2)`;
  const inserts = items.map(
    ({ id }, n): OwnStatement => [insert, [conversation, String(id), values[n] ?? ""]],
  );
  // A second time, the items keep their place.
  await askedAgain(() => own(owner).batch([...inserts, ...tiedTo(conversation, objects)]));
  await dropLoose(
    owner.env,
    objects.map(([key]) => key),
  ).catch(() => {});
}

const ITEMS = "SELECT seq, id, item FROM conversation_items WHERE tenant = ?1 AND conversation = ?2";

export async function findItem(owner: Owner, conversation: string, id: string): Promise<ItemRow | null> {
  const row = await own(owner).first(itemShape, `${ITEMS} AND id = ?3`, [conversation, id]);
  const read = row && (await readItem(owner.env, row.item));
  return read && row && { ...row, item: read.item };
}

/**
 * A page of items, in the order of their `seq`. It has fewer than `limit` if their bytes exceed those of a page.
 * @returns also the last `seq` of the page; `null`: it is the last page
 */
export async function listItems(
  owner: Owner,
  conversation: string,
  page: PageWanted,
): Promise<{ items: JsonObject[]; next: number | null }> {
  const { data, has_more } = await own(owner).page(itemShape, [ITEMS, [conversation]], ["seq"], page);
  return readItems(owner, data, has_more);
}

/** The most items, and characters of rows, that one statement reads of a conversation that goes to a model. */
const MOST_AT_ONCE = 1000;
const CHARACTERS_AT_ONCE = 4 * 1024 * 1024;

/**
 * The items after a `seq`, oldest first: as many as one statement may read.
 * @returns as `listItems`
 */
export async function itemsAfter(
  owner: Owner,
  conversation: string,
  after: number,
): Promise<{ items: JsonObject[]; next: number | null }> {
  const sums =
    `SELECT seq, id, item, sum(length(item)) OVER (ORDER BY seq) - length(item) AS before FROM conversation_items
    WHERE tenant = ?1 AND conversation = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4` as const;
  const query = `SELECT seq, id, item FROM (${sums}) WHERE before < ?5 ORDER BY seq` as const;
  const wanted = [conversation, after, MOST_AT_ONCE, CHARACTERS_AT_ONCE];
  const rows = await own(owner).rows(itemShape, query, wanted);
  const read = rows.reduce((sum, { item }) => sum + item.length, 0);
  return readItems(owner, rows, rows.length === MOST_AT_ONCE || read >= CHARACTERS_AT_ONCE);
}

/** The items of rows, until their bytes exceed those of a page. @param has_more whether rows may follow these */
async function readItems(
  owner: Owner,
  data: readonly z.output<typeof itemShape>[],
  has_more: boolean,
): Promise<{ items: JsonObject[]; next: number | null }> {
  const items: JsonObject[] = [];
  let bytes = 0;
  for (const [n, { seq, item }] of data.entries()) {
    const read = await readItem(owner.env, item);
    // Somebody may have removed a large item meanwhile.
    if (read !== null) items.push(read.item);
    bytes += read?.bytes ?? 0;
    const more = has_more || n < data.length - 1;
    if (more && (bytes >= MAX_PAGE || n === data.length - 1)) return { items, next: seq };
  }
  return { items, next: null };
}

export async function removeItem(owner: Owner, conversation: string, id: string): Promise<void> {
  await removeItems(owner, "conversation = ?2 AND id = ?3", [conversation, id]);
}

/**
 * Removes items with their objects. If an object stays, the sweep removes it later.
 * @param which the condition for the items of the owner
 */
async function removeItems(
  owner: Owner,
  which: string,
  values: readonly unknown[],
  further: readonly OwnStatement[] = [],
): Promise<void> {
  const remove: OwnStatement = [`DELETE FROM conversation_items WHERE tenant = ?1 AND ${which}`, values];
  const [loose] = await own(owner).batch([loosenedBy(which, values), remove, ...further]);
  const keys = z.array(keyShape).parse(loose);
  await dropLoose(
    owner.env,
    keys.map(({ key }) => key),
  ).catch(() => {});
}
