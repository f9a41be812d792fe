/** Reads a provider's documents: JSON, its shape, its errors, and how much of it to keep. */

import * as z from "zod/mini";
import { firstWords } from "../cut.ts";
import type { ToolCallBlock } from "../engine/messages.ts";
import { FAILURES, type FailureClass } from "../errors/failure-class.ts";
import { ProviderBadResponse } from "../errors/provider.ts";
import type { HullError } from "../errors.ts";
import { isObject, textOf } from "../skill/json.ts";
import { parsedJson, parsedObject } from "../skill/json-depth.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { classify } from "./classify.ts";
import type { StreamEvent } from "./frames.ts";
import type { Sink } from "./wire.ts";

/** The provider of the answer. */
export interface Asked {
  provider: string;
  model: string;
}

/** The most characters to keep of a provider's error text. */
const MAX_WORDS = 2000;
/** The most characters of a body to read when classifying a failure. */
const MAX_CLASSIFIED = 64 * 1024;
/** The most characters of text, reasoning and arguments of one answer. */
const MAX_KEPT = 16 * 1024 * 1024;

/** The error for an unusable answer; `reason` is a phrase that is safe for callers. */
export function unusable(asked: Asked, reason: string, failure?: FailureClass): HullError {
  const { provider, model } = asked;
  return new ProviderBadResponse({ provider, model, reason, failure });
}

/** The error for an answer or stream that ended too early. */
export const cutOff = (asked: Asked, reason: string): HullError =>
  unusable(asked, reason, FAILURES.network_error);

/** The error for an answer that contains the provider's own words about a failure. */
export function failedAnswer(asked: Asked, reason: string, document: unknown): HullError {
  const { provider, model } = asked;
  const { provider_message } = providerWords(document);
  const failure = classify({ status: innerStatus(document), body: classified(document) });
  return new ProviderBadResponse({ provider, model, reason, failure, provider_message });
}

/**
 * The arguments of a tool call as JSON text; empty: there are none. The protocols require a text, but some servers send
 * the object itself, or `null`.
 */
export function rawArguments(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The arguments of a tool call: blank text means `{}`; `null` if the text is not a JSON object. */
export const parseArguments = (raw: string): JsonObject | null =>
  raw.trim() === "" ? {} : parsedObject(raw);

/** A call whose arguments came as a JSON text, or as the value itself. */
export function toolCall(id: string, name: string, given: Json | undefined): ToolCallBlock {
  const raw = typeof given === "string" ? given : JSON.stringify(given ?? {});
  return { type: "tool_call", id, name, arguments: parseArguments(raw), raw };
}

/** A text that Hull reads only if it is one. */
export const optionalText = () => z.catch(z.nullish(z.string()), null);

/**
 * Checks a provider's document against the shape that Hull reads.
 * @throws ProviderBadResponse for an error object, or with the first place that differs
 */
export function readShape<T>(schema: z.ZodMiniType<T>, value: unknown, asked: Asked): T {
  if (holdsError(value)) throw failedAnswer(asked, ERROR_UNDER_SUCCESS, value);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const path = parsed.error.issues[0]?.path.join(".") ?? "";
  throw unusable(
    asked,
    path === "" ? "it is not an answer of this protocol" : `its ${path} is not as documented`,
  );
}

const ERROR_UNDER_SUCCESS = "it is an error object under a status of success";

/** The JSON object of an event. @throws ProviderBadResponse for anything else, and for an error object */
export function eventObject(event: StreamEvent, asked: Asked): JsonObject {
  const data = parsedJson(event.data);
  if (data === undefined && event.unfinished === true) throw cutOff(asked, "its stream was cut off");
  if (event.event === "error" || holdsError(data)) {
    const words = holdsError(data) ? data : { error: data ?? event.data };
    throw failedAnswer(asked, "its stream holds an error event", words);
  }
  if (data === undefined) throw unusable(asked, "an event of its stream is not JSON");
  if (!isObject(data)) throw unusable(asked, "an event of its stream is not as documented");
  return data;
}

const holdsError = (value: unknown): boolean =>
  isObject(value) && ((value.error !== undefined && value.error !== null) || isBareError(value));

/** Whether an error comes without the member `error` around it, as older versions of vLLM send it. */
const isBareError = ({ object, message }: JsonObject): boolean =>
  object === "error" && typeof message === "string";

/** Limits what is kept of a stream, and passes each piece on. @throws ProviderBadResponse if it becomes too much */
export function lengthLimit(asked: Asked): (piece: string) => string {
  let kept = 0;
  return (piece) => {
    kept += piece.length;
    if (kept > MAX_KEPT) throw unusable(asked, `it is longer than ${MAX_KEPT} characters`);
    return piece;
  };
}

/** Passes pieces on, and also to the listener for the output that is neither text nor reasoning. */
export function heardOutput({ onOutput }: Sink, keep: (piece: string) => string): (piece: string) => string {
  return (piece) => {
    if (piece !== "") onOutput?.(piece);
    return keep(piece);
  };
}

/** A text member; empty if it is not text. */
export const textIn = (object: JsonObject, key: string): string => textOf(object[key]);

/**
 * The content of a provider's error document: its message for the operator, its short type or code for the caller.
 * Accepts a parsed document, alone or (Google) in a list, or a text that is not JSON.
 */
export function providerWords(value: unknown): { provider_message?: string; provider_type?: string } {
  const error = errorOf(value);
  if (error === null) {
    const text = classified(value).trim();
    return text === "" || text === '""' ? {} : { provider_message: firstWords(text, MAX_WORDS) };
  }
  const { message, type, code, status } = error;
  const short = [type, code, status].find((word) => typeof word === "string" && /^[\w.:-]{1,64}$/.test(word));
  return {
    ...(typeof message === "string" ? { provider_message: firstWords(message, MAX_WORDS) } : {}),
    ...(typeof short === "string" ? { provider_type: short } : {}),
  };
}

/** The error inside a document; `null` if there is none of the usual form. */
function errorOf(value: unknown): JsonObject | null {
  const document: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(document)) return null;
  if (isBareError(document)) return document;
  const { error } = document;
  if (typeof error === "string") return { message: error };
  return isObject(error) ? error : null;
}

/** A status that an error names inside a document (OpenRouter: `code`; Azure: as text), if nothing better is known. */
function innerStatus(document: unknown): number | null {
  const code = Number(errorOf(document)?.code);
  return code >= 400 && code < 600 ? code : null;
}

const classified = (value: unknown): string =>
  (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, MAX_CLASSIFIED);
