/** One HTTP attempt at a model call: sends the request, reads the answer or failure. */

import { wellFormedJson } from "../bytes.ts";
import type { Message, ModelTurn, ProviderPassthrough, Verbatim } from "../engine/messages.ts";
import { ProviderRedirectRefused, ProviderUnreachable, ReplayMissing } from "../errors/provider.ts";
import { causeOf, HullError } from "../errors.ts";
import { withSentDigits } from "../skill/exact-json.ts";
import { isObject } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { withExtra } from "./extra.ts";
import { type Failure, failureOfStatus, retryAfterMs } from "./failure.ts";
import type { HttpTarget } from "./providers.ts";
import { notRecorded } from "./proxy.ts";
import { type ReadOptions, readAnswer, readBeginning, STREAM_TYPES } from "./read-answer.ts";
import { readUsage } from "./usage.ts";
import { wholeCharacters } from "./whole-characters.ts";
import { callIdSource, type Sink, type Wire } from "./wire.ts";

export type Outcome = { ok: true; turn: ModelTurn } | Failure;

/** The members that every kind of request has. */
interface Sent {
  messages?: readonly Message[];
  extra?: JsonObject | undefined;
  verbatim?: Verbatim | undefined;
  passthrough?: ProviderPassthrough | undefined;
}

export interface ExchangeOptions extends ReadOptions {
  stream: boolean;
  sink: Sink;
  fetch: typeof fetch;
  /** Unix ms, for a `Retry-After` that is a date. */
  now: number;
}

/**
 * Sends the request and reads the answer, streamed or whole as the provider chose.
 * @throws anything when `signal` is aborted
 */
export async function exchange<Request extends Sent>(
  request: Request,
  wire: Wire<Request>,
  target: HttpTarget,
  options: ExchangeOptions,
): Promise<Outcome> {
  const response = await send(contentOf(request, wire, target, options.stream), target, options);
  if (!(response instanceof Response)) return response;
  if (!response.ok) return failureIn(response, target, options);
  try {
    return { ok: true, turn: await turnIn(response, request, wire, target, options) };
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof HullError) return { ok: false, retry: false, error };
    throw error;
  }
}

interface Content {
  body: object;
  headers: { [name: string]: string };
}

/** What its caller wrote for a provider of this protocol; otherwise what the wire makes of the canonical request. */
function contentOf<Request extends Sent>(
  request: Request,
  wire: Wire<Request>,
  target: HttpTarget,
  asked: boolean,
): Content {
  const stream = asked || wire.framing === "ndjson";
  const accept = stream ? STREAM_TYPES[wire.framing] : "application/json";
  const verbatim = verbatimFor(request, target);
  if (verbatim !== null) {
    const body = { ...verbatim.body, model: target.model, ...(stream ? { stream } : {}) };
    return { body, headers: { accept, ...target.headers, ...verbatim.headers } };
  }
  const passthrough = request.passthrough?.protocol === target.protocol ? request.passthrough : null;
  const body = withExtra(wire.body(request, target, stream), request.extra, target);
  const headers = withBetas(wire.headers?.(request, target) ?? {}, passthrough?.headers ?? {});
  return { body: withPassthrough(body, passthrough), headers: { accept, ...target.headers, ...headers } };
}

const verbatimFor = ({ verbatim }: Sent, { protocol }: HttpTarget): Verbatim | null =>
  verbatim?.protocol === protocol ? verbatim : null;

async function send(
  { body, headers }: Content,
  { provider, model, url }: HttpTarget,
  // `fetch` must be called without an object: in Workers, it refuses another `this`.
  { fetch, signal }: ExchangeOptions,
): Promise<Response | Failure> {
  try {
    return await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": "hull", ...headers },
      body: wellFormedJson(body),
      redirect: "manual",
      signal,
    });
  } catch (error) {
    if (error instanceof HullError) throw error;
    signal.throwIfAborted();
    const inner = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
    const cause = causeOf(error) + inner;
    return { ok: false, retry: true, error: new ProviderUnreachable({ provider, model, cause }) };
  }
}

/** The failure that an answer without a status of success stands for. */
async function failureIn(
  response: Response,
  target: HttpTarget,
  { signal, now }: ExchangeOptions,
): Promise<Failure> {
  const { provider, model, variable } = target;
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel().catch(() => undefined);
    const error = new ProviderRedirectRefused({ provider, model, provider_status: status });
    return { ok: false, retry: false, error };
  }
  const text = await readBeginning(response);
  signal.throwIfAborted();
  const explanation = notRecorded(response, target, text);
  if (explanation !== null) {
    return { ok: false, retry: false, error: new ReplayMissing({ provider, model, explanation }) };
  }
  const retry_after_ms = retryAfterMs(headers.get("retry-after"), now);
  return failureOfStatus({ provider, model, variable, status, text, retry_after_ms });
}

/** The turn of an answer; a request that went out verbatim gets the provider's document with it. */
async function turnIn<Request extends Sent>(
  response: Response,
  request: Request,
  wire: Wire<Request>,
  target: HttpTarget,
  options: ExchangeOptions,
): Promise<ModelTurn> {
  const isVerbatim = verbatimFor(request, target) !== null;
  const { onEvent, ...heard } = options.sink;
  const { sink, end } = wholeCharacters({ ...heard, onEvent: isVerbatim ? onEvent : undefined });
  const how = { framing: wire.framing, reader: wire.stream(target, sink), target };
  const { document, text, streamed } = await readAnswer(response, how, options);
  end();
  if (isObject(document)) sink.onUsage?.(readUsage(document.usage));
  const turn = wire.parse(document, target, callIdSource(request.messages ?? []), text);
  if (!streamed) announce(turn, options.sink);
  return isVerbatim && isObject(document)
    ? { ...turn, document: withSentDigits(document, text ?? "") }
    : turn;
}

function withPassthrough(body: object, passthrough: ProviderPassthrough | null): object {
  if (passthrough === null) return body;
  const own = "tools" in body && Array.isArray(body.tools) ? body.tools : [];
  const tools = passthrough.tools.length === 0 ? {} : { tools: [...own, ...passthrough.tools] };
  return { ...body, ...passthrough.body, ...tools };
}

const BETAS = "anthropic-beta";

function withBetas(
  own: { [name: string]: string },
  further: { [name: string]: string },
): { [name: string]: string } {
  const betas = [own[BETAS], further[BETAS]].filter((list) => list !== undefined).join(",");
  return {
    ...own,
    ...further,
    ...(betas === "" ? {} : { [BETAS]: [...new Set(betas.split(","))].join(",") }),
  };
}

/** Passes a whole answer to a listener that expected a stream. */
export function announce(turn: ModelTurn, sink: Sink): void {
  for (const block of turn.blocks) {
    const thought = block.type === "reasoning" || block.type === "reasoning_summary";
    if (thought && block.text !== "") sink.onReasoning?.(block.text);
    if (block.type === "output_text" && block.text !== "") sink.onText?.(block.text);
  }
}
