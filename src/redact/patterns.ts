/** What is looked for of one secret: the value itself, and what Base64 makes of it, wherever in a text it stands. */
import type { Pattern } from "./automaton.ts";

/** In which a secret may stand as well: percent escapes and JSON's are read by `decoders.ts`, whoever wrote them. */
export function patternsOf(secret: string): Pattern[] {
  const bytes = new TextEncoder().encode(secret);
  // Forms write a blank so.
  const form = bytes.includes(0x20) ? [whole(bytes.map((byte) => (byte === 0x20 ? 0x2b : byte)))] : [];
  return [whole(bytes), ...form, ...[0, 1, 2].map((before) => base64At(bytes, before))];
}

const whole = (bytes: Uint8Array): Pattern => ({ bytes, ends: [bytes.length] });

/**
 * Base64 of bytes that have others around them. Those that go before shift the groups of three: what they have a part in is
 * left out. So is what bytes behind have a part in, but where the secret is the end, its last character and the padding count.
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
  const said = text.replace(/=+$/, "").length;
  const ends = [certain, said, text.length].map((end) => end - from);
  return { bytes: new TextEncoder().encode(text.slice(from)), ends: [...new Set(ends)] };
}
