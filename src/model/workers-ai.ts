/** Workers AI through its binding, in the chat shape. */

import * as z from "zod/mini";
import { unlessAborted } from "../at-most.ts";
import type { ModelRequest } from "../engine/messages.ts";
import { ProviderNotConfigured } from "../errors/provider.ts";
import { HullError } from "../errors.ts";
import { isObject } from "../skill/json.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { Attempt } from "./attempts.ts";
import { announce, type Outcome } from "./exchange.ts";
import { withExtra } from "./extra.ts";
import { type Failure, failureOfStatus } from "./failure.ts";
import { openAiBody, openAiChat } from "./openai-chat.ts";
import { type Asked, readShape } from "./provider-document.ts";
import type { InternalTarget } from "./providers.ts";
import { readStream } from "./read-answer.ts";
import { baseVariable } from "./registry/provider-setup.ts";
import { wholeCharacters } from "./whole-characters.ts";
import { callIdSource, type StreamReader } from "./wire.ts";

/** The part of the `AI` binding that Hull uses. */
export interface AiBinding {
  run(model: string, inputs: Record<string, unknown>, options?: { signal?: AbortSignal }): Promise<unknown>;
}

/**
 * One attempt through the binding.
 * @throws ProviderNotConfigured without a binding; anything when `signal` is aborted
 */
export async function askBinding(
  request: ModelRequest,
  target: InternalTarget,
  ai: AiBinding | undefined,
  attempt: Attempt,
): Promise<Outcome> {
  const { stream, signal, sink } = attempt;
  const { provider } = target;
  if (ai === undefined) {
    throw new ProviderNotConfigured({ provider, variable: baseVariable(provider), binding: "AI" });
  }
  let result: unknown;
  try {
    result = await unlessAborted(ai.run(target.model, inputsOf(request, target, stream), { signal }), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HullError) throw error;
    return failureOf(error, target.model);
  }
  try {
    const whole = wholeCharacters(sink);
    const reader = chatReader(openAiChat.stream(target, whole.sink), target);
    const answer = isByteStream(result)
      ? await readStream(result, "sse", reader, target, attempt)
      : asCompletion(result, target);
    whole.end();
    const turn = openAiChat.parse(answer, target, callIdSource(request.messages));
    if (!isByteStream(result)) announce(turn, sink);
    return { ok: true, turn };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HullError) return { ok: false, retry: false, error };
    throw error;
  }
}

const isByteStream = (value: unknown): value is ReadableStream<Uint8Array> => value instanceof ReadableStream;

/**
 * The chat body without what the binding's schemas refuse: stream options, a list as a system text, and `null` as an
 * assistant's content; the schema is not wrapped (https://developers.cloudflare.com/workers-ai/features/json-mode).
 */
function inputsOf(
  { system_listed: ___, ...request }: ModelRequest,
  target: InternalTarget,
  stream: boolean,
): Record<string, unknown> {
  const {
    model: _,
    stream_options: __,
    response_format: format,
    ...body
  } = openAiBody(request, target, stream);
  const inputs = {
    ...body,
    messages: body.messages.map((message) => ({ ...message, content: message.content ?? "" })),
    ...(format === undefined
      ? {}
      : {
          response_format:
            format.type === "json_schema" ? { ...format, json_schema: format.json_schema.schema } : format,
        }),
  };
  return { ...withExtra(inputs, request.extra, target) };
}

const legacyCall = z.lazy(() => z.object({ name: z.string(), arguments: z.optional(z.unknown()) }));

/** Older models answer `{response, tool_calls: [{name, arguments}], usage}`, whole or in pieces. */
const legacyAnswer = z.lazy(() =>
  z.object({
    response: z.optional(z.unknown()),
    tool_calls: z.nullish(z.array(z.unknown())),
    usage: z.optional(z.unknown()),
  }),
);

interface LegacyParts {
  content: string;
  tool_calls: unknown[];
  usage: unknown;
}

/** The parts of an answer in the older form; `null`: it has another form. */
function legacyParts(value: unknown, asked: Asked): LegacyParts | null {
  if (!isObject(value) || "choices" in value || !("response" in value || "tool_calls" in value)) return null;
  const { response, tool_calls, usage } = readShape(legacyAnswer, value, asked);
  const said = response ?? "";
  const content = typeof said === "string" ? said : JSON.stringify(said);
  const calls = (tool_calls ?? []).map((call) => {
    const legacy = legacyCall.safeParse(call);
    return legacy.success ? { function: legacy.data } : call;
  });
  return { content, tool_calls: calls, usage };
}

function asCompletion(value: unknown, asked: Asked): unknown {
  const parts = legacyParts(value, asked);
  if (parts === null) return value;
  const { usage, ...message } = parts;
  return { choices: [{ message, finish_reason: null }], usage };
}

/** Translates older chunks for the chat reader. */
function chatReader(reader: StreamReader, asked: Asked): StreamReader {
  return {
    push(event) {
      const parts = legacyParts(parsedJson(event.data), asked);
      if (parts === null) return reader.push(event);
      const { usage, ...delta } = parts;
      return reader.push({ data: JSON.stringify({ choices: [{ delta }], usage }) });
    },
    answer: () => reader.answer(),
  };
}

/** HTTP statuses of the codes that begin a binding error's message (developers.cloudflare.com/workers-ai/platform/errors). */
const STATUS_OF_CODE = new Map([
  ["3003", 400],
  ["3039", 400],
  ["5004", 400],
  ["5006", 400],
  ["5007", 400],
  ["3023", 403],
  ["3041", 403],
  ["5016", 403],
  ["5018", 403],
  ["3042", 404],
  ["5005", 405],
  ["5019", 405],
  ["3007", 408],
  ["3008", 408],
  ["3006", 413],
  ["3036", 429],
  ["3040", 429],
  ["4006", 429],
]);

function failureOf(error: unknown, model: string): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const code = /\b(\d{4}):/.exec(message)?.[1] ?? "";
  return failureOfStatus({
    provider: "workers-ai",
    model,
    variable: "the AI binding",
    status: STATUS_OF_CODE.get(code) ?? 500,
    text: JSON.stringify({ error: { message, code } }),
  });
}
