/**
 * Input from outside for a session while its run continues: messages, feedback, decisions, results of the client's
 * tools.
 */

import * as z from "zod/mini";
import { shapeErrors } from "../../engine/fault.ts";
import { InputInvalid } from "../../errors/request.ts";
import { messageShape, readMessages } from "../../llm/messages.ts";
import type { Json } from "../../skill/manifest.ts";
import { readJson } from "../body.ts";
import { MAX_MODEL_BODY_BYTES } from "../operations.ts";
import { jsonNow } from "../page.ts";
import { requestName, sessionOf, shown } from "./object.ts";
import { type Route, reasonIn } from "./shapes.ts";

const maybe = z.exactOptional;
const DELIVERIES = ["interrupt_immediate", "finish_step", "wait_for_completion"] as const;

const messageBody = z.lazy(() =>
  z.strictObject({
    content: z.union([z.string().check(z.minLength(1)), z.array(z.json()).check(z.minLength(1))]),
    delivery: maybe(z.enum(DELIVERIES)),
  }),
);
const feedbackBody = z.lazy(() =>
  z.strictObject({
    kind: z.string().check(z.regex(/^[a-z][a-z0-9_]{0,63}$/, "a name in a-z0-9_")),
    content: z.string().check(z.minLength(1)),
  }),
);
const decisionBody = z.lazy(() =>
  z.strictObject({
    decision: z.enum(["approve", "deny"]),
    scope: maybe(z.enum(["once", "session"])),
    reason: maybe(z.nullable(z.string())),
    arguments_digest: maybe(z.string()),
  }),
);
const resultBody = z.lazy(() =>
  z.strictObject({
    tool_call_id: z.string(),
    content: z.custom<Json>((value) => value !== undefined, "is required"),
    is_error: maybe(z.boolean()),
  }),
);

/** `POST /sessions/:id/messages`: 202 when the message is stored, for the run under way or the next one. */
export const postMessage: Route = async (context, { id = "" }) => {
  const body = await readJson(context.request, messageBody, MAX_MODEL_BODY_BYTES);
  const request = await requestName(context, body);
  const [message] = readMessages([userMessage(body.content)], "message").messages;
  if (message?.role !== "user") {
    throw new InputInvalid({
      reason: "A message has text or media.",
      errors: [{ path: "content", message: "holds neither" }],
    });
  }
  const { delivery = "interrupt_immediate" } = body;
  return jsonNow(await sessionOf(context, id).ask("message", { message, delivery, request }), 202);
};

/** @throws InputInvalid for parts that a message cannot have */
function userMessage(content: Json) {
  const parsed = messageShape.safeParse({ role: "user", content });
  if (parsed.success) return parsed.data;
  const errors = shapeErrors(parsed.error);
  throw new InputInvalid({ reason: "The message does not have the expected shape.", errors });
}

/** `POST /sessions/:id/feedback`: text that the model gets at its next turn. */
export const postFeedback: Route = async (context, { id = "" }) => {
  const feedback = await readJson(context.request, feedbackBody, MAX_MODEL_BODY_BYTES);
  const request = await requestName(context, feedback);
  return jsonNow(await sessionOf(context, id).ask("feedback", { feedback, request }), 202);
};

/** `GET /sessions/:id/approvals`: the calls that wait for a decision. */
export const getApprovals: Route = async (context, { id = "" }) => {
  const data = await sessionOf(context, id).ask("approvals", null);
  return jsonNow(shown(context, { data, next_cursor: null }));
};

/** `POST /sessions/:id/approvals/:approval`: decides one, once. */
export const postApproval: Route = async (context, { id = "", approval = "" }) => {
  const body = await readJson(context.request, decisionBody, MAX_MODEL_BODY_BYTES);
  const { decision, scope = "once", reason, arguments_digest = null } = body;
  if (decision === "approve" && arguments_digest === null) {
    const message = "says which arguments are approved; it is listed with the approval";
    const path = "arguments_digest";
    throw new InputInvalid({ reason: `${path} ${message}.`, errors: [{ path, message }] });
  }
  const request = await requestName(context, body);
  const decided = { approval, decision, scope, reason: reasonIn(reason), arguments_digest, request };
  return jsonNow(await sessionOf(context, id).ask("decide", decided));
};

/** `POST /sessions/:id/tool-results`: the client's answer to a call of its own tool. */
export const postToolResult: Route = async (context, { id = "" }) => {
  const body = await readJson(context.request, resultBody, MAX_MODEL_BODY_BYTES);
  const request = await requestName(context, body);
  const { tool_call_id, content, is_error = false } = body;
  const result = { tool_call_id, content, is_error, request };
  return jsonNow(await sessionOf(context, id).ask("tool_result", result));
};
