/** The routes below `/v1` of OpenAI's Responses API: responses, conversations, containers. */
import type { ContainerRetrieveResponse } from "openai/resources/containers/containers";
import type { FileRetrieveResponse } from "openai/resources/containers/files/files";
import type { Conversation } from "openai/resources/conversations/conversations";
import type { InputTokenCountResponse } from "openai/resources/responses/input-tokens";
import type { CompactedResponse } from "openai/resources/responses/responses";
import { responseTool } from "../llm/openai-api/client-tools.ts";
import { responseBody } from "../llm/openai-api/response-request.ts";
import {
  containerBody,
  containerFileBody,
  conversationBody,
  conversationChangeBody,
  newItemsBody,
} from "./bodies/v1.ts";
import { answer, BINARY, COUNT, OBJECTS, object, query, TEXT, TEXTS, view } from "./openapi-parts.ts";
import {
  body,
  fileAnswers,
  json,
  KEY,
  maybeBody,
  type Operation,
  type Operations,
  RANGED,
  reads,
  type Schema,
} from "./operation.ts";
import { bodySchema, schemaOf } from "./shape-schema.ts";

const PAGE = object({ object: { const: "list" }, data: OBJECTS, has_more: { type: "boolean" } });
const RESPONSE = object({ id: TEXT, object: { const: "response" }, status: TEXT, output: OBJECTS });
const CONVERSATION = view<Conversation>()(
  { id: TEXT, object: { const: "conversation" }, created_at: COUNT, metadata: { type: "object" } },
  {},
);
const CONTAINER = view<ContainerRetrieveResponse>()(
  {
    id: TEXT,
    object: { const: "container" },
    created_at: COUNT,
    name: TEXT,
    status: { enum: ["running", "expired"] },
    last_active_at: COUNT,
    expires_after: object({ anchor: { const: "last_active_at" }, minutes: COUNT }),
    network_policy: { type: "object" },
    memory_limit: TEXT,
  },
  { last_active_at: true, expires_after: true, network_policy: true, memory_limit: true },
);
const FILE = view<FileRetrieveResponse>()(
  {
    id: TEXT,
    object: { const: "container.file" },
    bytes: COUNT,
    container_id: TEXT,
    created_at: COUNT,
    path: TEXT,
    source: { enum: ["user", "assistant"] },
  },
  {},
);
const GONE = object({ id: TEXT, deleted: { const: true } });
const EVENTS = { "text/event-stream": { schema: { ...TEXT, description: "The events of a response." } } };

const PAGING = [
  query("limit", "Items per page.", { type: "integer", minimum: 1, maximum: 100, default: 20 }),
  query("after", "Id of the last item of the page before.", TEXT),
  query("order", "By time.", { enum: ["asc", "desc"] }),
];
const TOOLS = { tools: { items: schemaOf(responseTool) } };

const operation = (summary: string, shape: Schema, more: Partial<Operation> = {}): Operation =>
  reads("models", summary, shape, { outcome: "In the shape of OpenAI's API", vendor: true, ...more });

export const V1_RESPONSE_OPERATIONS = {
  createResponse: operation("OpenAI's Responses API, over every provider", RESPONSE, {
    parameters: [KEY],
    body: body(responseBody, TOOLS),
    answers: {
      200: answer("The response, or its events with `stream: true`", { ...json(RESPONSE), ...EVENTS }),
    },
  }),
  countResponseTokens: operation(
    "How many tokens the input of a response has, estimated",
    view<InputTokenCountResponse>()({ object: { const: "response.input_tokens" }, input_tokens: COUNT }, {}),
    { body: maybeBody({ ...bodySchema(responseBody, TOOLS), required: [] }) },
  ),
  compactResponse: operation(
    "A conversation that a model's summary replaces",
    view<CompactedResponse>()(
      {
        id: TEXT,
        object: { const: "response.compaction" },
        created_at: COUNT,
        output: OBJECTS,
        usage: { type: "object" },
      },
      {},
    ),
    { body: body(responseBody, TOOLS) },
  ),
  getResponse: operation("A stored response, or its events with `?stream=true`", RESPONSE, {
    parameters: [
      query("stream", "Whether its events are wanted.", { type: "boolean" }),
      query("starting_after", "`sequence_number` of the last event that is not wanted.", { type: "integer" }),
      query("include", "What else the answer contains.", TEXTS),
    ],
    answers: { 200: answer("The response, or its events", { ...json(RESPONSE), ...EVENTS }) },
  }),
  deleteResponse: operation("Removes a stored response", GONE),
  cancelResponse: operation("Stops a response in the background", RESPONSE),
  listResponseInput: operation("The input of a stored response", PAGE, { parameters: PAGING }),
  createConversation: operation("Begins a conversation", CONVERSATION, { body: maybeBody(conversationBody) }),
  getConversation: operation("A conversation", CONVERSATION),
  updateConversation: operation("Changes a conversation's metadata", CONVERSATION, {
    body: body(conversationChangeBody),
  }),
  deleteConversation: operation("Removes a conversation", GONE),
  listConversationItems: operation("A conversation's items, the newest first", PAGE, {
    parameters: PAGING,
  }),
  createConversationItems: operation("Appends items to a conversation", PAGE, {
    body: body(newItemsBody),
  }),
  getConversationItem: operation("An item of a conversation", object({ id: TEXT, type: TEXT })),
  deleteConversationItem: operation("Removes an item of a conversation", CONVERSATION),
  listContainers: operation("The tenant's containers, the newest first", PAGE, {
    parameters: [...PAGING, query("name", "Only containers of this name.", TEXT)],
  }),
  createContainer: operation("Makes a container for code execution", CONTAINER, {
    body: body(containerBody),
  }),
  getContainer: operation("A container", CONTAINER),
  deleteContainer: operation("Removes a container with its files", GONE, {
    answers: { 204: answer("It is removed", null) },
  }),
  listContainerFiles: operation("The files of a container, the newest first", PAGE, {
    parameters: PAGING,
  }),
  createContainerFile: operation("Puts a file into a container", FILE, {
    body: {
      required: true,
      content: {
        "multipart/form-data": { schema: { type: "object", properties: { file: BINARY } } },
        ...json(bodySchema(containerFileBody)),
      },
    },
  }),
  getContainerFile: operation("What is known of a container's file", FILE),
  deleteContainerFile: operation("Removes a container's file", GONE, {
    answers: { 204: answer("It is removed", null) },
  }),
  getContainerFileContent: operation("The bytes of a container's file", FILE, {
    parameters: RANGED,
    answers: fileAnswers("content-disposition"),
  }),
} satisfies Operations;
