/**
 * The frames of one execution, in order and in their wire form. Short logs stay in memory. Longer ones go to a file, and
 * memory keeps only the newest part. So neither a slow reader nor a missing one costs memory, and a reader that returns
 * still gets every frame. In the file, frames are encrypted (journal-cipher.ts).
 */
import { type FileHandle, open, unlink } from "node:fs/promises";
import { encodeFrame, type FrameType } from "../src/tool/protocol.ts";
import type { EncryptionParams, JournalCipher } from "./journal-cipher.ts";

/** Longest log without a file of its own. */
const INLINE_BYTES = 64 * 1024;
/** How much of a log with a file also stays in memory, for readers that keep up. */
const TAIL_BYTES = 512 * 1024;
/**
 * Bytes that wait to be written to disk: above the first limit the source should pause, below the second it may
 * continue.
 */
const BACKLOG_HIGH = 4 * 1024 * 1024;
const BACKLOG_LOW = 1024 * 1024;
/** The size of one read from or write to the file. */
const BLOCK_BYTES = 256 * 1024;

/** The file for many frames. */
export interface FrameFile {
  path: string;
  /** How the file is encrypted; null: an earlier version wrote it without encryption. */
  sealed: EncryptionParams | null;
  cipher: JournalCipher;
}

interface Chunk {
  at: number;
  bytes: Uint8Array;
}

export class FrameLog {
  /** The log's file; null for a log that always stays in memory. */
  readonly file: FrameFile | null;
  /** Bytes appended. */
  size = 0;
  /** Called when the source may continue after `append` returned false: the backlog is small, or the disk refused it. */
  onDrained: () => void = () => {};
  /** Called once if the disk refuses the frames. */
  onFailure: (error: unknown) => void = () => {};
  #complete = false;
  #chunks: Chunk[] = [];
  #written = 0;
  #handle: FileHandle | null = null;
  #writing: Promise<void> | null = null;
  #failed = false;
  #paused = false;
  #users = 1;
  #notifying = false;
  readonly #listeners = new Set<() => void>();

  constructor(file: FrameFile | null) {
    this.file = file;
  }

  /** A complete log from its bytes. */
  static fromBytes(bytes: Uint8Array): FrameLog {
    const log = new FrameLog(null);
    log.#push(bytes);
    log.#complete = true;
    return log;
  }

  /** A complete log from its file. */
  static async fromFile(file: FrameFile): Promise<FrameLog> {
    const log = new FrameLog(file);
    log.#handle = await open(file.path, "r");
    log.size = log.#written = (await log.#handle.stat()).size;
    log.#complete = true;
    return log;
  }

  /** Whether the log is complete. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Whether the disk has refused frames, so that the file has only a part of them. */
  get failed(): boolean {
    return this.#failed;
  }

  get spilled(): boolean {
    return this.file !== null && this.size > INLINE_BYTES;
  }

