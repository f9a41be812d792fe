/** Model calls and agent runs over HTTP: whole, as events, idempotent or asynchronous. */
import * as z from "zod/mini";
import { readShape } from "../llm/members.ts";
import { withToolTexts } from "../llm/messages.ts";
import { sealedToolConfigs } from "../run/agent/options.ts";
import { checkOptions, type OperationRequest, operationInput, runOperation } from "../run/operation.ts";
import { callBody, completionBody, structuredBody } from "../run/request-bodies.ts";
import { sessionNamed } from "../run/session-call.ts";
import { withSentDigits } from "../skill/exact-json.ts";
import { objectOf } from "../skill/json.ts";
import { jsonObject } from "../skill/json-shape.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answerCall, formOf, openCall } from "./answer.ts";
import { jsonIn, readJson, readJsonIfAny, readText } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { requestHash } from "./idempotency.ts";
import { accountOf } from "./llm/account.ts";
import { namedSkillHeaders } from "./run-headers.ts";

/** The limit of JSON bodies of model routes. */
export const MAX_MODEL_BODY_BYTES = 32 * 1024 * 1024;

/** Reads the JSON body of such a route. */
export const modelBody =
  <T>(schema: z.ZodMiniType<T>) =>
  (request: Request): Promise<T> =>
    readJson(request, schema, MAX_MODEL_BODY_BYTES);
/** The same for an optional body: an empty one is `{}`. */
export const modelBodyIfAny =
  <T>(schema: z.ZodMiniType<T>) =>
  (request: Request): Promise<T> =>
    readJsonIfAny(request, schema, MAX_MODEL_BODY_BYTES);
/** The same for the body of a call or run. Calls and results in its messages keep the digits of their numbers, as texts. */
export const modelCall =
  <T extends { options?: JsonObject }>(schema: z.ZodMiniType<T>) =>
  async (request: Request): Promise<T> => {
    const text = await readText(request, MAX_MODEL_BODY_BYTES);
    const body = jsonIn(text, schema);
    const messages = body.options?.messages;
    if (messages === undefined) return body;
    const exact = withSentDigits(messages, text, (sent) => objectOf(objectOf(sent).options).messages);
    if (exact === messages) return body;
    return { ...body, options: { ...body.options, messages: withToolTexts(exact) } };
  };
const readCall = modelCall(callBody);

export const anyObject = z.lazy(jsonObject);

/** A JSON object whose members another reader reads. @throws what `readJson` throws */
export const objectBody = (context: RequestContext, limit = MAX_MODEL_BODY_BYTES): Promise<JsonObject> =>
  readJson(context.request, anyObject, limit);
/** The same for an optional body. */
export const objectBodyIfAny = ({ request }: RequestContext): Promise<JsonObject> =>
  modelBodyIfAny(anyObject)(request);

/** `POST /llm/call`. */
export const callModel = async (context: RequestContext): Promise<Response> =>
  answer(context, { operation: "llm/call", body: await readCall(context.request) });

/** `POST /llm/stream`: the same call, always answered with events, whatever `Accept` says. */
export async function streamModel(context: RequestContext): Promise<Response> {
  const asked = { operation: "llm/call" as const, body: await readCall(context.request) };
  const { later, wait } = formOf(context.request);
  return answer(context, asked, { later, events: !later, wait });
}

/** `POST /llm/structured`: an envelope with JSON, or with the reason why there is none. */
export const callStructured = async (context: RequestContext): Promise<Response> =>
  answer(context, { operation: "llm/structured", body: await modelCall(structuredBody)(context.request) });

/** `POST /llm/completion`: the text between a prefix and a suffix. */
export const completeText = async (context: RequestContext): Promise<Response> =>
  answer(context, { operation: "llm/completion", body: await modelBody(completionBody)(context.request) });

/**
 * An agent run without a session. For a daemon, the caller gets the answer when the daemon first goes idle, and the
 * daemon then ends.
 */
export async function anonymousRun(
  context: RequestContext,
  body: z.infer<typeof callBody>,
): Promise<Response> {
  const form = formOf(context.request, { waits: true });
  const until = form.wait === "terminal" ? form.wait : "idle";
  return answer(context, { operation: "runs", until, publishes: context.publishes, body }, form);
}

type Asked = OperationRequest extends infer R
  ? R extends Exclude<OperationRequest, { operation: "responses" }>
    ? Omit<R, "account">
    : never
  : never;

async function answer(
  context: RequestContext,
  asked: Asked,
  form = formOf(context.request),
): Promise<Response> {
  const { operation } = asked;
  const isRun = operation === "runs";
  const ran = await namedSkillHeaders(context, isRun ? asked.body.options?.skill : null);
  const call = await openCall(context, form, operation, ran);
  context.log.operation = operation;
  const account = accountOf(context, isRun ? null : sessionNamed(asked.body.options));
  return answerCall(context, form, call, {
    name: operation,
    about: { operation },
    run: (handle) => runOperation(handle, { ...asked, account }),
    done: (output) => output?.done ?? { duration_ms: context.durationMs },
    async begin(execution) {
      const request_hash = await requestHash(context, asked.body);
      // A run continues as it began, even if its skills are gone by now.
      const known = call.keyed && configured(asked) ? await execution.attach(request_hash) : null;
      if (known !== null) return known;
      await checkOptions(context, asked);
      const text = operationInput({ ...(await withSealed(context, asked)), account });
      return execution.begin({ skill: operation, digest: "", request_hash, text, files: [] });
    },
    watch: null,
  });
}

/** Whether the request has values for tools. Hull reads those according to the skills' present definitions. */
const configured = ({ operation, body }: Asked): boolean =>
  operation === "runs" && body.options?.tool_configs != null;

/** A stored request contains no secrets of tools' configuration. */
async function withSealed(context: RequestContext, asked: Asked): Promise<Asked> {
  if (asked.operation !== "runs" || asked.body.options?.tool_configs == null) return asked;
  const { tool_configs: _, ...options } = asked.body.options;
  const tool_configs = await sealedToolConfigs(context, asked.body.options);
  return { ...asked, body: { ...asked.body, options }, tool_configs };
}

/**
 * The body of a route under /v1. The answer's header names the members that the shape does not have.
 * @param limit most bytes
 * @throws InvalidRequest for the first fault, what `readJson` throws
 */
export const vendorBody = async <T extends object>(
  context: RequestContext,
  shape: z.ZodMiniType<T>,
  limit = MAX_MODEL_BODY_BYTES,
): Promise<T> => knownMembers(context, shape, await objectBody(context, limit));

/** The same for an optional body. */
export const vendorBodyIfAny = async <T extends object>(
  context: RequestContext,
  shape: z.ZodMiniType<T>,
): Promise<T> => knownMembers(context, shape, await objectBodyIfAny(context));

function knownMembers<T extends object>(
  context: RequestContext,
  shape: z.ZodMiniType<T>,
  body: JsonObject,
): T {
  const known = readShape(shape, body);
  context.ignored.push(...Object.keys(body).filter((name) => !Object.hasOwn(known, name)));
  return known;
}
