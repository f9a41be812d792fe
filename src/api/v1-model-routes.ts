/** The routes below `/v1` that call models, in the shapes of the vendors' APIs. */
import type { MessageTokensCount } from "@anthropic-ai/sdk/resources/messages";
import { messagesBody } from "../llm/anthropic-api/request.ts";
import { chatBody } from "../llm/openai-api/request.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, COUNT, OBJECTS, object, query, TEXT, view } from "./openapi-parts.ts";
import { body, json, type Operation, type Operations, reads, type Schema } from "./operation.ts";
import { bodySchema } from "./shape-schema.ts";

const LIMIT = { type: "integer", minimum: 1, maximum: 1000, default: 20 };
const ANTHROPIC = "https://platform.claude.com/docs/en/api/messages";
const OPENAI = "https://platform.openai.com/docs/api-reference/chat";

const VENDOR = { outcome: "In the shape of the vendor whose client asks", vendor: true } as const;
const MESSAGES = { messages: { items: { type: "object" } } };
const MESSAGE = object({ id: TEXT, type: { const: "message" }, content: OBJECTS, usage: { type: "object" } });
const COMPLETION = object({ id: TEXT, object: { const: "chat.completion" }, choices: OBJECTS });

function calls(summary: string, docs: string, taken: JsonObject, shape: Schema): Operation {
  const events = { schema: { ...TEXT, description: "The events of the vendor's API." } };
  const whole = { ...json(shape), "text/event-stream": events };
  return {
    tag: "models",
    summary,
    body: { description: `As ${docs} says.`, ...taken },
    answers: { 200: answer("The answer, or its events with `stream: true`", whole) },
    vendor: true,
  };
}

export const V1_MODEL_OPERATIONS = {
  createMessage: calls(
    "Anthropic's Messages API, over every provider",
    ANTHROPIC,
    body(messagesBody, MESSAGES),
    MESSAGE,
  ),
  countMessageTokens: {
    tag: "models",
    summary: "How many tokens a request has, by estimate",
    // Only a call needs a limit.
    body: body({ ...bodySchema(messagesBody, MESSAGES), required: ["model", "messages"] }),
    answers: { 200: answer("The estimate", json(view<MessageTokensCount>()({ input_tokens: COUNT }, {}))) },
    vendor: true,
  },
  createChatCompletion: calls(
    "OpenAI's chat completions, over every provider",
    OPENAI,
    body(chatBody, MESSAGES),
    COMPLETION,
  ),
  listV1Models: reads("models", "What can be named as a model", object({ data: OBJECTS }), {
    ...VENDOR,
    parameters: [
      query("limit", "Of Anthropic's form: models per page.", LIMIT),
      query("after_id", "Of Anthropic's form: the page after this model.", TEXT),
      query("before_id", "Of Anthropic's form: the page before this model.", TEXT),
    ],
  }),
  getV1Model: reads("models", "A model that can be named", object({ id: TEXT }), VENDOR),
} satisfies Operations;
