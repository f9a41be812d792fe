/**
 * Recorded calls to providers, one line of JSON each: a header, then one call per line with the pieces of its answer in
 * order of arrival. Keys are redacted before anything is written. Pure: the Worker and the command line share it.
 */

import * as z from "zod/mini";
import { concat, fromBase64, sha256, toBase64, utf8, utf8OrNull } from "../bytes.ts";
import type { Redactor } from "../redact.ts";
import { canonicalJson } from "../skill/canonical.ts";
import { fromJson, isObject } from "../skill/json.ts";
import { jsonOrText, parsedJson } from "../skill/json-depth.ts";
import type { Json } from "../skill/manifest.ts";

export const CASSETTE_VERSION = 1;

const headerShape = z.lazy(() =>
  z.strictObject({
    hull_cassette: z.literal(CASSETTE_VERSION),
    created_at: z.string(),
    /** Variables that were set for providers, without their values: a replay sets them to placeholders. */
    variables: z.array(z.string()),
    /** Settings that decide which model is called. */
    settings: z.record(z.string(), z.string()),
  }),
);
export type CassetteHeader = z.infer<typeof headerShape>;

const chunkShape = z.lazy(() => {
  const at_ms = z.int().check(z.nonnegative());
  return z.union([
    z.strictObject({ at_ms, text: z.string() }),
    /** Bytes that are not valid UTF-8 on their own. */
    z.strictObject({ at_ms, base64: z.string() }),
  ]);
});
/** One piece of an answer, and its arrival in ms after the request. */
type CassetteChunk = z.infer<typeof chunkShape>;

const callShape = z.lazy(() =>
  z.strictObject({
    kind: z.literal("model"),
    /** In the order of the requests, from 1. */
    n: z.int().check(z.positive()),
    provider: z.string(),
    request: z.strictObject({
      method: z.string(),
      /** Relative to the provider's base, e.g. `/chat/completions`. */
      path: z.string(),
      body: z.custom<Json>(),
    }),
    /** As computed by `callKey` of the version that recorded it. */
    key: z.string(),
    /** `null`: no response arrived. */
    response: z.nullable(
      z.strictObject({
        status: z.int(),
        headers: z.record(z.string(), z.string()),
        chunks: z.array(chunkShape),
        /** Whether the response broke off. */
        cut: z.exactOptional(z.literal(true)),
      }),
    ),
  }),
);
export type CassetteCall = z.infer<typeof callShape>;
type CassetteRequest = CassetteCall["request"];

export interface Cassette {
  header: CassetteHeader;
  /** In the order of the requests. */
  calls: CassetteCall[];
}

/**
 * The parts of a request that must be equal for a replay: everything that the model reads, whatever the protocol calls
 * it.
 */
interface Conversation {
  model: Json;
  system: Json;
  messages: Json[];
}

export function conversationOf(body: Json): Conversation {
  const placed = withoutPlaces(body);
  if (!isObject(placed)) return { model: null, system: null, messages: placed === null ? [] : [placed] };
  const { model = null, system, instructions, messages, input, prompt, suffix } = placed;
  const said = messages ?? input ?? prompt ?? null;
  return {
    model,
    system: system ?? instructions ?? null,
    messages: [...(Array.isArray(said) ? said : said === null ? [] : [said]), ...(suffix ? [suffix] : [])],
  };
}

/** A folder in the runner that texts of skills and answers of tools name, up to its own name. */
const RUNNER_FOLDER = /\/runner\/(?:(skills)\/[0-9a-f]{16}|workspaces\/[0-9a-f]{32})(?![0-9a-f])/;

/** The value without the paths to the runner's folders: they differ by machine, project and session. */
function withoutPlaces(value: Json): Json {
  return JSON.parse(JSON.stringify(value), (_, item: unknown) =>
    typeof item === "string" && RUNNER_FOLDER.test(item) ? withoutPlacesIn(item) : item,
  );
}

function withoutPlacesIn(text: string): string {
  const pieces = text.split(RUNNER_FOLDER);
  // Odd pieces are the pattern's matches: the group says which kind of folder it is.
  return pieces
    .map((piece = "files", at) =>
      at % 2 === 1 ? `{${piece}}` : at === pieces.length - 1 ? piece : untilPath(piece),
    )
    .join("");
}

