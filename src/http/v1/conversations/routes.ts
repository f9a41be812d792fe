/** `/v1/conversations`: conversations of OpenAI's clients, and their items. */
import type { Conversation } from "openai/resources/conversations/conversations";
import { conversationBody, conversationChangeBody, newItemsBody } from "../../../api/bodies/v1.ts";
import { CallNotFound } from "../../../errors/llm.ts";
import { readItems } from "../../../llm/openai-api/response-items.ts";
import { typedItem, withoutFile } from "../../../llm/openai-api/response-request.ts";
import {
  addConversation,
  appendItems,
  type ConversationRow,
  findConversation,
  findItem,
  type ItemRow,
  listItems,
  removeConversation,
  removeItem,
  setMetadata,
} from "../../../registry/conversations/rows.ts";
import type { JsonObject } from "../../../skill/manifest.ts";
import type { RequestContext } from "../../context.ts";
import { madeDigits } from "../../idempotency.ts";
import { vendorBody, vendorBodyIfAny } from "../../operations.ts";
import { jsonNow, pageLimit } from "../../page.ts";
import type { Params } from "../../routes.ts";
import { ascendingOf, namedIn, openaiPage } from "../lists.ts";
import { storedItems } from "../responses/ids.ts";
import { reasoningShown, renderItem } from "../responses/render.ts";

const MAX_LIMIT = 100;

const shown = ({ id, metadata, created_ms }: ConversationRow): Conversation => ({
  id,
  object: "conversation",
  created_at: Math.floor(created_ms / 1000),
  metadata,
});

/** @throws CallNotFound */
async function conversationOf(context: RequestContext, { id = "" }: Params): Promise<ConversationRow> {
  const row = await findConversation(context, id);
  if (row === null) throw new CallNotFound({ what: "conversation", id });
  return row;
}

/** The items of a request in the form that is kept. @throws InvalidRequest */
async function itemsIn(context: RequestContext, given: readonly JsonObject[]): Promise<JsonObject[]> {
  const items = given.map(typedItem);
  readItems(items.map(withoutFile), (n) => `items.${n}`);
  const digits = await Promise.all(items.map((_, n) => madeDigits(context, `item ${n}`)));
  return storedItems(items, digits);
}

/** `POST /v1/conversations`. */
export async function createConversation(context: RequestContext): Promise<Response> {
  const body = await vendorBodyIfAny(context, conversationBody);
  const items = await itemsIn(context, body.items ?? []);
  const id = `conv_${await madeDigits(context, "conversation")}`;
  const wanted = { id, metadata: body.metadata ?? {}, created_ms: Date.now() };
  const row = await addConversation(context, wanted);
  await appendItems(context, row.id, items);
  return jsonNow(context.redacted(shown(row)));
}

export async function getConversation(context: RequestContext, params: Params): Promise<Response> {
  return jsonNow(context.redacted(shown(await conversationOf(context, params))));
}

/** `POST /v1/conversations/:id`: replaces the metadata. */
export async function updateConversation(context: RequestContext, params: Params): Promise<Response> {
  const row = await conversationOf(context, params);
  const { metadata: given } = await vendorBody(context, conversationChangeBody);
  const metadata = given ?? {};
  await setMetadata(context, row.id, metadata);
  return jsonNow(context.redacted(shown({ ...row, metadata })));
}

/** `DELETE /v1/conversations/:id`: removes it with its items; responses remain. */
export async function deleteConversation(context: RequestContext, params: Params): Promise<Response> {
  const { id } = await conversationOf(context, params);
  await removeConversation(context, id);
  return jsonNow({ id, object: "conversation.deleted", deleted: true });
}

/** `GET /v1/conversations/:id/items`. @throws BadRequest */
export async function listConversationItems(context: RequestContext, params: Params): Promise<Response> {
  const { query } = context;
  const { id } = await conversationOf(context, params);
  const limit = pageLimit(query, { max: MAX_LIMIT });
  const last = await namedIn(query, "after", "item", (item) => findItem(context, id, item));
  const page = { limit, after: last && [last.seq], ascending: ascendingOf(query) };
  const { items, next } = await listItems(context, id, page);
  const data = items.map((item) => renderItem(item, reasoningShown(context)));
  return jsonNow(context.redacted(openaiPage({ data, has_more: next !== null })));
}

/** `POST /v1/conversations/:id/items`. */
export async function createConversationItems(context: RequestContext, params: Params): Promise<Response> {
  const { id } = await conversationOf(context, params);
  const items = await itemsIn(context, (await vendorBody(context, newItemsBody)).items);
  await appendItems(context, id, items);
  return jsonNow(context.redacted(openaiPage({ data: items, has_more: false })));
}

/** @throws CallNotFound */
async function itemOf(
  context: RequestContext,
  params: Params,
): Promise<{ conversation: ConversationRow; row: ItemRow }> {
  const conversation = await conversationOf(context, params);
  const { item = "" } = params;
  const row = await findItem(context, conversation.id, item);
  if (row === null) throw new CallNotFound({ what: "item", id: item });
  return { conversation, row };
}

export async function getConversationItem(context: RequestContext, params: Params): Promise<Response> {
  const { row } = await itemOf(context, params);
  return jsonNow(context.redacted(renderItem(row.item, reasoningShown(context))));
}

/** `DELETE /v1/conversations/:id/items/:item`: removes the item, and answers with the conversation. */
export async function deleteConversationItem(context: RequestContext, params: Params): Promise<Response> {
  const { conversation, row } = await itemOf(context, params);
  await removeItem(context, conversation.id, row.id);
  return jsonNow(shown(conversation));
}
