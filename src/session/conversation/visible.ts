/**
 * The visible messages of a session as its routes count and list them: each tool result counts as a message of its own.
 * Pure.
 */
import type { Message } from "../../engine/messages.ts";
import { messageJson, type PublicMessage } from "../../llm/messages.ts";

const sizeOf = (message: Message): number => (message.role === "tool" ? message.results.length : 1);

export function countListed(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}

/** A page of the list; `next` is the offset of the following page. */
export function listPage(
  messages: readonly Message[],
  { offset, limit }: { offset: number; limit: number },
): { data: PublicMessage[]; next: number | null } {
  const data: PublicMessage[] = [];
  let at = 0;
  for (const message of messages) {
    const size = sizeOf(message);
    if (at + size > offset && data.length < limit) {
      const listed = messageJson(message).slice(Math.max(0, offset - at));
      data.push(...listed.slice(0, limit - data.length));
    }
    at += size;
  }
  const next = offset + data.length;
  return { data, next: next < at ? next : null };
}

/** How many messages to keep at the end for this many listed ones. Calls stay together with their results. */
export function tailOf(messages: readonly Message[], listed: number): number {
  let kept = 0;
  let sum = 0;
  while (kept < messages.length && sum < listed) {
    const message = messages[messages.length - 1 - kept];
    sum += message === undefined ? 0 : sizeOf(message);
    kept += 1;
  }
  const first = messages[messages.length - kept];
  return first?.role === "tool" && kept > 0 && kept < messages.length ? kept + 1 : kept;
}

/** The first messages that make up this many listed ones. Calls whose results would be cut off are left out. */
export function headOf(messages: readonly Message[], listed: number): Message[] {
  const head: Message[] = [];
  let sum = 0;
  for (const message of messages) {
    sum += sizeOf(message);
    if (sum > listed) break;
    head.push(message);
  }
  const last = head.at(-1);
  const open = last?.role === "assistant" && last.content.some(({ type }) => type === "tool_call");
  return open ? head.slice(0, -1) : head;
}
