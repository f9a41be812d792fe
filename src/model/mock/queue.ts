/** Chooses the mock that answers a call. Pure. */

import type { Message } from "../../engine/messages.ts";
import { starMatches } from "../../skill/glob.ts";
import type { Mock } from "./mock.ts";

/** Mocks in the order of declaration. */
export type MockQueue = readonly Mock[];

/**
 * The first mock without a pattern; otherwise the first whose pattern matches one of the messages, or all of them
 * joined.
 * @returns the mock or `null`, and the remaining queue, without the mock if the call uses it up
 */
export function nextMock(
  queue: MockQueue,
  messages: readonly Message[],
): { answer: Mock | null; queue: MockQueue } {
  const first = queue.findIndex(({ match }) => match === undefined);
  const at = first === -1 ? matching(queue, messages) : first;
  const answer = queue[at];
  if (answer === undefined) return { answer: null, queue };
  const reusable = answer.match !== undefined && answer.consume_match !== true;
  return { answer, queue: reusable ? queue : queue.toSpliced(at, 1) };
}

function matching(queue: MockQueue, messages: readonly Message[]): number {
  if (queue.length === 0) return -1;
  const texts = contents(messages);
  const all = [...texts, texts.join("\n")];
  return queue.findIndex(({ match = "" }) => all.some((text) => starMatches(match, text)));
}

/** The text that patterns are matched against, and from which input tokens are counted by default. */
export function matchText(messages: readonly Message[]): string {
  return contents(messages).join("\n");
}

/** The content text of each message; each result of a tool is a separate text. */
const contents = (messages: readonly Message[]): string[] => messages.flatMap(contentOf);

function contentOf(message: Message): string[] {
  switch (message.role) {
    case "user":
      return [message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")];
    case "assistant":
      return [
        message.content.flatMap((block) => (block.type === "output_text" ? [block.text] : [])).join(""),
      ];
    case "tool":
      return message.results.map(({ content }) => content);
  }
}
