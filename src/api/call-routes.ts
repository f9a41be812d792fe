/** The routes that call models, and the shapes that they take and give. */
import type { Json, JsonObject } from "../skill/manifest.ts";
import { json, type Operations, schema } from "./operation.ts";
import { answer, COUNT, MAYBE_TEXT, object, query, TEXT } from "./parts.ts";

const ANY: JsonObject = {};
const TEXTS: JsonObject = { type: "array", items: TEXT };
const FLAG: JsonObject = { type: "boolean" };
const OPTIONS: JsonObject = {
  type: "object",
  description:
    "Options of the call by name, and under the name of a provider what is merged into the body that it is sent.",
};
/** What can go wrong beside the request's own faults: budgets, rates, the provider. */
const FAULTS = [400, 402, 404, 413, 422, 502, 504];

const EVENTS: JsonObject = {
  "text/event-stream": {
    schema: { ...TEXT, description: "Events `delta`, `thought`, `round`, `error`, `done`." },
  },
};

const body = (shape: Json): JsonObject => ({ required: true, content: json(shape) });

const CALL = object({ prompt: MAYBE_TEXT, system: MAYBE_TEXT, options: OPTIONS }, [
  "prompt",
  "system",
  "options",
]);

export const CALL_OPERATIONS: Operations = {
  "/runs": {
    post: {
      id: "runAgent",
      tag: "models",
      summary: "Runs an agent without a session",
      scope: "invoke",
      parameters: [
        query(
          "wait",
          "Until when a daemon lives: its end, or its first rest, as without it. `none` answers 202.",
          {
            enum: ["terminal", "idle", "none"],
          },
        ),
      ],
      body: body(CALL),
      answers: { 200: answer("The result", { ...json(schema("RunResult")), ...EVENTS }) },
      faults: FAULTS,
    },
  },
  "/llm/call": {
    post: {
      id: "callModel",
      tag: "models",
      summary: "Calls a model",
      scope: "invoke",
      body: body(CALL),
      answers: { 200: answer("The result", { ...json(schema("CallResult")), ...EVENTS }) },
      faults: FAULTS,
    },
  },
  "/llm/stream": {
    post: {
      id: "streamModel",
      tag: "models",
      summary: "Calls a model and streams its answer",
      scope: "invoke",
      body: body(CALL),
      answers: { 200: answer("The answer as it comes; `done` carries the result", EVENTS) },
      faults: FAULTS,
    },
  },
  "/llm/structured": {
    post: {
      id: "callStructured",
      tag: "models",
      summary: "Calls a model until its answer matches a schema",
      scope: "invoke",
      body: body(
        object({ prompt: TEXT, schema: { type: "object" }, system: MAYBE_TEXT, options: OPTIONS }, [
          "system",
          "options",
        ]),
      ),
      answers: { 200: answer("The data, or the reason why there is none", json(schema("StructuredResult"))) },
      faults: FAULTS,
    },
  },
  "/llm/completion": {
    post: {
      id: "completeText",
      tag: "models",
      summary: "Asks for the text between a prefix and a suffix",
      scope: "invoke",
      body: body(
        object({ prefix: TEXT, suffix: MAYBE_TEXT, system: MAYBE_TEXT, options: OPTIONS }, [
          "suffix",
          "system",
          "options",
        ]),
      ),
      answers: { 200: answer("The result", json(schema("CallResult"))) },
      faults: FAULTS,
    },
  },
};

const USAGE = object({
  input_tokens: COUNT,
  output_tokens: COUNT,
  cache_read_tokens: COUNT,
  cache_write_tokens: COUNT,
  cache_hit_ratio: { type: "number", minimum: 0, maximum: 1 },
  cache_savings_usd: { type: "number" },
  cost_usd: { type: "number" },
  price_known: FLAG,
});

export function callSchemas(): JsonObject {
  const result: JsonObject = {
    text: TEXT,
    visible_text: TEXT,
    model: TEXT,
    provider: TEXT,
    usage: USAGE,
    stop_reason: MAYBE_TEXT,
    raw_stop_reason: MAYBE_TEXT,
    blocks: { type: "array", items: { type: "object" } },
    transcript: { type: "object" },
    data: ANY,
    tool_calls: {
      type: "array",
      items: object({ id: TEXT, name: TEXT, arguments: { type: "object" } }),
    },
    thinking: TEXT,
    warnings: {
      type: "array",
      items: object({ code: TEXT, message: TEXT, option: TEXT }, ["option"]),
    },
  };
  return {
    RunResult: object({
      run_id: TEXT,
      session_id: MAYBE_TEXT,
      status: TEXT,
      text: TEXT,
      visible_text: TEXT,
      iterations: COUNT,
      duration_ms: COUNT,
      tools_used: TEXTS,
      successful_tools: TEXTS,
      rejected_tools: TEXTS,
      input_tokens: COUNT,
      output_tokens: COUNT,
      cost_usd: { type: "number" },
      transcript: { type: "object" },
    }),
    CallResult: object(result, ["data", "tool_calls", "thinking", "warnings"]),
    StructuredResult: object({
      ok: FLAG,
      data: ANY,
      raw_text: TEXT,
      error: ANY,
      error_category: MAYBE_TEXT,
      attempts: COUNT,
      repaired: FLAG,
      extracted_json: FLAG,
      usage: { oneOf: [USAGE, { type: "null" }] },
      model: MAYBE_TEXT,
      provider: MAYBE_TEXT,
    }),
  };
}
