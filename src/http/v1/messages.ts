/** `POST /v1/messages`: Anthropic's API with every provider. */
import { ThreadUnsupported } from "../../errors/llm.ts";
import { messageOf } from "../../llm/anthropic-api/answer.ts";
import { type MessagesRequest, readMessagesRequest } from "../../llm/anthropic-api/request.ts";
import type { Reached } from "../../llm/host.ts";
import { wrong } from "../../llm/members.ts";
import { namesSkill } from "../../llm/skill-model.ts";
import { checkAnswered } from "../../llm/tool-call-ids.ts";
import { promptTokens } from "../../model/estimate.ts";
import { ignoredHeader, warningsHeader } from "../../run/end-headers.ts";
import type { VendorModel } from "../../run/vendor-model.ts";
import { withSentDigits } from "../../skill/exact-json.ts";
import { objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { jsonIn, readText } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { listedAnswer } from "../index-call.ts";
import { anyObject, MAX_MODEL_BODY_BYTES } from "../operations.ts";
import { jsonNow } from "../page.ts";
import { formatted } from "../sse.ts";
import { answerWithTools, runsTools } from "./agent-messages.ts";
import { checkCodeAccess } from "./code-access.ts";
import { dialectOf } from "./dialect.ts";
import { errorBody } from "./errors.ts";
import { withFiles } from "./files-in-messages.ts";
import { MessageEvents } from "./message-events.ts";
import {
  callHeaders,
  callWarnings,
  ignoredStrict,
  type ModelLookup,
  modelLookup,
  sendCall,
  streamedAnswer,
} from "./model-call.ts";
import { referencedSkills } from "./skill-references.ts";

/** A request's body with its files. The numbers in its messages, e.g. in the input of a tool, keep their digits. */
async function bodyOf(context: RequestContext): Promise<JsonObject> {
  const text = await readText(context.request, MAX_MODEL_BODY_BYTES);
  const body = jsonIn(text, anyObject);
  const exact = withSentDigits(body, text, (sent) => ({ messages: objectOf(sent).messages ?? null }));
  return withFiles(context, exact);
}

/** `POST /v1/messages`. */
export async function createMessage(context: RequestContext): Promise<Response> {
  const body = await bodyOf(context);
  const asked = readMessagesRequest(body, context.request.headers);
  return listedAnswer(context, { name: "messages", model: asked.model }, (id) => answer(context, asked, id));
}

async function answer(context: RequestContext, asked: MessagesRequest, id: string): Promise<Response> {
  const model = modelLookup(context, asked.model, !runsTools(asked));
  const passed = await passesThrough(context, asked, model);
  if (asked.thread && !passed) throw new ThreadUnsupported({});
  const [refused] = passed ? [] : asked.unaccounted;
  if (refused !== undefined) throw wrong(refused.path, refused.reason);
  if (!passed) checkAnswered(asked.unanswered);
  if (runsTools(asked) && !passed) {
    checkCodeAccess(context, asked);
    const skills = await referencedSkills(context, asked, model);
    // If all skills are Anthropic's own, Anthropic runs everything itself.
    if (skills.native.length === 0 || skills.local.length > 0)
      return answerWithTools(context, asked, { id, skills, model });
  }
  const found = await model();
  return asked.stream ? streamed(context, asked, found) : whole(context, asked, found);
}

/**
 * Whether hull.toml sends the request to its provider unchanged. A request with skills of Hull's own is never sent on.
 */
async function passesThrough(
  context: RequestContext,
  asked: MessagesRequest,
  model: ModelLookup,
): Promise<boolean> {
  const { pass_through } = context.settings;
  if (pass_through.length === 0 || namesSkill(asked.model)) return false;
  const { local } = await referencedSkills(context, asked, model);
  const { choice, reached } = await model();
  if (reached.protocol !== "anthropic" || !pass_through.includes(choice.target.provider)) return false;
  return local.length === 0 && asked.uploads.length === 0;
}

/** `POST /v1/messages/count_tokens`: an estimate, by the same rule that reserves budgets. */
export async function countMessageTokens(context: RequestContext): Promise<Response> {
  const body = await bodyOf(context);
  const { request } = readMessagesRequest(body, context.request.headers, true);
  return jsonNow({ input_tokens: promptTokens(request) });
}

async function whole(context: RequestContext, asked: MessagesRequest, model: VendorModel): Promise<Response> {
  const ignored = checkFit(asked, model.reached);
  const { signal } = context.request;
  const turn = await sendCall(context, model, asked.request, { signal, stream: false });
  // The provider's own document stays as it is.
  const warned = turn.document === undefined ? callWarnings(model, turn) : {};
  const message = context.redacted({ ...messageOf(turn, model.excludesCached), ...warned });
  return jsonNow(message, 200, callHeaders(ignored, model, turn));
}

async function streamed(
  context: RequestContext,
  asked: MessagesRequest,
  model: VendorModel,
): Promise<Response> {
  const ignored = checkFit(asked, model.reached);
  return streamedAnswer(context, {
    headers: { ...ignoredHeader(ignored), ...warningsHeader(model.choice.warnings) },
    async run(write, signal) {
      const events = new MessageEvents(model.reached.model, context, (event) => write(formatted(event)));
      const turn = await sendCall(context, model, asked.request, { signal, stream: true, sink: events.sink });
      events.finish(turn, model.excludesCached, callWarnings(model, turn));
    },
    failed: (error) => formatted({ ...errorBody(error, context, dialectOf(context)) }),
  });
}

/**
 * Names the parts of the request that do not reach the target.
 * @throws InvalidRequest for a part that only Anthropic could handle
 */
function checkFit({ foreign, ignored, request }: MessagesRequest, { protocol, model }: Reached): string[] {
  if (protocol === "anthropic" || protocol === "mock") return [];
  const [first] = foreign;
  if (first === undefined) return [...ignored, ...ignoredStrict(request.tools, protocol)];
  throw wrong(first.path, `only models of Anthropic take the type ${first.type}; ${model} does not`);
}
