/**
 * Bytes: joins several, reads short bodies, and converts to and from texts: UTF-8, JSON, hexadecimal digits, Base64 (RFC
 * 4648).
 * Node 24 has no `Uint8Array.fromBase64` and `toHex` yet.
 */

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** As `concat`, but a single part is returned unchanged. */
export function join<B extends ArrayBufferLike>(
  parts: readonly Uint8Array<B>[],
): Uint8Array<B | ArrayBuffer> {
  const only = parts[0];
  return parts.length === 1 && only !== undefined ? only : concat(parts);
}

/** So many chunks are copied into one. */
const TOGETHER = 256;

/**
 * Chunks of one body. Programs and clients may write single bytes, and a chunk from a socket takes some KB more than it
 * holds.
 */
export class Gathered {
  #chunks: Uint8Array[] = [];
  #last: Uint8Array[] = [];
  bytes = 0;

  push(chunk: Uint8Array): void {
    this.#last.push(chunk);
    this.bytes += chunk.length;
    if (this.#last.length < TOGETHER) return;
    this.#chunks.push(concat(this.#last));
    this.#last = [];
  }

  /** All chunks as one. */
  whole(): Uint8Array {
    return join([...this.#chunks, ...this.#last]);
  }

  /** Takes all chunks as one. */
  take(): Uint8Array<ArrayBuffer> {
    const whole = concat([...this.#chunks, ...this.#last]);
    this.#chunks = [];
    this.#last = [];
    this.bytes = 0;
    return whole;
  }
}

/** The text of a body; `null` if the body has more bytes than the limit, and then the rest of it is not read. */
export async function textWithin(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > limit) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The bytes of a body; `null` if they are more than the limit, and then the rest of it is not read. */
export async function bytesWithin(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const gathered = new Gathered();
  for await (const chunk of body) {
    gathered.push(chunk);
    if (gathered.bytes > limit) return null;
  }
  return gathered.take();
}

/** How many bytes at the end belong to an incomplete character of UTF-8. */
export function incompleteTail(data: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= data.length; back++) {
    const byte = data[data.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

/**
 * A stream of what a generator yields.
 * @param cancel called when the reader leaves. Absent: the generator returns, once it has what it waits for
 */
export function streamFrom(
  chunks: AsyncGenerator<Uint8Array, void>,
  cancel: () => Promise<unknown> = () => chunks.return(),
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await cancel();
    },
  });
}

/** Limit of each call, since the number of a call's arguments is limited. */
const PIECE = 0x8000;

export function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return btoa(parts.join(""));
}

/** @throws if it is not Base64 */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** The same; `null`: it is not Base64. */
export function base64OrNull(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return fromBase64(text);
  } catch {
    return null;
  }
}

/** Base64url without padding (RFC 4648 §5). */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes)
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/(?<!=)=+$/, "");
}

/** @throws if it is not Base64url */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}

/** Two lower-case digits for each byte. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes of hexadecimal digits, an even number of them. */
export function fromHex(digits: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

const encoder = new TextEncoder();

/** A copy, since the encoder's own result may be typed as shared memory, which Web Crypto refuses. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(encoder.encode(text));
}

/** How many bytes a text has in UTF-8. */
export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text with any byte order mark; `null` if the bytes are not UTF-8. */
export function utf8OrNull(bytes: Uint8Array): string | null {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return null;
  }
}

/** The text without a byte order mark; `null` if the bytes are not UTF-8. */
export function unmarkedUtf8(bytes: Uint8Array): string | null {
  return utf8OrNull(bytes)?.replace(/^\uFEFF/, "") ?? null;
}

/** Percent-encoded UTF-8 as text; `null`: it is none. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** SHA-256 in hexadecimal; of a text, that of its UTF-8 bytes. */
export async function sha256(content: string | Uint8Array): Promise<string> {
  const bytes = typeof content === "string" ? utf8(content) : content;
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/**
 * The JSON of a value, with U+FFFD for half a surrogate pair. Many readers refuse a document with such a half: providers,
 * with which a conversation would get no answer any more, and clients in languages whose texts are UTF-8.
 */
export function wellFormedJson(value: unknown): string {
  const text = JSON.stringify(value);
  // `JSON.stringify` escapes halves, and nothing else in this way.
  if (!text.includes("\\ud")) return text;
  return text.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (found) => (found.length === 6 ? "\\ufffd" : found));
}

/**
 * Characters that change the order of the text around them, or that nobody sees. JSON shows them as escapes: otherwise a
 * person could approve an argument that reads as another one.
 */
const HIDDEN = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** JSON that shows each of its characters. @param indent spaces per level; none: on one line */
export function jsonShown(value: unknown, indent = 0): string {
  const escaped = (character: string): string =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("");
  return (JSON.stringify(value, null, indent) ?? "").replace(HIDDEN, escaped);
}
