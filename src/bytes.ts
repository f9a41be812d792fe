/** Bytes: joins several, reads short bodies, and converts to and from standard Base64 (RFC 4648 §4). */

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
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
