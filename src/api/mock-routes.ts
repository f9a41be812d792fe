/** The routes that queue mocks, and their request and response shapes. */
import { mockShape } from "../model/mock/mock.ts";
import { MAX_MOCKS } from "../model/mock/read.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, COUNT, OBJECTS, object, pageOf, ref, TEXT } from "./openapi-parts.ts";
import { json, lists, type Operations, removes, schema } from "./operation.ts";
import { bodySchema } from "./shape-schema.ts";

const SCOPE: JsonObject = {
  name: "x-hull-mock-scope",
  in: "header",
  description: 'Whose mocks these are, within the tenant; `""` without it.',
  schema: { type: "string", pattern: "^[\\x21-\\x7e]{0,128}$" },
};
const ONLY = "404 unless hull.toml has `[llm] mock_routes = true`";

export const MOCK_OPERATIONS = {
  queueMocks: {
    tag: "models",
    summary: `Queues answers that replace the providers'; ${ONLY}`,
    parameters: [SCOPE],
    body: {
      required: true,
      content: json({
        oneOf: [schema("Mock"), { type: "array", items: schema("Mock"), maxItems: MAX_MOCKS }],
      }),
    },
    answers: { 201: answer("They are queued", json(object({ scope: TEXT, added: COUNT, queued: COUNT }))) },
    faults: [404],
  },
  clearMocks: removes("models", `Empties queue, calls and cache; ${ONLY}`, {
    parameters: [SCOPE],
    outcome: "They are gone",
    faults: [400, 404],
  }),
  listMockCalls: lists(
    "models",
    `The recorded calls, including retries, the oldest first; ${ONLY}`,
    pageOf(ref("schemas", "MockCall")),
    { parameters: [SCOPE], faults: [404] },
  ),
} satisfies Operations;

/** All of `components/schemas` that these routes use. */
export function mockSchemas(): JsonObject {
  return {
    Mock: bodySchema(mockShape, {
      match: { description: "`*` matches anything. Without it the mock answers the next call." },
      consume_match: { description: "A mock with `match` is used up by its first call." },
      output_tokens: { default: 30 },
      model: { default: "mock" },
    }),
    MockCall: object(
      {
        messages: OBJECTS,
        system: TEXT,
        tools: OBJECTS,
        thinking: { type: "object" },
      },
      ["thinking"],
    ),
  };
}
