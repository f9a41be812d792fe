/**
 * Passes an upstream's answer to the client: streamed, with a limit on silence. It makes the upstream's death visible,
 * since a body that ends early looks complete to a client.
 */
import { UpstreamBodyTruncated, UpstreamTimeout } from "../../errors/run.ts";
import type { HullError } from "../../errors.ts";

/** How much of a body of unknown length is held before the answer begins, and how long in ms. */
const HOLD_BYTES = 1024 * 1024;
const HOLD_MS = 250;

export interface UpstreamBody {
  skill: string;
  /** Longest silence inside the body, in ms. */
  idleMs: number;
  /** Called with the error that ended the body early. */
  onFault: (error: HullError) => void;
  /** Called when reading is over, for whatever reason; possibly more than once. */
  onEnd: () => void;
}

type Read = { done: true } | { done: false; value: Uint8Array };

/** Reads an upstream body with a limit on silence. */
export class UpstreamReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #body: UpstreamBody;

  constructor(stream: ReadableStream<Uint8Array>, body: UpstreamBody) {
    this.#reader = stream.getReader();
    this.#body = body;
  }

  /** @throws UpstreamBodyTruncated, UpstreamTimeout */
  async read(): Promise<Read> {
    const { skill, idleMs } = this.#body;
    const silence = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => silence.reject(new UpstreamTimeout({ skill, timeout_ms: idleMs })),
      idleMs,
    );
    try {
      const { done, value } = await Promise.race([this.#reader.read(), silence.promise]);
      if (!done) return { done: false, value };
      this.#body.onEnd();
      return { done: true };
    } catch (error) {
      const fault = error instanceof UpstreamTimeout ? error : new UpstreamBodyTruncated({ skill });
      void this.cancel();
      this.#body.onFault(fault);
      throw fault;
    } finally {
      clearTimeout(timer);
    }
  }

  async cancel(): Promise<void> {
    this.#body.onEnd();
    await this.#reader.cancel().catch(() => {});
  }

  /** Everything read so far, then the rest as it arrives; `last` may add a final chunk instead of a fault. */
  stream(head: Uint8Array[], last?: (fault: unknown) => Uint8Array): ReadableStream<Uint8Array> {
    const waiting = [...head];
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const chunk = waiting.shift();
        if (chunk !== undefined) return controller.enqueue(chunk);
        try {
          const read = await this.read();
          if (read.done) controller.close();
          else controller.enqueue(read.value);
        } catch (error) {
          if (last === undefined) throw error;
          controller.enqueue(last(error));
          controller.close();
        }
      },
      cancel: () => this.cancel(),
    });
  }

  /**
   * Holds back the beginning of a body of unknown length, so that an upstream that dies immediately causes a 502.
   * @throws UpstreamBodyTruncated, UpstreamTimeout
   */
  async hold(): Promise<ReadableStream<Uint8Array>> {
    const head: Uint8Array[] = [];
    let bytes = 0;
    const window = Promise.withResolvers<"over">();
    const timer = setTimeout(() => window.resolve("over"), HOLD_MS);
    try {
      while (bytes < HOLD_BYTES) {
        const reading = this.read();
        const first = await Promise.race([reading, window.promise]);
        if (first === "over") return resumed(head, reading, this);
        if (first.done) return this.#whole(head);
        head.push(first.value);
        bytes += first.value.length;
      }
      return this.stream(head);
    } finally {
      clearTimeout(timer);
    }
  }

  #whole(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
    return new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });
  }
}

/** The held-back beginning, then the read that was pending when the time was up, then the rest. */
function resumed(
  head: Uint8Array[],
  reading: Promise<Read>,
  reader: UpstreamReader,
): ReadableStream<Uint8Array> {
  const waiting = [...head];
  let pending: Promise<Read> | null = reading;
  reading.catch(() => {});
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = waiting.shift();
      if (chunk !== undefined) return controller.enqueue(chunk);
      const read = await (pending ?? reader.read());
      pending = null;
      if (read.done) controller.close();
      else controller.enqueue(read.value);
    },
    cancel: () => reader.cancel(),
  });
}
