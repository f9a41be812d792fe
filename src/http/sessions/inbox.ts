/**
 * Routes that send input to a session while its run continues: messages, feedback, decisions, results of the client's
 * tools.
 */
import { decisionBody, feedbackBody, messageBody, toolResultBody } from "../../api/bodies/sessions.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import { InputInvalid } from "../../errors/request.ts";
import { readMessages } from "../../llm/messages.ts";
import { readJson } from "../body.ts";
import { MAX_MODEL_BODY_BYTES } from "../operations.ts";
import { jsonNow } from "../page.ts";
import type { Handler } from "../routes.ts";
import { reasonIn, requestName, sessionOf, shown } from "./object.ts";

/** `POST /sessions/:id/messages`: 202 when the message is stored, for the run under way or the next one. */
export const sendMessage: Handler = async (context, { id = "" }) => {
  const body = await readJson(context.request, messageBody, MAX_MODEL_BODY_BYTES);
  const request = await requestName(context, body);
  const [message] = readMessages([{ role: "user", content: body.content }], "message").messages;
  if (message?.role !== "user") {
    throw new InputInvalid({
      reason: "A message has text or media.",
      errors: [{ path: "content", message: "holds neither" }],
    });
  }
  const { delivery } = body;
  return jsonNow(await sessionOf(context, id).ask("message", { message, delivery, request }), 202);
};

/** `POST /sessions/:id/feedback`: text that the model receives at its next turn. */
export const sendFeedback: Handler = async (context, { id = "" }) => {
  const feedback = await readJson(context.request, feedbackBody, MAX_MODEL_BODY_BYTES);
  const request = await requestName(context, feedback);
  return jsonNow(await sessionOf(context, id).ask("feedback", { feedback, request }), 202);
};

/** `GET /sessions/:id/approvals`: the calls that wait for a decision. */
export const listApprovals: Handler = async (context, { id = "" }) => {
  const data = await sessionOf(context, id).ask("approvals", null);
  return jsonNow(shown(context, { data, next_cursor: null }));
};

/** `POST /sessions/:id/approvals/:approval`: decides about a call, once. */
export const decideApproval: Handler = async (context, { id = "", approval = "" }) => {
  const body = await readJson(context.request, decisionBody, MAX_MODEL_BODY_BYTES);
  const { decision, scope, reason, arguments_digest = null } = body;
  if (decision === "approve" && arguments_digest === null) {
    const message = "says which arguments are approved; it is listed with the approval";
    throw memberInvalid("arguments_digest", message, ".");
  }
  const request = await requestName(context, body);
  const decided = { approval, decision, scope, reason: reasonIn(reason), arguments_digest, request };
  return jsonNow(await sessionOf(context, id).ask("decide", decided));
};

/** `POST /sessions/:id/tool-results`: the client's answer to a call of its own tool. */
export const answerToolCall: Handler = async (context, { id = "" }) => {
  const body = await readJson(context.request, toolResultBody, MAX_MODEL_BODY_BYTES);
  const request = await requestName(context, body);
  const { tool_call_id, content, is_error } = body;
  const result = { tool_call_id, content, is_error, request };
  return jsonNow(await sessionOf(context, id).ask("tool_result", result));
};
