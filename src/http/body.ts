/** Reads request bodies: limits count actual bytes, silence ends in 408, nothing is left unread (serving.md §5.2). */
import type * as z from "zod/mini";
import { BodyTooLarge, InputInvalid, MalformedJson, RequestTimeout } from "../errors/request.ts";
import { parseWithOffset } from "../run/json.ts";
import { decodeUtf8 } from "../run/utf8.ts";
import type { Json } from "../skill/manifest.ts";

/** Longest silence inside a request body, in ms. */
export const BODY_SILENCE_MS = 30_000;
/** An unread body up to this many bytes is drained, so that the connection can be used again. */
const DRAIN_BYTES = 64 * 1024;
/** In local dev, where workerd cuts the connection of whoever still sends, often before the answer was read. */
const LOCAL_DRAIN_BYTES = 128 * 1024 * 1024;

/** Whose body it is, and where. */
interface BodyContext {
  request: Request;
  settings: { local: boolean };
}

/** Refuses a body whose declared length is over the limit before a byte of it is read. */
export function checkDeclaredLength(request: Request, limit: number): void {
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > limit) throw new BodyTooLarge({ limit });
}

/** The body as it comes, ended by an error when it passes `limit` bytes or falls silent. */
export async function* bodyChunks(request: Request, limit: number): AsyncGenerator<Uint8Array> {
  checkDeclaredLength(request, limit);
  const reader = request.body?.getReader();
  if (reader === undefined) return;
  let total = 0;
  try {
    for (;;) {
      const { done, value } = await withSilenceLimit(reader.read());
      if (done) return;
      total += value.length;
      if (total > limit) throw new BodyTooLarge({ limit });
      yield value;
    }
  } finally {
    // The rest of a body over the limit is left for `discardBody`.
    if (total > limit) reader.releaseLock();
    else await reader.cancel().catch(() => {});
  }
}

/** The whole body in memory. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  checkDeclaredLength(request, limit);
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  // A small body of known length: the platform collects it, and cannot collect more than was declared.
  if (declared <= DRAIN_BYTES) return new Uint8Array(await withSilenceLimit(request.arrayBuffer()));
  const chunks: Uint8Array[] = [];
  for await (const chunk of bodyChunks(request, limit)) chunks.push(chunk);
  const only = chunks[0];
  if (chunks.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/**
 * Drains what an early answer left unread, up to 64 KiB (local dev: 128 MiB), and cancels the rest.
 * @param silenceMs longest wait for more of it
 */
export async function discardBody(
  { request, settings }: BodyContext,
  silenceMs = BODY_SILENCE_MS,
): Promise<void> {
  if (request.body === null || request.body.locked) return;
  const most = settings.local ? LOCAL_DRAIN_BYTES : DRAIN_BYTES;
  try {
    const reader = request.body.getReader();
    for (let total = 0; total < most; ) {
      const { done, value } = await withSilenceLimit(reader.read(), silenceMs);
      if (done) return;
      total += value.length;
    }
    await reader.cancel();
  } catch {
    // The client went away or fell silent: there is nothing left to keep alive.
  }
}

async function withSilenceLimit<T>(read: Promise<T>, ms = BODY_SILENCE_MS): Promise<T> {
  const silence = Promise.withResolvers<never>();
  const timer = setTimeout(() => silence.reject(new RequestTimeout({ timeout_ms: ms })), ms);
  try {
    return await Promise.race([read, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Limit of JSON bodies (contract.md "Limits"). */
const MAX_JSON_BYTES = 1024 * 1024;

/** A JSON body of a known shape. @throws BodyTooLarge, MalformedJson, InputInvalid with a path per finding */
export async function readJson<T>(request: Request, schema: z.ZodMiniType<T>): Promise<T> {
  const text = decodeUtf8(await readBody(request, MAX_JSON_BYTES), "The body");
  const result = schema.safeParse(parseJson(text));
  if (result.success) return result.data;
  const errors = result.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  throw new InputInvalid({ reason: "The body does not have the expected shape.", errors });
}

/** Any JSON value. @throws MalformedJson with the offset of the first fault */
export function parseJson(text: string): Json {
  const parsed = parseWithOffset(text);
  if (parsed.ok) return parsed.value;
  throw new MalformedJson({ offset: parsed.offset, reason: parsed.reason });
}
