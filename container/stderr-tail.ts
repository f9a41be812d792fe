/**
 * The part of stderr to keep: the first 64 KiB, sent as they arrive, and the last 64 KiB, sent at the end. A handler's
 * stderr shows its progress, that of an MCP server why a call fails: their first MiB is sent immediately.
 */

const HEAD_BYTES = 64 * 1024;
const PROGRESS_BYTES = 1024 * 1024;
const TAIL_BYTES = 64 * 1024;

export class StderrTail {
  readonly #send: (bytes: Uint8Array) => void;
  readonly #head: number;
  #bytes = 0;
  #tail: Uint8Array[] = [];
  #tailBytes = 0;

  constructor(send: (bytes: Uint8Array) => void, progress = false) {
    this.#send = send;
    this.#head = progress ? PROGRESS_BYTES : HEAD_BYTES;
  }

  push(chunk: Uint8Array): void {
    const room = Math.max(0, this.#head - this.#bytes);
    this.#bytes += chunk.length;
    if (room > 0) this.#send(chunk.subarray(0, room));
    if (chunk.length <= room) return;
    this.#tail.push(chunk.subarray(room));
    this.#tailBytes += chunk.length - room;
    if (this.#tailBytes > 4 * TAIL_BYTES) this.#shorten();
  }

  /** Sends the tail. `bytes`: the length of all output of the process. */
  finish(): { bytes: number; truncated: boolean } {
    const truncated = this.#bytes > this.#head + TAIL_BYTES;
    this.#shorten();
    for (const chunk of this.#tail.splice(0)) this.#send(chunk);
    return { bytes: this.#bytes, truncated };
  }

  #shorten(): void {
    const tail = Buffer.concat(this.#tail).subarray(-TAIL_BYTES);
    this.#tail = tail.length === 0 ? [] : [Buffer.from(tail)];
    this.#tailBytes = tail.length;
  }
}
