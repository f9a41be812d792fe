/** `/v1/responses/input_tokens` and `/v1/responses/compact`: count and shorten a conversation. */
import { textOfBlocks } from "../../../engine/messages.ts";
import { visibleText } from "../../../engine/visible-text.ts";
import { ProviderBadResponse } from "../../../errors/provider.ts";
import { wrong } from "../../../llm/members.ts";
import { compactedItems, summaryRequest } from "../../../llm/openai-api/compaction.ts";
import { readItems } from "../../../llm/openai-api/response-items.ts";
import {
  extraMemberNames,
  readResponses,
  responseRequest,
} from "../../../llm/openai-api/response-request.ts";
import { namesSkill } from "../../../llm/skill-model.ts";
import { promptTokens } from "../../../model/estimate.ts";
import { checkFiles, inlined } from "../../../run/responses/inlined.ts";
import { responseUsage } from "../../../run/responses/perform.ts";
import { textOf } from "../../../skill/json.ts";
import type { JsonObject } from "../../../skill/manifest.ts";
import type { RequestContext } from "../../context.ts";
import { listedAnswer } from "../../index-call.ts";
import { objectBody, objectBodyIfAny } from "../../operations.ts";
import { jsonNow } from "../../page.ts";
import { callHeaders, modelLookup, sendCall } from "../model-call.ts";
import { historyOf, inputAfter } from "./history.ts";
import { newDigits } from "./ids.ts";

/** The model for a request that names none. */
const ANY_MODEL = "any";

/** All items of the request's conversation, with the contents of files. @throws InvalidRequest CallNotFound FileNotFound */
async function itemsOf(context: RequestContext, body: JsonObject): Promise<JsonObject[]> {
  const asked = readResponses(body);
  const history = await historyOf(context, asked);
  const input = await inputAfter(context, history, asked, { asks: false });
  await checkFiles(context, input);
  return inlined(context, { history, input });
}

/** `POST /v1/responses/input_tokens`: an estimate, by the same rule that reserves budgets. */
export async function countResponseTokens(context: RequestContext): Promise<Response> {
  const given = await objectBodyIfAny(context);
  const body = { ...given, model: given.model ?? ANY_MODEL };
  const request = responseRequest(body, await itemsOf(context, body));
  return jsonNow({ object: "response.input_tokens", input_tokens: promptTokens(request) });
}

/** `POST /v1/responses/compact`: the request's model writes the summary. */
export async function compactResponse(context: RequestContext): Promise<Response> {
  const body = await objectBody(context);
  if (namesSkill(String(body.model))) throw wrong("model", "a skill writes no summaries; name a model");
  return listedAnswer(context, { name: "responses/compact", model: String(body.model) }, () =>
    summarized(context, body),
  );
}

async function summarized(context: RequestContext, body: JsonObject): Promise<Response> {
  const items = await itemsOf(context, body);
  const instructions = textOf(body.instructions);
  const { signal } = context.request;
  const model = await modelLookup(context, String(body.model), true)();
  const { messages } = readItems(items, (n) => `input.${n}`);
  const turn = await sendCall(context, model, summaryRequest(messages, instructions), {
    signal,
    stream: false,
  });
  const summary = visibleText(textOfBlocks(turn.blocks)).trim();
  if (summary === "")
    throw new ProviderBadResponse({ provider: model.choice.target.provider, reason: "it holds no summary" });
  const document = {
    id: `resp_${newDigits()}`,
    object: "response.compaction",
    created_at: Math.floor(Date.now() / 1000),
    output: compactedItems(items, context.settings.redactor.text(summary), {
      count: messages.length,
      id: `cmp_${newDigits()}`,
    }),
    usage: responseUsage(turn.usage, model.excludesCached),
  };
  return jsonNow(context.redacted(document), 200, callHeaders(extraMemberNames(body), model, turn));
}
