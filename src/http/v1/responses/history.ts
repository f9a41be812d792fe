/** The conversation that a response continues. */
import { CallNotFound } from "../../../errors/llm.ts";
import { wrong } from "../../../llm/members.ts";
import { checkOutputs } from "../../../llm/openai-api/response-items.ts";
import type { ResponsesAsk } from "../../../llm/openai-api/response-request.ts";
import { findConversation, listItems } from "../../../registry/conversations/rows.ts";
import type { JsonObject } from "../../../skill/manifest.ts";
import type { RequestContext } from "../../context.ts";
import { MAX_MODEL_BODY_BYTES } from "../../operations.ts";
import { storedItems } from "./ids.ts";
import { itemsUpTo } from "./stored.ts";

/** The most items of a conversation that one read fetches. */
const PAGE = 20;

/** The items that precede the request's own. @throws CallNotFound; InvalidRequest if they are too many to send */
export async function historyOf(
  context: RequestContext,
  { previous, conversation }: ResponsesAsk,
): Promise<JsonObject[]> {
  const { env, tenant } = context;
  if (previous !== null) {
    const items = await itemsUpTo(context, previous);
    if (JSON.stringify(items).length > MAX_MODEL_BODY_BYTES) throw tooLong("previous_response_id");
    return items;
  }
  if (conversation === null) return [];
  if ((await findConversation(env, tenant, conversation)) === null)
    throw new CallNotFound({ what: "conversation", id: conversation });
  const items: JsonObject[] = [];
  let length = 0;
  for (let after: number | null = null; ; ) {
    const page = await listItems(env, tenant, conversation, { limit: PAGE, after, ascending: true });
    for (const { item } of page) length += JSON.stringify(item).length;
    if (length > MAX_MODEL_BODY_BYTES) throw tooLong("conversation");
    items.push(...page.map(({ item }) => item));
    after = page.at(-1)?.seq ?? null;
    if (page.length < PAGE) return items;
  }
}

const tooLong = (path: string): Error =>
  wrong(path, `the conversation before has more than ${MAX_MODEL_BODY_BYTES} characters; begin a new one`);

/**
 * The request's own items, which follow `history`, in the form to store: without references to items that the
 * conversation already has.
 * @param asks whether the items go to a model, which accepts a call of the client's own tool only with its output
 * @throws InvalidRequest for an unknown item, an output without its call, or such a call without its output
 */
export function inputAfter(
  history: readonly JsonObject[],
  { input, previous }: ResponsesAsk,
  { asks }: { asks: boolean },
): JsonObject[] {
  const before = previous === null ? "conversation" : "previous_response_id";
  checkOutputs([...history, ...input], asks, (n) =>
    n < history.length ? before : `input.${n - history.length}.call_id`,
  );
  const own = input.flatMap((item, n): JsonObject[] => {
    if (item.type !== "item_reference") return [item];
    const named = history.some(({ id }) => id === item.id);
    if (!named) throw wrong(`input.${n}.id`, "the conversation before has no item of this id");
    // The conversation already has it.
    return [];
  });
  return storedItems(own);
}
