/** What the wire protocols share: their interface, call ids, arguments, and reading a provider's JSON. */
import * as z from "zod/mini";
import type { Message, ModelRequest, ModelTurn } from "../engine/messages.ts";
import { ProviderBadResponse } from "../errors/provider.ts";
import { nestsTooDeep } from "../skill/json-depth.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Dialect } from "./catalogue/definition.ts";
import type { ServerSentEvent } from "./sse.ts";

/** The part of a target that shapes bodies and turns. */
export interface WireTarget extends Dialect {
  provider: string;
  model: string;
  capabilities: Capabilities;
}

/** Who is told of a streamed answer while it comes. */
export interface Sink {
  onText?: ((text: string) => void) | undefined;
  onReasoning?: ((text: string) => void) | undefined;
}

/** One wire protocol: canonical request to body, answer to canonical turn. */
export interface Wire {
  body(request: ModelRequest, target: WireTarget, stream: boolean): object;
  /**
   * An answer that came as one JSON document.
   * @throws ProviderBadResponse when it is an error object or has another shape
   */
  parse(answer: unknown, target: WireTarget, callId: CallIdSource): ModelTurn;
  stream(target: WireTarget, sink: Sink): StreamReader;
}

/** Folds streamed events into the document that an unstreamed answer would have been. */
export interface StreamReader {
  /** Takes the next event; `true`: it was the last one. @throws ProviderBadResponse */
  push(event: ServerSentEvent): boolean;
  /** The document, for `parse`. @throws ProviderBadResponse when the stream ended before its terminal event */
  answer(): unknown;
}

/** Turns the id of a tool call as received into one that is unique in the conversation. */
export type CallIdSource = (received: string | null | undefined) => string;

/** Missing ids, and ids that the conversation already has, are replaced by `call_<n>` (serving.md §4.4). */
export function callIdSource(history: readonly Message[]): CallIdSource {
  const taken = new Set(toolCallIds(history));
  let n = 0;
  return (received) => {
    let id = received ?? "";
    while (id === "" || taken.has(id)) id = `call_${++n}`;
    taken.add(id);
    return id;
  };
}

/**
 * Ids in the form a provider takes back, `[A-Za-z0-9_-]` of limited length: a conversation may hold ids that another
 * provider made. The same history always gives the same ids.
 */
export function sendableIds(history: readonly Message[], maxLength: number): (id: string) => string {
  const valid = (id: string): boolean => id.length <= maxLength && /^[A-Za-z0-9_-]+$/.test(id);
  const known = toolCallIds(history);
  const taken = new Set(known.filter(valid));
  const renamed = new Map<string, string>();
  let n = 0;
  for (const id of known) {
    if (valid(id) || renamed.has(id)) continue;
    let name = `call_x${++n}`;
    while (taken.has(name)) name = `call_x${++n}`;
    renamed.set(id, name);
  }
  return (id) => renamed.get(id) ?? id;
}

function toolCallIds(history: readonly Message[]): string[] {
  return history.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((block) => (block.type === "tool_call" ? [block.id] : []))
      : [],
  );
}

/** A tool name in the form that providers take back; a model may have made up any other. */
export const sendableName = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The arguments of a tool call: blank text means `{}`; `null` when the text is not a JSON object (serving.md §4.2). */
export function parseArguments(raw: string): JsonObject | null {
  if (raw.trim() === "") return {};
  const value = parseJson(raw);
  return isJsonObject(value) ? value : null;
}

/** JSON text to value; `undefined` when it is not JSON, or nests too deep. */
export function parseJson(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return nestsTooDeep(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/**
 * Checks a provider's document against the shape that Hull reads.
 * @throws ProviderBadResponse for an error object, and naming the first place that differs
 */
export function readShape<T>(schema: z.ZodMiniType<T>, value: unknown, provider: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success && !holdsError(value)) return parsed.data;
  if (holdsError(value)) {
    const reason = "it is an error object under a status of success";
    throw new ProviderBadResponse({ provider, reason, ...providerWords(value) });
  }
  const path = parsed.error?.issues[0]?.path.join(".") ?? "";
  const reason = path === "" ? "it is not an answer of this protocol" : `its ${path} is not as documented`;
  throw new ProviderBadResponse({ provider, reason });
}

const holdsError = (value: unknown): boolean =>
  isJsonObject(value) && value.error !== undefined && value.error !== null;

const errorDocument = z.lazy(() => {
  const word = z.catch(z.optional(z.string()), undefined);
  const onlyMessage = z.pipe(
    z.string(),
    z.transform((message) => ({ message, type: undefined, code: undefined, status: undefined })),
  );
  const words = z.object({ message: word, type: word, code: word, status: word });
  return z.object({ error: z.union([onlyMessage, words]) });
});

/** Longest text of a provider that is kept, in characters. */
const MAX_WORDS = 500;

/**
 * What a provider's error document says: its message for the operator, its short type or code for the caller. Takes a
 * parsed document, alone or (Google) in a list, or the text of one that is not JSON.
 */
export function providerWords(value: unknown): { provider_message?: string; provider_type?: string } {
  const document = errorDocument.safeParse(Array.isArray(value) ? value[0] : value);
  if (!document.success) {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    return text.trim() === "" ? {} : { provider_message: text.trim().slice(0, MAX_WORDS) };
  }
  const { message, type, code, status } = document.data.error;
  const short = [type, code, status].find((word) => word !== undefined && /^[\w.:-]{1,64}$/.test(word));
  return {
    ...(message === undefined ? {} : { provider_message: message.slice(0, MAX_WORDS) }),
    ...(short === undefined ? {} : { provider_type: short }),
  };
}
