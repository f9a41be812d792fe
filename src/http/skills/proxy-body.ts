/**
 * Passes an upstream's answer to the client: streamed, with a limit on silence. It makes the upstream's death visible,
 * since a body that ends early looks complete to a client.
 */
import { atMost } from "../../at-most.ts";
import { streamFrom } from "../../bytes.ts";
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
    try {
      const { done, value } = await atMost(this.#reader.read(), idleMs, () => {
        throw new UpstreamTimeout({ skill, timeout_ms: idleMs });
      });
      if (!done) return { done: false, value };
      this.#body.onEnd();
      return { done: true };
    } catch (error) {
      const fault = error instanceof UpstreamTimeout ? error : new UpstreamBodyTruncated({ skill });
      void this.cancel();
      this.#body.onFault(fault);
      throw fault;
    }
  }

  async cancel(): Promise<void> {
    this.#body.onEnd();
    await this.#reader.cancel().catch(() => {});
  }

  /** The body as it arrives; `last` may add a final chunk instead of a fault. */
  stream(last?: (fault: unknown) => Uint8Array): ReadableStream<Uint8Array> {
    return streamFrom(this.#chunks([], null, last), () => this.cancel());
  }

  /** What was read so far, then the read that is under way, then the rest. */
  async *#chunks(
    head: readonly Uint8Array[],
    reading: Promise<Read> | null,
    last?: (fault: unknown) => Uint8Array,
  ): AsyncGenerator<Uint8Array, void> {
    yield* head;
    try {
      for (let read = await (reading ?? this.read()); !read.done; read = await this.read()) yield read.value;
    } catch (error) {
      if (last === undefined) throw error;
      yield last(error);
    }
  }

  /**
   * Holds back the beginning of a body of unknown length, so that an upstream that dies immediately causes a 502.
   * @throws UpstreamBodyTruncated, UpstreamTimeout
   */
  async hold(): Promise<ReadableStream<Uint8Array>> {
    const head: Uint8Array[] = [];
    const rest = (reading: Promise<Read> | null): ReadableStream<Uint8Array> =>
      streamFrom(this.#chunks(head, reading), () => this.cancel());
    let bytes = 0;
    const window = Promise.withResolvers<"over">();
    const timer = setTimeout(() => window.resolve("over"), HOLD_MS);
    try {
      while (bytes < HOLD_BYTES) {
        const reading = this.read();
        const first = await Promise.race([reading, window.promise]);
        if (first === "over" || first.done) {
          // `read` has noted its fault, even if nobody reads this stream.
          reading.catch(() => {});
          return rest(reading);
        }
        head.push(first.value);
        bytes += first.value.length;
      }
      return rest(null);
    } finally {
      clearTimeout(timer);
    }
  }
}
