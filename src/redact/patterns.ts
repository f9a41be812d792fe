/** The patterns of one secret: the value itself, and its forms in Base64, anywhere in a text. */
import type { Pattern } from "./automaton.ts";

/** `decoders.ts` reads other forms of a secret: percent escapes and JSON's. */
export function patternsOf(secret: string): Pattern[] {
  const bytes = new TextEncoder().encode(secret);
  // Forms encode a space in this way.
  const form = bytes.includes(0x20) ? [whole(bytes.map((byte) => (byte === 0x20 ? 0x2b : byte)))] : [];
  const isBase64 = /^[a-z0-9+/]+={0,2}$/i.test(secret);
  return [whole(bytes, isBase64), ...form, ...[bytes, ...latin1(secret)].flatMap(inBase64)];
}

/** The Latin-1 bytes of a secret, which `btoa` encodes, if they differ from its UTF-8 bytes. */
function latin1(secret: string): Uint8Array[] {
  const codes = Array.from(secret, (character) => character.codePointAt(0) ?? 0);
  const differs = codes.some((code) => code > 0x7f) && codes.every((code) => code <= 0xff);
  return differs ? [Uint8Array.from(codes)] : [];
}

const inBase64 = (bytes: Uint8Array): Pattern[] => [0, 1, 2].map((before) => base64At(bytes, before));

const whole = (bytes: Uint8Array, base64 = false): Pattern => ({ bytes, ends: [bytes.length], base64 });

/**
 * Base64 of bytes in the middle of others. Bytes before them shift the groups of three, so characters that depend on
 * those are left out. So are characters that depend on following bytes; but if the secret is the end, its last
 * character and the padding count.
 * @param before bytes in the group in which the secret begins
 */
function base64At(bytes: Uint8Array, before: number): Pattern {
  const padded = new Uint8Array(before + bytes.length);
  padded.set(bytes, before);
  let binary = "";
  for (const byte of padded) binary += String.fromCharCode(byte);
  const text = btoa(binary);
  const from = Math.ceil((before * 8) / 6);
  const certain = Math.floor((padded.length * 8) / 6);
  const said = text.replace(/(?<!=)=+$/, "").length;
  const ends = [certain, said, text.length].map((end) => end - from);
  return { bytes: new TextEncoder().encode(text.slice(from)), ends: [...new Set(ends)], base64: true };
}
