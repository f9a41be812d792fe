/** Conversations of OpenAI's clients in D1. Every query contains the tenant, so another tenant's id is unknown. */

import * as z from "zod/mini";
import CONVERSATIONS from "../../../migrations/0011_conversations.sql?raw";
import { Tables } from "../../database.ts";
import type { Bindings } from "../../env.ts";
import { objectOf } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { pagedBy, type RowsPage } from "../rows-page.ts";

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

const tables = ({ DB }: Bindings): Tables => new Tables(DB, CONVERSATIONS);

/** Stores a conversation, unless there is one with this id; returns the stored one. */
export async function addConversation(
  env: Bindings,
  tenant: string,
  row: ConversationRow,
): Promise<ConversationRow> {
  const stored = await tables(env).first(
    conversationShape,
    `INSERT INTO conversations (tenant, id, metadata, created_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET id = id RETURNING id, metadata, created_ms`,
    [tenant, row.id, JSON.stringify(row.metadata), row.created_ms],
  );
  return stored ?? row;
}

/** `null` for an unknown or foreign id. */
export async function findConversation(
  env: Bindings,
  tenant: string,
  id: string,
): Promise<ConversationRow | null> {
  return tables(env).first(
    conversationShape,
    "SELECT id, metadata, created_ms FROM conversations WHERE tenant = ? AND id = ?",
    [tenant, id],
  );
}

export async function setMetadata(
  env: Bindings,
  tenant: string,
  id: string,
  metadata: JsonObject,
): Promise<void> {
  await tables(env).run("UPDATE conversations SET metadata = ?3 WHERE tenant = ?1 AND id = ?2", [
    tenant,
    id,
    JSON.stringify(metadata),
  ]);
}

/** Removes a conversation with its items. */
export async function removeConversation(env: Bindings, tenant: string, id: string): Promise<void> {
  await tables(env).batch([
    ["DELETE FROM conversation_items WHERE tenant = ? AND conversation = ?", [tenant, id]],
    ["DELETE FROM conversations WHERE tenant = ? AND id = ?", [tenant, id]],
  ]);
}

/** Appends items, all or none. Existing items keep their place, and a removed conversation gets none. */
export async function appendItems(
  env: Bindings,
  tenant: string,
  conversation: string,
  items: readonly JsonObject[],
): Promise<void> {
  if (items.length === 0) return;
  const insert = `INSERT OR IGNORE INTO conversation_items (tenant, conversation, seq, id, item)
    SELECT ?1, ?2, 1 + coalesce((SELECT max(seq) FROM conversation_items WHERE tenant = ?1 AND conversation = ?2), 0), ?3, ?4
    WHERE EXISTS (SELECT 1 FROM conversations WHERE tenant = ?1 AND id = ?2)`;
  await tables(env).batch(
    items.map((item) => [insert, [tenant, conversation, String(item.id), JSON.stringify(item)]]),
  );
}

export async function findItem(
  env: Bindings,
  tenant: string,
  conversation: string,
  id: string,
): Promise<ItemRow | null> {
  return tables(env).first(
    itemShape,
    "SELECT seq, id, item FROM conversation_items WHERE tenant = ? AND conversation = ? AND id = ?",
    [tenant, conversation, id],
  );
}

/** A page of items, in the order of their `seq`. */
export async function listItems(
  env: Bindings,
  tenant: string,
  conversation: string,
  page: RowsPage,
): Promise<ItemRow[]> {
  return tables(env).rows(
    itemShape,
    `SELECT seq, id, item FROM conversation_items WHERE tenant = ?1 AND conversation = ?2 ${pagedBy("seq", page)}`,
    [tenant, conversation, page.after, page.limit],
  );
}

export async function removeItem(
  env: Bindings,
  tenant: string,
  conversation: string,
  id: string,
): Promise<void> {
  await tables(env).run("DELETE FROM conversation_items WHERE tenant = ? AND conversation = ? AND id = ?", [
    tenant,
    conversation,
    id,
  ]);
}
