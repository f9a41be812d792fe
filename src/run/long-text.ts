/** Texts of any length between objects: a message is limited to 32 MiB, a stream is not. */
import type { LongText } from "../session/conversation/rpc.ts";

/** Texts up to this many UTF-16 units travel as a plain string. */
const PLAIN = 4 * 1024 * 1024;

export function sendText(text: string): LongText {
  return text.length <= PLAIN ? text : new Blob([text]).stream();
}

export async function readText(text: LongText): Promise<string> {
  return typeof text === "string" ? text : new Response(text).text();
}