/** The text up to the absolute path with which it ends. */
function untilPath(text: string): string {
  const word = Math.max(...[" ", "\t", "\n", '"', "'", "`"].map((end) => text.lastIndexOf(end))) + 1;
  const path = text.indexOf("/", word);
  return path === -1 ? text : text.slice(0, path);
}

/** The hash of model, messages and system text, in hex. */
export function callKey(body: Json): string | Promise<string> {
  const { model, messages, system } = conversationOf(body);
  return sha256(utf8(canonicalJson([model, messages, system])));
}

/** Headers about an answer, without any about the account that paid for it. */
const SAFE_HEADERS =
  /^(?:content-type|content-encoding|retry-after(?:-ms)?|x-should-retry|(?:x-)?request-id|openai-(?:model|version|processing-ms)|(?:x|anthropic)-ratelimit-.*)$/;

export function safeHeaders(headers: Iterable<readonly [string, string]>): Record<string, string> {
  const kept = Array.from(headers, ([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(kept.filter(([name]) => SAFE_HEADERS.test(name)));
}

/** A piece of an answer as it arrived. */
export interface Piece {
  at_ms: number;
  bytes: Uint8Array;
}

/** The pieces without secrets. If they contain none, the boundaries of the pieces are kept. */
export function chunksOf(pieces: readonly Piece[], redactor: Redactor): CassetteChunk[] {
  const whole = concat(pieces.map(({ bytes }) => bytes));
  if (redactor.bytes(whole) === whole) return pieces.map(chunkOf);
  const stream = redactor.stream();
  const kept = pieces.map(({ at_ms, bytes }) => ({ at_ms, bytes: stream.push(bytes) }));
  const last = { at_ms: pieces.at(-1)?.at_ms ?? 0, bytes: stream.end() };
  return [...kept, last].filter(({ bytes }) => bytes.length > 0).map(chunkOf);
}

function chunkOf({ at_ms, bytes }: Piece): CassetteChunk {
  const text = utf8OrNull(bytes);
  return text === null ? { at_ms, base64: toBase64(bytes) } : { at_ms, text };
}

export function bytesOf(chunk: CassetteChunk): Uint8Array {
  return "text" in chunk ? new TextEncoder().encode(chunk.text) : fromBase64(chunk.base64);
}

/** The body of a request: JSON, or its text if it is not JSON; `null` without a body. */
export function bodyOf(text: string): Json {
  return text === "" ? null : jsonOrText(text);
}

/** A request in its recorded form. @param path relative to the provider's base */
export function requestOf(method: string, path: string, body: Json, redactor: Redactor): CassetteRequest {
  return fromJson(redactor.json({ method, path, body }));
}

export const cassetteLine = (line: CassetteHeader | CassetteCall): string => `${JSON.stringify(line)}\n`;

/** @returns faults by line if the text is not a cassette of this version */
export function readCassette(text: string): Cassette | { faults: string[] } {
  const lines = text
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [{ line, n: index + 1 }]));
  const [first, ...rest] = lines;
  const header = parsed(first?.line ?? "", headerShape);
  if ("fault" in header) {
    return {
      faults: [`line 1: not the header of a cassette of version ${CASSETTE_VERSION}: ${header.fault}`],
    };
  }
  const calls: CassetteCall[] = [];
  const faults: string[] = [];
  for (const { line, n } of rest) {
    const call = parsed(line, callShape);
    if ("fault" in call) faults.push(`line ${n}: ${call.fault}`);
    else calls.push(call.value);
  }
  return faults.length > 0 ? { faults } : { header: header.value, calls: calls.sort((a, b) => a.n - b.n) };
}

function parsed<T>(line: string, shape: z.ZodMiniType<T>): { value: T } | { fault: string } {
  const value = parsedJson(line);
  if (value === undefined) return { fault: "not JSON" };
  const result = shape.safeParse(value);
  if (result.success) return { value: result.data };
  const faults = result.error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`);
  return { fault: faults.join("; ") };
}
