/** Which mock answers a call. Pure. */
import type { Message } from "../../engine/messages.ts";
import type { Mock } from "./mock.ts";
import { patternFits } from "./pattern.ts";

/** Mocks in the order in which they were declared. */
export type MockQueue = readonly Mock[];

/**
 * The first mock without a pattern, else the first whose pattern fits one of the messages or all of them joined.
 * @returns it, or `null`, and the queue that is left: without it where it is used up
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
  return queue.findIndex(({ match = "" }) => all.some((text) => patternFits(match, text)));
}

/** What patterns are tested against, and what input tokens are counted of by default. */
export function matchText(messages: readonly Message[]): string {
  return contents(messages).join("\n");
}

/** The content text of each message; each result of a tool is one by itself. */
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
