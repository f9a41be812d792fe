/**
 * Routes that send input to a session while its run continues: messages, feedback, decisions, results of the client's
 * tools.
 */
import type * as z from "zod/mini";
import { decisionBody, feedbackBody, messageBody, toolResultBody } from "../../api/bodies/sessions.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import { InputInvalid } from "../../errors/request.ts";
import { readMessages, resultText } from "../../llm/messages.ts";
import { withSentDigits } from "../../skill/exact-json.ts";
import { objectOf } from "../../skill/json.ts";
import { jsonIn, readText } from "../body.ts";
import { MAX_MODEL_BODY_BYTES, modelBody } from "../operations.ts";
import { changes, reasonIn, shows } from "./object.ts";

/** `POST /sessions/:id/messages`: 202 when the message is stored, for the run under way or the next one. */
export const sendMessage = changes(
  "message",
  modelBody(messageBody),
  ({ content, delivery }, request) => {
    const [message] = readMessages([{ role: "user", content }], "message").messages;
    if (message?.role === "user") return { message, delivery, request };
    throw new InputInvalid({
      reason: "A message has text or media.",
      errors: [{ path: "content", message: "holds neither" }],
    });
  },
  202,
);

/** `POST /sessions/:id/feedback`: text that the model receives at its next turn. */
export const sendFeedback = changes(
  "feedback",
  modelBody(feedbackBody),
  (feedback, request) => ({ feedback, request }),
  202,
);

/** `GET /sessions/:id/approvals`: the calls that wait for a decision. */
export const listApprovals = shows(
  "approvals",
  () => null,
  (data) => ({ data, next_cursor: null }),
);

/** `POST /sessions/:id/approvals/:approval`: decides about a call, once. */
export const decideApproval = changes(
  "decide",
  modelBody(decisionBody),
  ({ decision, scope, reason, arguments_digest = null }, request, _, { approval = "" }) => {
    if (decision === "approve" && arguments_digest === null) {
      const message = "says which arguments are approved; it is listed with the approval";
      throw memberInvalid("arguments_digest", message, ".");
    }
    return { approval, decision, scope, reason: reasonIn(reason), arguments_digest, request };
  },
);

/** A result that is no text becomes one here, where its numbers have all their digits. */
async function toolResult(request: Request): Promise<z.infer<typeof toolResultBody>> {
  const text = await readText(request, MAX_MODEL_BODY_BYTES);
  const { content, ...body } = jsonIn(text, toolResultBody);
  const exact = withSentDigits(content, text, (sent) => objectOf(sent).content);
  return { ...body, content: resultText(exact) };
}

/** `POST /sessions/:id/tool-results`: the client's answer to a call of its own tool. */
export const answerToolCall = changes("tool_result", toolResult, (body, request) => ({ ...body, request }));
