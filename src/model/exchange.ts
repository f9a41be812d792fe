/** One HTTP attempt at a model call: request out, answer or failure in (serving.md §4.5). */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import {
  ProviderBadResponse,
  ProviderMisconfigured,
  ProviderRedirectRefused,
  ProviderUnreachable,
} from "../errors/provider.ts";
import { HullError } from "../errors.ts";
import { anthropic } from "./anthropic.ts";
import { type Failure, failureOfStatus, retryAfterMs } from "./failure.ts";
import { openAiChat } from "./openai-chat.ts";
import type { HttpTarget } from "./providers.ts";
import { sseEvents } from "./sse.ts";
import { callIdSource, parseJson, type Sink, type StreamReader, type Wire } from "./wire.ts";

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

const WIRES: Partial<Record<HttpTarget["protocol"], Wire>> = { anthropic, "openai-chat": openAiChat };

export type Outcome = { ok: true; turn: ModelTurn } | Failure;

export interface ExchangeOptions {
  stream: boolean;
  /** Ends the attempt; what then comes out of it is of no interest. */
  signal: AbortSignal;
  sink: Sink;
  fetch: typeof fetch;
  /** Unix ms, for a `Retry-After` that is a date. */
  now: number;
}

/**
 * Sends the request and reads the answer, streamed or whole as the provider chose. Only failures before a status of
 * success are worth another attempt, so none of them comes after text.
 * @throws anything when `signal` is aborted
 */
export async function exchange(
  request: ModelRequest,
  target: HttpTarget,
  options: ExchangeOptions,
): Promise<Outcome> {
  // A bare call: `fetch` refuses another `this` in Workers.
  const { fetch, signal, stream } = options;
  const wire = WIRES[target.protocol];
  const { provider } = target;
  if (wire === undefined) {
    throw new ProviderMisconfigured({ provider, reason: `the protocol ${target.protocol} is not spoken` });
  }
  let response: Response;
  try {
    response = await fetch(target.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: stream ? "text/event-stream" : "application/json",
        "user-agent": "hull",
        ...target.headers,
      },
      body: JSON.stringify(wire.body(request, target, stream)),
      redirect: "manual",
      signal,
    });
  } catch (error) {
    if (error instanceof HullError) throw error;
    signal.throwIfAborted();
    return { ok: false, retry: true, error: new ProviderUnreachable({ provider, cause: causeOf(error) }) };
  }
  if (response.status >= 300 && response.status < 400) {
    await discard(response);
    const error = new ProviderRedirectRefused({ provider, provider_status: response.status });
    return { ok: false, retry: false, error };
  }
  if (!response.ok) {
    const text = await readError(response);
    signal.throwIfAborted();
    return failureOfStatus({
      provider,
      variable: target.variable,
      status: response.status,
      document: parseJson(text) ?? text,
      retry_after_ms: retryAfterMs(response.headers.get("retry-after"), options.now),
    });
  }
  try {
    const answer = await readAnswer(response, wire.stream(target, options.sink), provider, signal);
    const turn = wire.parse(answer.document, target, callIdSource(request.messages));
    if (!answer.streamed) announce(turn, options.sink);
    return { ok: true, turn };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HullError) return { ok: false, retry: false, error };
    throw error;
  }
}

/** The answer's document, by the content type that came. @throws ProviderBadResponse */
async function readAnswer(
  response: Response,
  reader: StreamReader,
  provider: string,
  signal: AbortSignal,
): Promise<{ document: unknown; streamed: boolean }> {
  const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "text/event-stream" && response.body !== null) {
    return { document: await readStream(response.body, reader, provider, signal), streamed: true };
  }
  if (type !== "" && type !== "application/json" && !type.endsWith("+json")) {
    await discard(response);
    throw new ProviderBadResponse({
      provider,
      reason: "its content type is neither JSON nor an event stream",
    });
  }
  const text = await readText(response, MAX_ANSWER_BYTES).catch(() => null);
  if (text === null) throw new ProviderBadResponse({ provider, reason: "it broke off" });
  if (text.cut) {
    const reason = `it is longer than ${MAX_ANSWER_BYTES} bytes`;
    throw new ProviderBadResponse({ provider, reason });
  }
  const document = parseJson(text.value);
  if (document === undefined) throw new ProviderBadResponse({ provider, reason: "it is not valid JSON" });
  return { document, streamed: false };
}

/**
 * Feeds a stream to its reader, and leaves it at its terminal event.
 * @throws ProviderBadResponse when it breaks off, is cut or is too long
 */
export async function readStream(
  body: ReadableStream<Uint8Array>,
  reader: StreamReader,
  provider: string,
  signal: AbortSignal,
): Promise<unknown> {
  const events = sseEvents(body, {
    max_event: MAX_EVENT_CHARACTERS,
    max_bytes: MAX_ANSWER_BYTES,
    signal,
    broken: (reason) => new ProviderBadResponse({ provider, reason }),
  });
  for await (const event of events) {
    if (reader.push(event)) break;
  }
  return reader.answer();
}

/** Hands a whole answer to those who expected a stream. */
export function announce(turn: ModelTurn, sink: Sink): void {
  for (const block of turn.blocks) {
    if (block.type === "reasoning") sink.onReasoning?.(block.text);
    if (block.type === "output_text" && block.text !== "") sink.onText?.(block.text);
  }
}

/** The beginning of a failed answer's body; what cannot be read is left out. */
async function readError(response: Response): Promise<string> {
  const text = await readText(response, MAX_ERROR_BYTES).catch(() => null);
  return text?.value ?? "";
}

/** A body as text, at most `limit` bytes of it; the rest is cancelled. */
async function readText(response: Response, limit: number): Promise<{ value: string; cut: boolean }> {
  if (response.body === null) return { value: "", cut: false };
  const declared =
    response.headers.get("content-encoding") === null ? response.headers.get("content-length") : null;
  if (declared !== null && Number(declared) <= limit) return { value: await response.text(), cut: false };
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let value = "";
  let bytes = 0;
  for (;;) {
    const chunk = await reader.read();
    if (chunk.done) return { value: value + decoder.decode(), cut: false };
    bytes += chunk.value.byteLength;
    if (bytes > limit) {
      await reader.cancel().catch(() => undefined);
      return { value, cut: true };
    }
    value += decoder.decode(chunk.value, { stream: true });
  }
}

async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.name}: ${error.message}${inner}`;
}
