/** The routes below `/v1` that call models, in the shapes of the vendors' APIs. */
import type { Json, JsonObject } from "../skill/manifest.ts";
import { answer, COUNT, inPath, object, TEXT } from "./openapi-parts.ts";
import { json, type Operation, type Operations } from "./operation.ts";
import { KEY } from "./session-routes.ts";

const ANTHROPIC = "https://platform.claude.com/docs/en/api/messages";
const OPENAI = "https://platform.openai.com/docs/api-reference/chat";

const LIST = { type: "array", items: { type: "object" } };
const CONVERSATION = object({ model: TEXT, messages: LIST });
const MESSAGE = object({ id: TEXT, type: { const: "message" }, content: LIST, usage: { type: "object" } });
const COMPLETION = object({ id: TEXT, object: { const: "chat.completion" }, choices: LIST });

function calls(summary: string, docs: string, body: JsonObject, shape: Json): Operation {
  const events = { schema: { ...TEXT, description: "The events of the vendor's API." } };
  const whole = { ...json(shape), "text/event-stream": events };
  return {
    tag: "models",
    summary,
    parameters: [KEY],
    body: { required: true, description: `As ${docs} says.`, content: json(body) },
    answers: { 200: answer("The answer, or its events with `stream: true`", whole) },
    vendor: true,
  };
}

const reads = (summary: string, shape: Json, parameters: JsonObject[]): Operation => ({
  tag: "models",
  summary,
  parameters,
  answers: { 200: answer("In the shape of the vendor whose client asks", json(shape)) },
  vendor: true,
});

export const V1_MODEL_OPERATIONS = {
  createMessage: calls("Anthropic's Messages API, over every provider", ANTHROPIC, CONVERSATION, MESSAGE),
  countMessageTokens: {
    tag: "models",
    summary: "How many tokens a request has, by estimate",
    body: { required: true, content: json(CONVERSATION) },
    answers: { 200: answer("The estimate", json(object({ input_tokens: COUNT }))) },
    vendor: true,
  },
  createChatCompletion: calls(
    "OpenAI's chat completions, over every provider",
    OPENAI,
    CONVERSATION,
    COMPLETION,
  ),
  listV1Models: reads("What can be named as a model", object({ data: LIST }), []),
  getV1Model: reads("A model that can be named", object({ id: TEXT }), [inPath("id")]),
} satisfies Operations;
