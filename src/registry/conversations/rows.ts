/** Conversations of OpenAI's clients in D1. Every query contains the tenant, so another tenant's id is unknown. */

import * as z from "zod/mini";
import CONVERSATIONS from "../../../migrations/0011_conversations.sql?raw";
import { type OwnTables, ownTables } from "../../database.ts";
import type { Owner } from "../../env.ts";
import type { Page, PageWanted } from "../../list-page.ts";
import { objectOf } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { JsonObject } from "../../skill/manifest.ts";

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

export type ItemRow = z.output<typeof itemShape>;
const itemShape = z.lazy(() => z.object({ seq: z.int(), id: z.string(), item: json() }));

const own = (owner: Owner): OwnTables => ownTables(owner, CONVERSATIONS);

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
  await own(owner).batch([
    ["DELETE FROM conversation_items WHERE tenant = ?1 AND conversation = ?2", [id]],
    ["DELETE FROM conversations WHERE tenant = ?1 AND id = ?2", [id]],
  ]);
}

/** Appends items, all or none. Existing items keep their place, and a removed conversation gets none. */
export async function appendItems(
  owner: Owner,
  conversation: string,
  items: readonly JsonObject[],
): Promise<void> {
  if (items.length === 0) return;
  const insert = `INSERT OR IGNORE INTO conversation_items (tenant, conversation, seq, id, item)
    SELECT ?1, ?2, 1 + coalesce((SELECT max(seq) FROM conversation_items WHERE tenant = ?1 AND conversation = ?2), 0), ?3, ?4
    WHERE EXISTS (SELECT 1 FROM conversations WHERE tenant = ?1 AND id = ?2)`;
  await own(owner).batch(
    items.map((item) => [insert, [conversation, String(item.id), JSON.stringify(item)]]),
  );
}

const ITEMS = "SELECT seq, id, item FROM conversation_items WHERE tenant = ?1 AND conversation = ?2";

export function findItem(owner: Owner, conversation: string, id: string): Promise<ItemRow | null> {
  return own(owner).first(itemShape, `${ITEMS} AND id = ?3`, [conversation, id]);
}

/** A page of items, in the order of their `seq`. */
export function listItems(owner: Owner, conversation: string, page: PageWanted): Promise<Page<ItemRow>> {
  return own(owner).page(itemShape, [ITEMS, [conversation]], ["seq"], page);
}

export async function removeItem(owner: Owner, conversation: string, id: string): Promise<void> {
  const remove = "DELETE FROM conversation_items WHERE tenant = ?1 AND conversation = ?2 AND id = ?3";
  await own(owner).run(remove, [conversation, id]);
}
