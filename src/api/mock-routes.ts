/** The routes that queue mocks, and their request and response shapes. */
import { mockShape } from "../model/mock/mock.ts";
import { MAX_MOCKS } from "../model/mock/read.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, COUNT, object, pageOf, query, ref, TEXT } from "./openapi-parts.ts";
import { cursor, json, type Operations, schema } from "./operation.ts";
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
    answers: {
      201: answer("They are queued", json(object({ scope: TEXT, added: COUNT, queued: COUNT }))),
    },
    faults: [400, 404, 408, 413, 422],
  },
  clearMocks: {
    tag: "models",
    summary: `Empties queue, calls and cache; ${ONLY}`,
    parameters: [SCOPE],
    answers: { 204: answer("They are gone", null) },
    faults: [400, 404],
  },
  listMockCalls: {
    tag: "models",
    summary: `The recorded calls, including retries, the oldest first; ${ONLY}`,
    parameters: [
      SCOPE,
      query("limit", "Calls per page.", { type: "integer", minimum: 1, maximum: 1000, default: 20 }),
      cursor,
    ],
    answers: {
      200: answer("Calls", json(pageOf(ref("schemas", "MockCall")))),
    },
    faults: [400, 404],
  },
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
        messages: { type: "array", items: { type: "object" } },
        system: TEXT,
        tools: { type: "array", items: { type: "object" } },
        thinking: { type: "object" },
      },
      ["thinking"],
    ),
  };
}
