/** Turns a queued mock into a provider's answer. */
import {
  type Block,
  type Message,
  type ModelRequest,
  type ModelTurn,
  toolCallIds,
} from "../../engine/messages.ts";
import { resultIds } from "../../engine/text-tools/contract.ts";
import { type ErrorCategory, FAILURES } from "../../errors/failure-class.ts";
import {
  MockedFailure,
  ProviderAuthFailed,
  ProviderError,
  ProviderRateLimited,
  ProviderRejectedRequest,
  ProviderUnreachable,
} from "../../errors/provider.ts";
import type { HullError } from "../../errors.ts";
import { classify } from "../classify.ts";
import { DEFAULT_RETRY_AFTER_S, type Failure, isTransient } from "../failure.ts";
import { variablePrefix } from "../registry/layer.ts";
import { type Sink, stopReason } from "../wire.ts";
import type { Mock, MockError } from "./mock.ts";
import { matchText } from "./queue.ts";

const OUTPUT_TOKENS = 30;

interface Asked {
  provider: string;
  model: string;
}

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
    ...tool_calls.map(({ name, arguments: args = {} }) => ({
      type: "tool_call" as const,
      id: ids(),
      name,
      arguments: args,
      raw: JSON.stringify(args),
    })),
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
function failureOf({ category, message, retry_after_ms }: MockError, asked: Asked): Failure {
  const error = errorOf(category, message, retry_after_ms, asked);
  return {
    ok: false,
    error,
    retry: isTransient(error),
    instant: true,
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  };
}

function errorOf(
  category: ErrorCategory,
  message: string | undefined,
  retry_after_ms: number | undefined,
  asked: Asked,
): HullError {
  const facts = { ...asked, provider_message: message, retry_after_ms };
  const seconds = retry_after_ms === undefined ? undefined : Math.ceil(retry_after_ms / 1000);
  switch (category) {
    case "rate_limit":
      return new ProviderRateLimited({
        ...facts,
        provider_status: 429,
        failure: FAILURES.rate_limit,
        retry_after_s: seconds ?? DEFAULT_RETRY_AFTER_S,
      });
    case "overloaded":
      return new ProviderError({
        ...facts,
        provider_status: 503,
        failure: FAILURES.overloaded,
        retry_after_s: seconds,
      });
    case "server_error":
      return new ProviderError({
        ...facts,
        provider_status: 500,
        failure: FAILURES.server_error,
        retry_after_s: seconds,
      });
    case "timeout":
      return new ProviderError({ ...facts, provider_status: 504, failure: FAILURES.timeout });
    case "auth": {
      const variable = `${variablePrefix(asked.provider)}_API_KEY`;
      return new ProviderAuthFailed({
        ...facts,
        provider_status: 401,
        failure: FAILURES.auth_failure,
        variable,
      });
    }
    case "not_found":
      return new ProviderRejectedRequest({
        ...facts,
        provider_status: 404,
        failure: FAILURES.model_unavailable,
      });
    case "generic": {
      const read = classify({ status: 400, body: message ?? "" });
      const failure = read.category === "generic" ? read : FAILURES.invalid_request;
      return new ProviderRejectedRequest({ ...facts, provider_status: 400, failure });
    }
    case "transient_network":
      return new ProviderUnreachable({ ...facts, cause: message ?? "a mock" });
    default:
      return new MockedFailure({ ...facts, category });
  }
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
