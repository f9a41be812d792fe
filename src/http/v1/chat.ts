/** `POST /v1/chat/completions`: OpenAI's chat completions with every provider. */

import type { ModelRequest } from "../../engine/messages.ts";
import type { Reached } from "../../llm/host.ts";
import { completionOf } from "../../llm/openai-api/answer.ts";
import { type ChatRequest, readChatRequest } from "../../llm/openai-api/request.ts";
import { withoutRefusedThinking } from "../../llm/openai-api/terms.ts";
import { ignoredHeader, warningsHeader } from "../../run/end-headers.ts";
import { type VendorModel, withExtra } from "../../run/vendor-model.ts";
import type { RequestContext } from "../context.ts";
import { listedAnswer } from "../index-call.ts";
import { objectBody } from "../operations.ts";
import { jsonNow } from "../page.ts";
import { answerChatWithTools, runsChatTools } from "./agent-chat.ts";
import { chunkedAnswer } from "./chat-chunks.ts";
import { checkCodeAccess } from "./code-access.ts";
import { withStoredTurns } from "./container-turns.ts";
import { withChatFiles } from "./files-in-messages.ts";
import { callHeaders, callWarnings, ignoredStrict, modelLookup, sendCall } from "./model-call.ts";

/** `POST /v1/chat/completions`. */
export async function createChatCompletion(context: RequestContext): Promise<Response> {
  const body = await withChatFiles(context, await objectBody(context));
  const read = readChatRequest(body);
  return listedAnswer(context, { name: "chat/completions", model: read.model }, (id) =>
    answer(context, read, id),
  );
}

async function answer(context: RequestContext, read: ChatRequest, id: string): Promise<Response> {
  const asked = await withStoredTurns(context, read);
  const runs = runsChatTools(asked);
  const model = modelLookup(context, asked.model, !runs);
  if (runs) {
    checkCodeAccess(context, asked);
    return answerChatWithTools(context, asked, { id, model });
  }
  const found = await model();
  return asked.stream ? streamed(context, asked, found) : whole(context, asked, found);
}

async function whole(context: RequestContext, asked: ChatRequest, model: VendorModel): Promise<Response> {
  const { request, ignored } = fitted(asked, model.reached);
  const { signal } = context.request;
  const turn = await sendCall(context, model, request, { signal, stream: false });
  const completion = {
    ...completionOf(turn, model.excludesCached, Date.now()),
    ...callWarnings(model, turn),
  };
  return jsonNow(context.redacted(completion), 200, callHeaders(ignored, model, turn));
}

async function streamed(context: RequestContext, asked: ChatRequest, model: VendorModel): Promise<Response> {
  const { request, ignored } = fitted(asked, model.reached);
  const headers = { ...ignoredHeader(ignored), ...warningsHeader(model.choice.warnings) };
  const about = { model: model.reached.model, usage: asked.reports_usage, headers };
  return chunkedAnswer(context, about, async (chunks, signal) => {
    const turn = await sendCall(context, model, request, { signal, stream: true, sink: chunks.sink });
    chunks.finish(turn, { excludesCached: model.excludesCached, further: callWarnings(model, turn) });
  });
}

/**
 * The request in the form that the target accepts, and the members that it does not get. Only targets of the same
 * protocol receive members without a canonical form.
 */
function fitted(
  { request, extra, unsupported }: ChatRequest,
  reached: Reached,
): { request: ModelRequest; ignored: string[] } {
  const { protocol } = reached;
  const further = protocol === "openai-chat" || protocol === "mock" ? [] : Object.keys(extra);
  const ignored = [...further, ...unsupported, ...ignoredStrict(request.tools, protocol)];
  const own = withExtra(request, protocol === "openai-chat" ? extra : {});
  const possible = withoutRefusedThinking(own, reached);
  return { request: possible, ignored: possible === own ? ignored : [...ignored, "reasoning_effort"] };
}
