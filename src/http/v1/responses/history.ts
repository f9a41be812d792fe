/** The conversation that a response continues. */
import { CallNotFound } from "../../../errors/llm.ts";
import { wrong } from "../../../llm/members.ts";
import { checkOutputs } from "../../../llm/openai-api/response-items.ts";
import type { ResponsesAsk } from "../../../llm/openai-api/response-request.ts";
import { findConversation, itemsAfter } from "../../../registry/conversations/rows.ts";
import type { JsonObject } from "../../../skill/manifest.ts";
import type { RequestContext } from "../../context.ts";
import { MAX_MODEL_BODY_BYTES } from "../../operations.ts";
import { responseOf, storedItems } from "./ids.ts";
import { itemsUpTo, outputOf } from "./stored.ts";

/** Responses that are asked at once. */
const AT_ONCE = 20;
/** The most responses of whose items a request may name some: each costs two calls of an object, and calls are limited. */
const MOST_NAMED = 400;

/** The items that precede the request's own. @throws CallNotFound; InvalidRequest if they are too many to send */
export async function historyOf(
  context: RequestContext,
  { previous, conversation }: ResponsesAsk,
): Promise<JsonObject[]> {
  if (previous !== null) {
    const items = await itemsUpTo(context, previous);
    if (JSON.stringify(items).length > MAX_MODEL_BODY_BYTES) throw tooLong("previous_response_id");
    return items;
  }
  if (conversation === null) return [];
  if ((await findConversation(context, conversation)) === null)
    throw new CallNotFound({ what: "conversation", id: conversation });
  const items: JsonObject[] = [];
  let length = 0;
  for (let after = 0; ; ) {
    const read = await itemsAfter(context, conversation, after);
    for (const item of read.items) length += JSON.stringify(item).length;
    if (length > MAX_MODEL_BODY_BYTES) throw tooLong("conversation");
    items.push(...read.items);
    if (read.next === null) return items;
    after = read.next;
  }
}

const tooLong = (path: string): Error =>
  wrong(path, `the conversation before has more than ${MAX_MODEL_BODY_BYTES} characters; begin a new one`);

/**
 * The request's own items, which follow `history`, in the form to store: without references to items that the
 * conversation already has. An item of another stored response takes the place of its reference.
 * @param asks whether the items go to a model, which accepts a call of the client's own tool only with its output
 * @throws InvalidRequest for an unknown item, an output without its call, or such a call without its output
 */
export async function inputAfter(
  context: RequestContext,
  history: readonly JsonObject[],
  asked: ResponsesAsk,
  { asks }: { asks: boolean },
): Promise<JsonObject[]> {
  const before = asked.previous === null ? "conversation" : "previous_response_id";
  const input = await withNamed(context, history, asked.input);
  checkOutputs([...history, ...input], asks, (n) =>
    n < history.length ? before : `input.${n - history.length}.call_id`,
  );
  return storedItems(input.filter(({ type }) => type !== "item_reference"));
}

/** The items with those that they name, unless `history` has these. @throws InvalidRequest for an unknown item */
async function withNamed(
  context: RequestContext,
  history: readonly JsonObject[],
  input: readonly JsonObject[],
): Promise<JsonObject[]> {
  const known = new Set(history.map(({ id }) => id));
  const named = input.flatMap(({ type, id }) => (type === "item_reference" && !known.has(id) ? [id] : []));
  const responses = [...new Set(named.flatMap(responseOf))];
  if (responses.length > MOST_NAMED)
    throw wrong("input", `it names items of more than ${MOST_NAMED} responses; send the items themselves`);
  const items = await outputItems(context, responses);
  let length = 0;
  return input.map((item, n) => {
    if (item.type !== "item_reference" || known.has(item.id)) return item;
    const found = items.get(String(item.id));
    if (found === undefined)
      throw wrong(
        `input.${n}.id`,
        "neither the conversation before nor a stored response has an item of this id",
      );
    length += found.length;
    if (length > MAX_MODEL_BODY_BYTES) throw tooLong("input");
    return found.item;
  });
}

/** The items that these responses made, by id. Responses that are not stored, or have made nothing, have none. */
async function outputItems(
  context: RequestContext,
  responses: readonly string[],
): Promise<Map<string, { item: JsonObject; length: number }>> {
  const items = new Map<string, { item: JsonObject; length: number }>();
  let length = 0;
  for (let from = 0; from < responses.length; from += AT_ONCE) {
    const outputs = await Promise.all(
      responses.slice(from, from + AT_ONCE).map((id) => outputOf(context, id)),
    );
    for (const item of outputs.flat()) {
      const size = JSON.stringify(item).length;
      length += size;
      items.set(String(item.id), { item, length: size });
    }
    if (length > MAX_MODEL_BODY_BYTES) throw tooLong("input");
  }
  return items;
}
