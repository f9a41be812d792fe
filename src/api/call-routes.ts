/** The routes that call models, and their request and response shapes. */
import { callBody, completionBody, structuredBody } from "../run/request-bodies.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, COUNT, MAYBE_TEXT, object, query, ref, TEXT } from "./openapi-parts.ts";
import { body, json, type Operation, type Operations, schema } from "./operation.ts";

const ANY: JsonObject = {};
const TEXTS: JsonObject = { type: "array", items: TEXT };
const FLAG: JsonObject = { type: "boolean" };
const EVENTS: JsonObject = { "text/event-stream": { schema: schema("Events") } };

/** What every call takes in addition to its body. */
const CALL = {
  tag: "models",
  parameters: ["stream", "idempotency-key", "prefer"].map((name) => ref("parameters", name)),
  faults: [400, 402, 404, 408, 409, 413, 422, 502, 504],
} as const satisfies Partial<Operation>;
const OPTIONS = { options: schema("CallOptions") };
const ACCEPTED = ref("responses", "Accepted");

export const CALL_OPERATIONS = {
  runAgent: {
    ...CALL,
    summary: "Runs an agent without a session",
    parameters: [
      query(
        "wait",
        "Until when a daemon lives: its end, or its first rest, as without it. `none` answers 202.",
        {
          enum: ["terminal", "idle", "none"],
        },
      ),
      ...CALL.parameters,
    ],
    body: body(schema("RunRequest")),
    answers: {
      200: answer("The result", { ...json(schema("RunResult")), ...EVENTS }),
      202: ACCEPTED,
    },
  },
  callModel: {
    ...CALL,
    summary: "Calls a model",
    body: body(callBody, OPTIONS),
    answers: { 200: answer("The result", { ...json(schema("CallResult")), ...EVENTS }), 202: ACCEPTED },
  },
  streamModel: {
    ...CALL,
    summary: "Calls a model and streams its answer",
    body: body(callBody, OPTIONS),
    answers: { 200: answer("The answer as it comes; `done` carries the result", EVENTS), 202: ACCEPTED },
  },
  callStructured: {
    ...CALL,
    summary: "Calls a model until its answer matches a schema",
    body: body(structuredBody, OPTIONS),
    answers: {
      200: answer("The data, or the reason why there is none", {
        ...json(schema("StructuredResult")),
        ...EVENTS,
      }),
      202: ACCEPTED,
    },
  },
  completeText: {
    ...CALL,
    summary: "Asks for the text between a prefix and a suffix",
    body: body(completionBody, OPTIONS),
    answers: { 200: answer("The result", { ...json(schema("CallResult")), ...EVENTS }), 202: ACCEPTED },
  },
} satisfies Operations;

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
    transcript: ref("schemas", "Transcript"),
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
      transcript: ref("schemas", "Transcript"),
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
