/** A queue of mocks, with a memory of the calls that they answered. */
import type { Mock, MockCall } from "./mock.ts";
import { type MockQueue, nextMock } from "./queue.ts";

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

export interface MockSource {
  /**
   * Records a call, and takes its answer from the queue.
   * @param prompt digest of the prompt if it should be cached, else `null`
   */
  take(call: MockCall, prompt: string | null): Taken | Promise<Taken>;
}

/** Mocks of one run: `queue` is their JSON-safe position. When they are used up, the default answers. */
export class RunMocks implements MockSource {
  queue: MockQueue;
  readonly #prompts = new Set<string>();

  constructor(queue: MockQueue) {
    this.queue = queue;
  }

  take(call: MockCall, prompt: string | null): Taken {
    const { answer, queue } = nextMock(this.queue, call.messages);
    this.queue = queue;
    const seen = prompt !== null && this.#prompts.has(prompt);
    if (prompt !== null) this.#prompts.add(prompt);
    return { mock: answer, otherwise: "default", seen };
  }
}
