/** Turns a queued mock into a provider's answer. */
import {
  type Block,
  type Message,
  type ModelRequest,
  type ModelTurn,
  toolCallIds,
} from "../../engine/messages.ts";
import { resultIds } from "../../engine/text-tools/contract.ts";
import { type ErrorCategory, FAILURES, type FailureClass } from "../../errors/failure-class.ts";
import { MockedFailure, ProviderUnreachable } from "../../errors/provider.ts";
import type { HullError } from "../../errors.ts";
import { classify } from "../classify.ts";
import { errorOfStatus, type Failure, isTransient } from "../failure.ts";
import { type Asked, toolCall } from "../provider-document.ts";
import { variablePrefix } from "../registry/layer.ts";
import { type Sink, stopReason } from "../wire.ts";
import type { Mock, MockError } from "./mock.ts";
import { matchText } from "./queue.ts";

const OUTPUT_TOKENS = 30;

/** The status and class of a provider's answer that fails so. */
const ANSWERS: Partial<Record<ErrorCategory, readonly [number, FailureClass]>> = {
  rate_limit: [429, FAILURES.rate_limit],
  overloaded: [503, FAILURES.overloaded],
  server_error: [500, FAILURES.server_error],
  timeout: [504, FAILURES.timeout],
  auth: [401, FAILURES.auth_failure],
  not_found: [404, FAILURES.model_unavailable],
  generic: [400, FAILURES.invalid_request],
};

/** The turn, sent to the sink piece by piece; or the failure. */
export function answerOf(
  mock: Mock,
  request: ModelRequest,
  { provider, model }: Asked,
  sink: Sink,
): { ok: true; turn: ModelTurn } | Failure {
  if (mock.error !== undefined) return failureOf(mock.error, { provider, model });
  const { text = "", thinking = "", thinking_summary = "", tool_calls = [], stop_reason } = mock;
  const ids = mockIds(request.messages);
  const blocks: Block[] = [
    ...(thinking === "" ? [] : [{ type: "reasoning" as const, text: thinking }]),
    ...(thinking_summary === "" ? [] : [{ type: "reasoning_summary" as const, text: thinking_summary }]),
    ...(text === "" ? [] : [{ type: "output_text" as const, text }]),
    ...tool_calls.map((call) => toolCall(ids(), call.name, call.arguments)),
  ];
  streamText(thinking, sink.onReasoning);
  streamText(text, sink.onText);
  const turn: ModelTurn = {
    blocks,
    stop_reason: stopReason(stop_reason ?? (tool_calls.length > 0 ? "tool_use" : "end_turn")),
    raw_stop_reason: stop_reason ?? null,
    usage: {
      input_tokens: mock.input_tokens ?? new TextEncoder().encode(matchText(request.messages)).byteLength,
      output_tokens: mock.output_tokens ?? OUTPUT_TOKENS,
      cache_read_tokens: mock.cache_read_tokens ?? 0,
      cache_write_tokens: mock.cache_write_tokens ?? 0,
    },
    provider,
    model: mock.model ?? "mock",
  };
  return { ok: true, turn };
}

/** The error that a real failure of this category causes; the next attempt does not wait. */
function failureOf(failed: MockError, asked: Asked): Failure {
  const { retry_after_ms } = failed;
  const error = errorOf(failed, asked);
  return {
    ok: false,
    error,
    retry: isTransient(error),
    instant: true,
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  };
}

function errorOf({ category, message, retry_after_ms }: MockError, asked: Asked): HullError {
  const facts = { ...asked, provider_message: message, retry_after_ms };
  if (category === "transient_network") {
    return new ProviderUnreachable({ ...facts, cause: message ?? "a mock" });
  }
  const answer = ANSWERS[category];
  if (answer === undefined) return new MockedFailure({ ...facts, category });
  const [provider_status, usual] = answer;
  const read = classify({ status: provider_status, body: message ?? "" });
  const failure = category === "generic" && read.category === "generic" ? read : usual;
  const variable = `${variablePrefix(asked.provider)}_API_KEY`;
  return errorOfStatus({ ...facts, provider_status, failure, variable });
}

/** How a mock streams: a piece ends after each white space, which it includes. */
export function streamText(text: string, receive: ((piece: string) => void) | undefined): void {
  if (receive === undefined || text === "") return;
  for (const piece of text.split(/(?<=\s)/)) receive(piece);
}

/** `mock_call_<n>`, counted over the whole conversation, whatever the form of its calls and results. */
export function mockIds(history: readonly Message[]): () => string {
  const texts = history.flatMap((message) => (message.role === "user" ? message.content : []));
  const answered = texts.flatMap((part) => (part.type === "text" ? resultIds(part.text) : []));
  const taken = new Set([...toolCallIds(history), ...answered]);
  let n = 0;
  return () => {
    let id = "";
    do id = `mock_call_${++n}`;
    while (taken.has(id));
    return id;
  };
}
