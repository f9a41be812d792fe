/** `/v1/conversations`: conversations of OpenAI's clients, and their items. */
import * as z from "zod/mini";
import { CallNotFound } from "../../../errors/llm.ts";
import { BadRequest } from "../../../errors/request.ts";
import { readItems } from "../../../llm/openai-api/response-items.ts";
import { inputItems, metadataOf, withoutFile } from "../../../llm/openai-api/response-request.ts";
import { wrong } from "../../../llm/wrong.ts";
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
import type { Json, JsonObject } from "../../../skill/manifest.ts";
import { readJson } from "../../body.ts";
import type { RequestContext } from "../../context.ts";
import { MAX_MODEL_BODY_BYTES } from "../../operations.ts";
import { jsonNow } from "../../page.ts";
import { ascendingOf, limitOf } from "../lists.ts";
import { bodyShape } from "../messages.ts";
import { newDigits, storedItems } from "../responses/ids.ts";
import { renderItem, showsReasoning } from "../responses/render.ts";

type Params = Record<string, string>;

/** The most items of one request. */
const MOST_ITEMS = 20;
const MAX_LIMIT = 100;
/** The most characters of an item. */
const MAX_ITEM = 1024 * 1024;

const shown = ({ id, metadata, created_ms }: ConversationRow): object => ({
  id,
  object: "conversation",
  created_at: Math.floor(created_ms / 1000),
  metadata,
});

/** @throws CallNotFound */
async function conversationOf(
  { env, tenant }: RequestContext,
  { id = "" }: Params,
): Promise<ConversationRow> {
  const row = await findConversation(env, tenant, id);
  if (row === null) throw new CallNotFound({ what: "conversation", id });
  return row;
}

/** The items of a request. @throws InvalidRequest */
function itemsIn(given: Json | undefined): JsonObject[] {
  if (given !== undefined && given !== null && !Array.isArray(given))
    throw wrong("items", "a list is expected");
  if (Array.isArray(given) && given.length > MOST_ITEMS)
    throw wrong("items", `${given.length} items; at most ${MOST_ITEMS} at once are accepted`);
  const items = inputItems(given);
  readItems(items.map(withoutFile), (n) => `items.${n}`);
  const large = items.findIndex((item) => JSON.stringify(item).length > MAX_ITEM);
  if (large !== -1)
    throw wrong(`items.${large}`, `an item has at most ${MAX_ITEM} characters; store its file`);
  return storedItems(items);
}

const bodyOf = (context: RequestContext): Promise<JsonObject> =>
  readJson(context.request, bodyShape, MAX_MODEL_BODY_BYTES);

/** `POST /v1/conversations`. */
export async function postConversation(context: RequestContext): Promise<Response> {
  const { env, tenant } = context;
  const body = context.request.body === null ? {} : await bodyOf(context);
  const items = itemsIn(body.items);
  const row = { id: `conv_${newDigits()}`, metadata: metadataOf(body.metadata), created_ms: Date.now() };
  await addConversation(env, tenant, row);
  await appendItems(env, tenant, row.id, items);
  return jsonNow(shown(row));
}

export async function getConversation(context: RequestContext, params: Params): Promise<Response> {
  return jsonNow(shown(await conversationOf(context, params)));
}

/** `POST /v1/conversations/:id`: replaces the metadata. */
export async function updateConversation(context: RequestContext, params: Params): Promise<Response> {
  const row = await conversationOf(context, params);
  const metadata = metadataOf((await bodyOf(context)).metadata);
  await setMetadata(context.env, context.tenant, row.id, metadata);
  return jsonNow(shown({ ...row, metadata }));
}

/** `DELETE /v1/conversations/:id`: removes it with its items; responses remain. */
export async function deleteConversation(context: RequestContext, params: Params): Promise<Response> {
  const { id } = await conversationOf(context, params);
  await removeConversation(context.env, context.tenant, id);
  return jsonNow({ id, object: "conversation.deleted", deleted: true });
}

const reasoningShown = ({ request }: RequestContext): boolean => {
  const query = new URL(request.url).searchParams;
  return showsReasoning([...query.getAll("include"), ...query.getAll("include[]")], true);
};

function listOf(items: readonly Json[], has_more: boolean): object {
  const ids = z
    .array(z.looseObject({ id: z.string() }))
    .parse(items)
    .map(({ id }) => id);
  return { object: "list", data: items, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null, has_more };
}

/** `GET /v1/conversations/:id/items`. @throws BadRequest */
export async function getItems(context: RequestContext, params: Params): Promise<Response> {
  const { env, tenant, request } = context;
  const { id } = await conversationOf(context, params);
  const query = new URL(request.url).searchParams;
  const limit = limitOf(query, { max: MAX_LIMIT });
  const named = query.get("after");
  const before = named === null ? null : await findItem(env, tenant, id, named);
  if (named !== null && before === null)
    throw new BadRequest({ detail: `after names no item: "${named.slice(0, 64)}".`, param: "after" });
  const page = { limit: limit + 1, after: before?.seq ?? null, ascending: ascendingOf(query) };
  const found = await listItems(env, tenant, id, page);
  const data = found.slice(0, limit).map(({ item }) => renderItem(item, reasoningShown(context)));
  return jsonNow(context.redacted(listOf(data, found.length > limit)));
}

/** `POST /v1/conversations/:id/items`. */
export async function postItems(context: RequestContext, params: Params): Promise<Response> {
  const { id } = await conversationOf(context, params);
  const items = itemsIn((await bodyOf(context)).items);
  if (items.length === 0) throw wrong("items", "a list with at least one item is required");
  await appendItems(context.env, context.tenant, id, items);
  return jsonNow(context.redacted(listOf(items, false)));
}

/** @throws CallNotFound */
async function itemOf(
  context: RequestContext,
  params: Params,
): Promise<{ conversation: ConversationRow; row: ItemRow }> {
  const conversation = await conversationOf(context, params);
  const { item = "" } = params;
  const row = await findItem(context.env, context.tenant, conversation.id, item);
  if (row === null) throw new CallNotFound({ what: "item", id: item });
  return { conversation, row };
}

export async function getItem(context: RequestContext, params: Params): Promise<Response> {
  const { row } = await itemOf(context, params);
  return jsonNow(context.redacted(renderItem(row.item, reasoningShown(context))));
}

/** `DELETE /v1/conversations/:id/items/:item`: removes the item, and answers with the conversation. */
export async function deleteItem(context: RequestContext, params: Params): Promise<Response> {
  const { conversation, row } = await itemOf(context, params);
  await removeItem(context.env, context.tenant, conversation.id, row.id);
  return jsonNow(shown(conversation));
}
