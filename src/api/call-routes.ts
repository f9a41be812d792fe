/** The routes that call models, and their request and response shapes. */
import { callResult } from "../llm/result.ts";
import { structuredResult } from "../llm/structured-call.ts";
import { callBody, completionBody, structuredBody } from "../run/request-bodies.ts";
import { runResultShape } from "../session/conversation/answers.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, query, ref } from "./openapi-parts.ts";
import { ANSWERED, body, EVENTS, json, type Operation, type Operations, schema } from "./operation.ts";
import { schemasOf } from "./shape-schema.ts";

/** What the operations of all calls have in common, except for the body. */
const CALL = {
  tag: "models",
  parameters: ANSWERED,
  faults: [402, 404, 409, 502, 504],
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
        { enum: ["terminal", "idle", "none"] },
      ),
      ...CALL.parameters,
    ],
    body: body("RunRequest"),
    answers: { 200: answer("The result", { ...json("RunResult"), ...EVENTS }), 202: ACCEPTED },
  },
  callModel: {
    ...CALL,
    summary: "Calls a model",
    body: body(callBody, OPTIONS),
    answers: { 200: answer("The result", { ...json("CallResult"), ...EVENTS }), 202: ACCEPTED },
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
        ...json("StructuredResult"),
        ...EVENTS,
      }),
      202: ACCEPTED,
    },
  },
  completeText: {
    ...CALL,
    summary: "Asks for the text between a prefix and a suffix",
    body: body(completionBody, OPTIONS),
    answers: { 200: answer("The result", { ...json("CallResult"), ...EVENTS }), 202: ACCEPTED },
  },
} satisfies Operations;

export const callSchemas = (): JsonObject =>
  schemasOf({ RunResult: runResultShape, CallResult: callResult(), StructuredResult: structuredResult() });
