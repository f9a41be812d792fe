/** Completion endpoints: the text between a prefix and a suffix, without a conversation. */

import type { CompletionCreateParamsBase } from "openai/resources/completions";
import * as z from "zod/mini";
import type { Block, ModelRequest, Warning } from "../engine/messages.ts";
import { ProviderRejectedRequest } from "../errors/provider.ts";
import { isObject, present } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { type ExchangeOptions, exchange, type Outcome } from "./exchange.ts";
import type { StreamEvent } from "./frames.ts";
import { ollamaParameters } from "./ollama.ts";
import {
  cutOff,
  eventObject,
  lengthLimit,
  optionalText,
  readShape,
  textIn,
  unusable,
} from "./provider-document.ts";
import type { HttpTarget } from "./providers.ts";
import { type Sink, type StreamReader, turnOf, type Wire, type WireTarget } from "./wire.ts";

/** `sampling` already reduced by `fitRequest`: this endpoint does not accept what the chat endpoint refuses. */
interface CompletionRequest extends Pick<ModelRequest, "max_tokens" | "sampling" | "extra"> {
  prefix: string;
  suffix?: string;
}

/**
 * Asks the provider's endpoint for completions, with the headers and keys of its chat endpoint. `null`: the request is
 * not a completion, the provider has no such endpoint, or it refuses the request there, since most models are for chat
 * only.
 */
export async function exchangeCompletion(
  asked: ModelRequest,
  target: HttpTarget,
  options: ExchangeOptions,
): Promise<Outcome | null> {
  const { completion, max_tokens, sampling, extra } = asked;
  const { completion_url: url } = target;
  if (completion === undefined || url === null) return null;
  const wire = url.endsWith("/api/generate") ? ollamaGenerate : completions;
  const { system: _, ...text } = completion;
  const request: CompletionRequest = {
    ...text,
    max_tokens,
    ...present({ sampling, extra }),
  };
  const outcome = await exchange(request, wire, { ...target, url }, options);
  if (!outcome.ok) return outcome.error instanceof ProviderRejectedRequest ? null : outcome;
  const warnings = [...leftOut(asked, target), ...(outcome.turn.warnings ?? [])];
  return warnings.length === 0 ? outcome : { ok: true, turn: { ...outcome.turn, warnings } };
}

/** What such an endpoint has no place for. */
function leftOut(
  { completion, thinking, prefill }: ModelRequest,
  { provider, model }: HttpTarget,
): Warning[] {
  const given = { system: completion?.system, thinking, prefill };
  const why = "was left out, since this provider completes the text without a conversation";
  return Object.keys(present(given)).map((option) => ({
    code: "option_ignored",
    option,
    message: `${provider}/${model}: ${option} ${why}.`,
  }));
}

const completions: Wire<CompletionRequest> = {
  framing: "sse",
  body: ({ prefix, suffix, max_tokens, sampling }, { model }, stream): CompletionCreateParamsBase => {
    const { top_k: _, ...known } = sampling ?? {};
    return {
      model,
      prompt: prefix,
      max_tokens,
      ...(suffix === undefined ? {} : { suffix }),
      ...known,
      ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    };
  },
  parse(answer, target) {
    const completion = readShape(completionShape, answer, target);
    const [choice] = completion.choices;
    return turnOf(target, completion, textBlock(choice?.text ?? ""), choice?.finish_reason ?? null);
  },
  stream: (target, sink) => completionStream(target, sink, chunkOf),
};

/** `raw` bypasses the model's prompt template, unless only the template has a place for the suffix. */
const ollamaGenerate: Wire<CompletionRequest> = {
  framing: "ndjson",
  body: (request, { model }, stream) => ({
    model,
    prompt: request.prefix,
    ...(request.suffix === undefined ? { raw: true } : { suffix: request.suffix }),
    ...ollamaParameters(request),
    stream,
  }),
  parse(answer, target) {
    const { model, response, done_reason, ...usage } = readShape(generatedShape, answer, target);
    return turnOf(target, { model, usage }, textBlock(response), done_reason ?? null);
  },
  stream: (target, sink) => completionStream(target, sink, lineOf),
};

const completionShape = z.lazy(() => {
  const choice = z.object({ text: z.string(), finish_reason: optionalText() });
  return z.object({
    model: optionalText(),
    choices: z.array(choice).check(z.minLength(1)),
    usage: z.optional(z.unknown()),
  });
});
const generatedShape = z.lazy(() =>
  z.looseObject({ model: optionalText(), response: z.string(), done_reason: optionalText() }),
);

const textBlock = (text: string): Block[] => (text === "" ? [] : [{ type: "output_text", text }]);

/** One event of a completion's stream. */
interface Piece {
  text: string;
  /** The event is the last one that matters. */
  last: boolean;
  /** Added to the document that an unstreamed call would have returned. */
  members: JsonObject;
}

function completionStream(
  target: WireTarget,
  sink: Sink,
  read: (event: StreamEvent, target: WireTarget) => Piece,
): StreamReader {
  const keep = lengthLimit(target);
  let text = "";
  let members: JsonObject = {};
  let complete = false;
  return {
    push(event) {
      const piece = read(event, target);
      text += keep(piece.text);
      if (piece.text !== "") sink.onText?.(piece.text);
      members = { ...members, ...piece.members };
      complete ||= piece.last || members.finish_reason !== undefined;
      return piece.last;
    },
    answer() {
      if (!complete) throw cutOff(target, "its stream was cut off");
      const { finish_reason = null, ...rest } = members;
      return { ...rest, response: text, choices: [{ text, finish_reason }] };
    },
  };
}

function chunkOf(event: StreamEvent, target: WireTarget): Piece {
  if (event.data.trim() === "[DONE]") return { text: "", last: true, members: {} };
  const { model, choices, usage } = eventObject(event, target);
  const choice = (Array.isArray(choices) ? choices[0] : undefined) ?? {};
  if (!isObject(choice)) throw unusable(target, "a choice of its stream is not as documented");
  const { finish_reason } = choice;
  return {
    text: textIn(choice, "text"),
    last: false,
    members: {
      ...(typeof model === "string" ? { model } : {}),
      ...(isObject(usage) ? { usage } : {}),
      ...(typeof finish_reason === "string" ? { finish_reason } : {}),
    },
  };
}

function lineOf(event: StreamEvent, target: WireTarget): Piece {
  const line = eventObject(event, target);
  const last = line.done === true;
  return { text: textIn(line, "response"), last, members: last ? line : {} };
}
