/**
 * `POST /mcp`: Hull as an MCP server over Streamable HTTP, without state of sessions. Each request gets its own answer: as JSON,
 * or as events if the client wants to follow the progress of a call.
 */

import { atMost } from "../../at-most.ts";
import { grants } from "../../auth/api-key.ts";
import { firstOf } from "../../cut.ts";
import { NotAcceptable, UnsupportedMediaType } from "../../errors/request.ts";
import { toHullError } from "../../errors.ts";
import { formatEvent, HEARTBEAT_MS } from "../../run/events.ts";
import { parseWithOffset } from "../../run/json.ts";
import { logError } from "../../run/problem.ts";
import { exactJson } from "../../skill/exact-json.ts";
import { objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { readText, tooManyValues } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { checkSentOrigin } from "../guard.ts";
import { isJson, typeOf } from "../media-type.ts";
import { jsonNow } from "../page.ts";
import { checkRate } from "../rate.ts";
import { RUN_ID } from "../run-id.ts";
import type { Watch } from "../skills/run.ts";
import { EventBody, eventStream, wantsEvents } from "../sse.ts";
import { type Cancellable, cancelCall, cancellable, newSession } from "./cancel.ts";
import type { Exchange } from "./exchange.ts";
import {
  FAULT_CODES,
  fault,
  type Message,
  type Outcome,
  type RequestId,
  type RpcRequest,
  readMessage,
  responseTo,
} from "./message.ts";
import { methodOf, unknownMethod, withResultMeta } from "./methods.ts";
import { progressOf, progressToken } from "./progress.ts";
import {
  BATCH_VERSION,
  negotiateVersion,
  type ProtocolVersion,
  SUBSCRIPTION_KEY,
  versionFromHeader,
} from "./version.ts";

/** Longest message: it may contain files in Base64. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** The most messages of a batch. */
const MAX_BATCH = 20;

/** @throws OriginNotAllowed, NotAcceptable, UnsupportedMediaType, BodyTooLarge, BadEncoding */
export async function mcp(context: RequestContext): Promise<Response> {
  const { request } = context;
  checkSentOrigin(context, true);
  checkAccept(request);
  const type = typeOf(request);
  if (!isJson(type)) throw new UnsupportedMediaType({ type, accepted: ["application/json"] });
  const limit = Math.min(MAX_MESSAGE_BYTES, context.settings.max_body_bytes);
  const text = await readText(request, limit);
  const excess = tooManyValues(text);
  if (excess !== null) {
    return refusal(null, fault(FAULT_CODES.invalidRequest, `Invalid Request: the body ${excess}`));
  }
  const parsed = parseWithOffset(text);
  if (!parsed.ok) {
    return jsonNow(responseTo(null, fault(FAULT_CODES.parse, `Parse error: ${parsed.reason}`)), 400);
  }
  if (Array.isArray(parsed.value)) return batch(context, parsed.value, text);
  const message = readMessage(parsed.value);
  return message.kind === "request" ? single(context, message, text) : unanswered(context, message);
}

function checkAccept({ headers }: Request): void {
  const accept = headers.get("accept");
  if (accept === null || /application\/(?:json|\*)|text\/(?:event-stream|\*)|\*\/\*/i.test(accept)) return;
  throw new NotAcceptable({ accepted: ["application/json", "text/event-stream"] });
}

const refusal = (id: string | number | null, refused: Outcome): Response =>
  jsonNow(responseTo(id, refused), ("fault" in refused && refused.fault.status) || 400);

/** Accepts a message that has no answer, if it is readable. */
function unanswered(context: RequestContext, message: Exclude<Message, RpcRequest>): Response {
  if (message.kind === "invalid") {
    return refusal(message.id, fault(FAULT_CODES.invalidRequest, `Invalid Request: ${message.reason}`));
  }
  const protocol = versionFromHeader(context.request.headers);
  if ("fault" in protocol) return refusal(null, protocol);
  if (message.kind === "response" && protocol.modern) {
    return refusal(null, fault(FAULT_CODES.invalidRequest, "Invalid Request: the body holds no request."));
  }
  if (message.kind === "notification" && message.method === "notifications/cancelled")
    cancelCall(context, message.params.requestId);
  return accepted();
}

const accepted = (): Response => new Response(null, { status: 202 });

/** Handles the messages of a batch one after the other. */
async function batch(context: RequestContext, values: Json[], text: string): Promise<Response> {
  const protocol = versionFromHeader(context.request.headers);
  if ("fault" in protocol) return refusal(null, protocol);
  const reason =
    protocol.version !== BATCH_VERSION
      ? `${protocol.version} has no batches`
      : values.length === 0 || values.length > MAX_BATCH
        ? `a batch has 1 to ${MAX_BATCH} messages`
        : null;
  if (reason !== null) return refusal(null, fault(FAULT_CODES.invalidRequest, `Invalid Request: ${reason}.`));
  const answers: JsonObject[] = [];
  for (const [index, value] of values.entries()) {
    const message = readMessage(value);
    if (message.kind === "invalid") {
      answers.push(responseTo(message.id, fault(FAULT_CODES.invalidRequest, message.reason)));
    }
    if (message.kind !== "request") continue;
    // The rate limit has counted the first message with the request itself.
    if (index > 0) await checkRate(context);
    const at = (sent: Json): Json | undefined => (Array.isArray(sent) ? sent[index] : undefined);
    const own = answers.length === 0 ? context : context.within(unnamed(context.request));
    const exchange = exchangeOf(own, protocol, context.request.signal, { text, at });
    answers.push(responseTo(message.id, await outcomeOf(exchange, message, null)));
  }
  return answers.length === 0 ? accepted() : jsonNow(answers);
}

/** The request of a later message. The run's name that local dev's front sent belongs to the first message only. */
function unnamed({ url, method, headers, signal }: Request): Request {
  const further = new Headers(headers);
  further.delete(RUN_ID);
  return new Request(url, { method, headers: further, signal });
}

/** The text of a body, and where in it a message is. */
interface SentText {
  text: string;
  at: (sent: Json) => Json | undefined;
}

function exchangeOf(
  context: RequestContext,
  protocol: ProtocolVersion,
  signal: AbortSignal,
  { text, at }: SentText,
): Exchange {
  const written = (part: Json, ...path: string[]): string =>
    exactJson(part, text, (sent) =>
      ["params", "arguments", ...path].reduce<Json | undefined>(
        (value, name) => objectOf(value)[name],
        at(sent),
      ),
    );
  return { context, protocol, invokes: grants(context.caller.scopes, "invoke"), signal, written };
}

const whole = (text: string): SentText => ({ text, at: (sent) => sent });

async function single(context: RequestContext, request: RpcRequest, text: string): Promise<Response> {
  const { id, method, params } = request;
  context.log.mcp = firstOf(method, 100);
  const protocol = negotiateVersion(request, context.request.headers);
  if ("fault" in protocol) return refusal(id, protocol);
  if (methodOf({ protocol }, method) === null) {
    const unknown = unknownMethod(method);
    return protocol.modern ? refusal(id, unknown) : jsonNow(responseTo(id, unknown));
  }
  const listens = method === "subscriptions/listen";
  const wanted = listens ? "only" : wantsEvents(context.request);
  const token = method === "tools/call" && wanted !== "no" ? progressToken(params) : null;
  const left = new AbortController();
  const signal = AbortSignal.any([context.request.signal, left.signal]);
  const exchange = exchangeOf(context, protocol, signal, whole(text));
  const call = cancellable(context, request, () => left.abort());
  const answer = { context, left, id, call };
  if (token !== null || wanted === "only") {
    return streamed({ ...answer, token }, async (watch, send) => {
      if (listens) await send(acknowledgement(id));
      return outcomeOf(exchange, request, watch);
    });
  }
  const outcome = outcomeOf(exchange, request, null).finally(call.over);
  const soon = wanted === "no" ? await outcome : await atMost(outcome, HEARTBEAT_MS, () => null);
  // Clients and proxies wait a few minutes at most for the beginning of an answer.
  if (soon === null) return streamed({ ...answer, token }, () => outcome);
  // A client expects no response to a cancelled request.
  if (call.cancelled) return accepted();
  const opens = method === "initialize" && "result" in soon;
  return jsonNow(responseTo(id, soon), 200, opens ? newSession() : {});
}

interface StreamedAnswer {
  context: RequestContext;
  /** Aborted when the client leaves the stream. */
  left: AbortController;
  id: RequestId;
  token: RequestId | null;
  call: Cancellable;
}

type Send = (message: JsonObject) => Promise<void>;

/** Answers with events: notifications first, then the response. The call ends if the client leaves. */
function streamed(
  { context, left, id, token, call }: StreamedAnswer,
  carryOut: (watch: Watch | null, send: Send) => Promise<Outcome>,
): Response {
  const send: Send = (message) => body.write(formatEvent(message, "message"));
  const progress = token === null ? null : progressOf(context, token, send);
  const body = new EventBody(() => left.abort(), progress?.goesOn);
  const answered = async (): Promise<void> => {
    const outcome = await carryOut(progress?.watch ?? null, send).finally(call.over);
    if (!call.cancelled) await send(responseTo(id, outcome));
    await body.close();
  };
  context.finished = answered();
  context.background(context.finished);
  return eventStream(body.stream);
}

/** Confirms a subscription, but to none of the requested parts. */
function acknowledgement(id: RequestId): JsonObject {
  const params = { _meta: { [SUBSCRIPTION_KEY]: id }, notifications: {} };
  return { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
}

/** Handles a request; an error becomes a fault of the protocol. */
async function outcomeOf(
  exchange: Exchange,
  { method, params }: RpcRequest,
  watch: Watch | null,
): Promise<Outcome> {
  const carryOut = methodOf(exchange, method);
  if (carryOut === null) return unknownMethod(method);
  try {
    return withResultMeta(exchange, method, await carryOut(exchange, params, watch));
  } catch (thrown) {
    const error = toHullError(thrown);
    logError(error, exchange.context);
    return fault(FAULT_CODES.internal, error.data.detail, { data: { code: error.code } });
  }
}