  /** Appends one frame. `false`: the disk is behind; pause the source until `onDrained`. */
  append(type: FrameType, payload: Uint8Array): boolean {
    this.#push(encodeFrame(type, payload));
    if (!this.#notifying) {
      this.#notifying = true;
      setImmediate(() => this.#notify());
    }
    if (!this.spilled || this.#failed) return true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    this.#paused ||= this.size - this.#written > BACKLOG_HIGH;
    return !this.#paused;
  }

  /** Marks the log as complete and wakes the readers. */
  finish(): void {
    this.#complete = true;
    this.#notify();
  }

  /** `listener` runs after appends (several together) and after `finish`. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The bytes at `offset`, up to a block: null if there are none yet, a promise if only the file has them. */
  read(offset: number): Uint8Array | Promise<Uint8Array> | null {
    if (offset >= this.size) return null;
    const first = this.#chunks[0];
    if (first === undefined || offset < first.at) return this.#readFile(offset);
    const parts = this.#memory(offset);
    const only = parts.length === 1 ? parts[0] : undefined;
    return only ?? Buffer.concat(parts);
  }

  /** Offset of frame number `seq`, counted from 0; the end of the log if it has fewer. */
  async offsetOf(seq: number): Promise<number> {
    let offset = 0;
    for (let count = 0; count < seq && offset < this.size; count += 1) {
      const block = await this.read(offset);
      if (block === null) break;
      // Walks the frames whose headers are inside this block before reading the next one.
      const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
      let at = 5 + view.getUint32(1);
      while (count + 1 < seq && at + 5 <= block.length) {
        at += 5 + view.getUint32(at + 1);
        count += 1;
      }
      offset += at;
    }
    return Math.min(offset, this.size);
  }

  /** Resolves when the file has everything appended so far, or the disk has refused it. */
  async settled(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  /** All bytes of a log without a file. */
  bytes(): Uint8Array {
    return this.size === 0 ? new Uint8Array(0) : Buffer.concat(this.#memory(0, this.size));
  }

  retain(): void {
    this.#users += 1;
  }

  /** Releases the log; the last user's release closes the file. */
  release(): void {
    this.#users -= 1;
    if (this.#users === 0) void this.#handle?.close().catch(() => {});
  }

  /** Removes the file, if there is one. */
  async discard(): Promise<void> {
    await this.settled();
    if (this.file !== null && this.#handle !== null) await unlink(this.file.path).catch(() => {});
  }

  #push(bytes: Uint8Array): void {
    this.#chunks.push({ at: this.size, bytes });
    this.size += bytes.length;
  }

  #notify(): void {
    this.#notifying = false;
    for (const listener of this.#listeners) listener();
  }

  #memory(offset: number, limit = BLOCK_BYTES): Uint8Array[] {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (let index = this.#indexOf(offset); index < this.#chunks.length && length < limit; index += 1) {
      const chunk = this.#chunks[index];
      if (chunk === undefined) break;
      const part = chunk.at < offset ? chunk.bytes.subarray(offset - chunk.at) : chunk.bytes;
      parts.push(part);
      length += part.length;
    }
    return parts;
  }

  /** Index of the chunk that holds `offset`, which must be in memory. */
  #indexOf(offset: number): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#chunks[middle]?.at ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  async #readFile(offset: number): Promise<Uint8Array> {
    if (this.file === null || this.#handle === null) throw new RangeError(`nothing at ${offset}`);
    const buffer = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, this.#written - offset));
    const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, offset);
    if (bytesRead === 0) throw new RangeError(`the file ends before ${offset}`);
    const { sealed, cipher } = this.file;
    const bytes = buffer.subarray(0, bytesRead);
    return sealed === null ? bytes : cipher.transform(sealed, offset, bytes);
  }

  async #write(): Promise<void> {
    if (this.file === null) return;
    const { path, sealed, cipher } = this.file;
    try {
      this.#handle ??= await open(path, "w+", 0o600);
      while (this.#written < this.size) {
        const at = this.#written;
        const plain = this.#memory(at);
        const parts = sealed === null ? plain : [cipher.transform(sealed, at, Buffer.concat(plain))];
        const { bytesWritten } = await this.#handle.writev(parts, at);
        this.#written += bytesWritten;
        this.#forget();
        if (this.#paused && this.size - this.#written < BACKLOG_LOW) {
          this.#paused = false;
          this.onDrained();
        }
      }
    } catch (error) {
      this.#failed = true;
      if (this.#paused) this.onDrained();
      this.onFailure(error);
    }
  }

  /** Drops from memory what the file has, except the newest part. */
  #forget(): void {
    const limit = Math.min(this.#written, this.size - TAIL_BYTES);
    let count = 0;
    for (const chunk of this.#chunks) {
      if (chunk.at + chunk.bytes.length > limit) break;
      count += 1;
    }
    if (count > 0) this.#chunks.splice(0, count);
  }
}
