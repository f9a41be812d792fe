/** Chooses the mock that answers a call. Pure. */

import type { Message } from "../../engine/messages.ts";
import { starMatches } from "../../skill/glob.ts";
import type { Mock, MockCall } from "./mock.ts";

/** Mocks in the order of declaration. */
type MockQueue = readonly Mock[];

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

/**
 * What to do with a call that no mock answers: the mock's default behaviour whatever the provider, the provider itself,
 * or an error that says where the mocks are.
 */
type Otherwise = "default" | "provider" | { error: string };

export interface Taken {
  mock: Mock | null;
  otherwise: Otherwise;
  /** Whether a call with this prompt was recorded before. */
  seen: boolean;
}

/**
 * Records a call, and takes its answer from a queue.
 * @param prompt digest of the prompt if it should be cached, else `null`
 */
export type TakeMock = (call: MockCall, prompt: string | null) => Taken | Promise<Taken>;

/** Mocks of one run: `queue` is their JSON-safe position. When they are used up, the default answers. */
export class RunMocks {
  queue: MockQueue;
  readonly #prompts = new Set<string>();

  constructor(queue: MockQueue) {
    this.queue = queue;
  }

  take = (call: MockCall, prompt: string | null): Taken => {
    const { answer, queue } = nextMock(this.queue, call.messages);
    this.queue = queue;
    const seen = prompt !== null && this.#prompts.has(prompt);
    if (prompt !== null) this.#prompts.add(prompt);
    return { mock: answer, otherwise: "default", seen };
  };
}
