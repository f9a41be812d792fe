/** The routes below `/v1` that call models, in the shapes of the vendors' APIs. */
import type { Json, JsonObject } from "../manifest.ts";
import { json, type Operation, type Operations } from "./operation.ts";
import { answer, COUNT, inPath, object, TEXT } from "./parts.ts";

const ANTHROPIC = "https://platform.claude.com/docs/en/api/messages";
const OPENAI = "https://platform.openai.com/docs/api-reference/chat";

/** Statuses of errors, whose body has the shape of the vendor's API. */
const ERRORS = [400, 401, 402, 403, 404, 405, 413, 429, 500, 502, 503, 504];
const ERROR = answer("What is wrong, in the shape of the vendor's API", json({ type: "object" }));
const errors: { [status: string]: JsonObject } = Object.fromEntries(
  ERRORS.map((status) => [String(status), ERROR]),
);

const LIST = { type: "array", items: { type: "object" } };
const CONVERSATION = object({ model: TEXT, messages: LIST });
const MESSAGE = object({ id: TEXT, type: { const: "message" }, content: LIST, usage: { type: "object" } });
const COMPLETION = object({ id: TEXT, object: { const: "chat.completion" }, choices: LIST });

function calls(id: string, summary: string, docs: string, body: JsonObject, shape: Json): Operation {
  const events = { schema: { ...TEXT, description: "The events of the vendor's API." } };
  const whole = { ...json(shape), "text/event-stream": events };
  return {
    id,
    tag: "models",
    summary,
    scope: "invoke",
    body: { required: true, description: `As ${docs} says.`, content: json(body) },
    answers: { ...errors, 200: answer("The answer, or its events with `stream: true`", whole) },
  };
}

const reads = (id: string, summary: string, shape: Json, parameters: JsonObject[]): Operation => ({
  id,
  tag: "models",
  summary,
  scope: "invoke",
  parameters,
  answers: { ...errors, 200: answer("In the shape of the vendor whose client asks", json(shape)) },
});

export const V1_MODEL_OPERATIONS: Operations = {
  "/v1/messages": {
    post: calls(
      "createMessage",
      "Anthropic's Messages API, over every provider",
      ANTHROPIC,
      CONVERSATION,
      MESSAGE,
    ),
  },
  "/v1/messages/count_tokens": {
    post: {
      id: "countMessageTokens",
      tag: "models",
      summary: "How many tokens a request has, by estimate",
      scope: "invoke",
      body: { required: true, content: json(CONVERSATION) },
      answers: { ...errors, 200: answer("The estimate", json(object({ input_tokens: COUNT }))) },
    },
  },
  "/v1/chat/completions": {
    post: calls(
      "createChatCompletion",
      "OpenAI's chat completions, over every provider",
      OPENAI,
      CONVERSATION,
      COMPLETION,
    ),
  },
  "/v1/models": { get: reads("listV1Models", "What can be named as a model", object({ data: LIST }), []) },
  "/v1/models/{id}": { get: reads("getV1Model", "One of them", object({ id: TEXT }), [inPath("id")]) },
};
