/** The routes that call models, and their request and response shapes. */
import type { CallExtras, CallFigures, LlmResult } from "../llm/result.ts";
import type { StructuredEnvelope } from "../llm/structured-call.ts";
import { callBody, completionBody, structuredBody } from "../run/request-bodies.ts";
import type { RunResult } from "../session/conversation/answers.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, COUNT, MAYBE_TEXT, type Members, object, query, ref, TEXT, view } from "./openapi-parts.ts";
import { body, json, type Operation, type Operations, schema } from "./operation.ts";

const ANY: JsonObject = {};
const TEXTS: JsonObject = { type: "array", items: TEXT };
const FLAG: JsonObject = { type: "boolean" };
const EVENTS: JsonObject = { "text/event-stream": { schema: schema("Events") } };

/** What the operations of all calls have in common, except for the body. */
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

const USAGE = view<CallFigures>()(
  {
    input_tokens: COUNT,
    output_tokens: COUNT,
    cache_read_tokens: COUNT,
    cache_write_tokens: COUNT,
    cache_hit_ratio: { type: "number", minimum: 0, maximum: 1 },
    cache_savings_usd: { type: "number" },
    cost_usd: { type: "number" },
    price_known: FLAG,
  },
  {},
);

const WARNINGS: JsonObject = {
  type: "array",
  items: object({ code: TEXT, message: TEXT, option: TEXT }, ["option"]),
};
const OBJECTS: JsonObject = { type: "array", items: { type: "object" } };
/** Members of calls and runs alike. */
const EXTRAS: Members<CallExtras> = {
  budget_exceeded: { ...FLAG, description: "The call used up a soft budget." },
  mock_calls: {
    ...OBJECTS,
    description: "The calls that mocks answered: at most the last 1000, and at most 8 MiB.",
  },
  mock_calls_left_out: { ...COUNT, description: "How many earlier entries of `mock_calls` are missing." },
};
const DATA: JsonObject = { description: "The answer as JSON, if the request asked for JSON." };

const RUN_RESULT = view<RunResult>()(
  {
    run_id: TEXT,
    session_id: MAYBE_TEXT,
    status: TEXT,
    text: TEXT,
    visible_text: {
      ...TEXT,
      description: "The text without reasoning, tool calls and other parts that are not meant for people.",
    },
    iterations: COUNT,
    duration_ms: COUNT,
    tools_used: TEXTS,
    successful_tools: TEXTS,
    rejected_tools: TEXTS,
    deferred_user_messages: { type: "array", items: ref("schemas", "Message") },
    tool_calling_mode: { enum: ["native", "text"] },
    input_tokens: COUNT,
    output_tokens: COUNT,
    cost_usd: { type: "number", description: "Cost of the run and of its tasks and sub-agents." },
    own_cost_usd: { type: "number", description: "Cost of the run alone." },
    daemon_state: MAYBE_TEXT,
    daemon_snapshot_path: MAYBE_TEXT,
    task_ledger: { type: ["object", "null"] },
    ledger_done_rejections: { ...COUNT, description: "How often the run wanted to end with open items." },
    wake_sources: { ...TEXTS, description: "What can wake the daemon." },
    policy_dropped: { ...TEXTS, description: "Tools that the policy asked for beyond its ceiling." },
    data: DATA,
    summary: {
      ...TEXT,
      description: "Summary of the messages that compaction removed from the conversation.",
    },
    artifacts: { ...OBJECTS, description: "The last version of each; in a session without its content." },
    trace: { ...OBJECTS, description: "The last 1000 steps of the loop that appear in no message." },
    warnings: WARNINGS,
    ...EXTRAS,
    transcript: ref("schemas", "Transcript"),
    transcript_truncated: {
      ...FLAG,
      description: "The transcript holds only the last records of a very long run.",
    },
  },
  {
    wake_sources: true,
    policy_dropped: true,
    data: true,
    summary: true,
    artifacts: true,
    warnings: true,
    budget_exceeded: true,
    mock_calls: true,
    mock_calls_left_out: true,
    transcript_truncated: true,
  },
);

const CALL_RESULT = view<LlmResult>()(
  {
    text: TEXT,
    visible_text: {
      ...TEXT,
      description: "The text without reasoning, tool calls and other parts that are not meant for people.",
    },
    model: TEXT,
    provider: TEXT,
    input_tokens: COUNT,
    output_tokens: COUNT,
    cache_read_tokens: COUNT,
    cache_write_tokens: COUNT,
    cache_creation_input_tokens: COUNT,
    usage: USAGE,
    data: DATA,
    tool_calls: {
      type: "array",
      items: object({ id: TEXT, name: TEXT, arguments: { type: "object" } }),
    },
    thinking: TEXT,
    private_reasoning: { ...TEXT, description: "The same as `thinking`." },
    thinking_summary: TEXT,
    blocks: OBJECTS,
    stop_reason: MAYBE_TEXT,
    raw_stop_reason: MAYBE_TEXT,
    transcript: ref("schemas", "Transcript"),
    prose: { ...TEXT, description: "The text around the calls, if the model calls tools in its text." },
    canonical_text: TEXT,
    protocol_violations: TEXTS,
    tool_parse_errors: TEXTS,
    done_marker: MAYBE_TEXT,
    routing: { type: "object", description: "Which model answered, if Hull chose it." },
    warnings: WARNINGS,
    ...EXTRAS,
  },
  {
    data: true,
    tool_calls: true,
    thinking: true,
    private_reasoning: true,
    thinking_summary: true,
    prose: true,
    canonical_text: true,
    protocol_violations: true,
    tool_parse_errors: true,
    done_marker: true,
    routing: true,
    warnings: true,
    budget_exceeded: true,
    mock_calls: true,
    mock_calls_left_out: true,
  },
);

export function callSchemas(): JsonObject {
  return {
    RunResult: RUN_RESULT,
    CallResult: CALL_RESULT,
    StructuredResult: view<StructuredEnvelope>()(
      {
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
        warnings: WARNINGS,
        ...EXTRAS,
      },
      { warnings: true, budget_exceeded: true, mock_calls: true, mock_calls_left_out: true },
    ),
  };
}
