/**
 * Pipes for the standard streams of processes. Node's own "pipe" is a socket pair, on which a process cannot open
 * `/dev/stdin`, `/dev/stdout` or `/dev/stderr` (ENXIO); scripts do that every day. So each stream is a FIFO, made
 * ahead in batches and without a name once it is open.
 */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { accessSync, closeSync, constants, openSync, unlinkSync, writeSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { removeTree } from "./scratch.ts";

/** FIFOs made by one start of `mkfifo`, and the number below which the next batch is made. */
const BATCH = 256;
const LOW = 128;

export interface ChildPipe {
  /** The process's end; to be closed here once the process has it. */
  child: number;
  /** The runner's end. */
  own: Socket;
}

export class Pipes {
  readonly #dir: string;
  readonly #ready: string[] = [];
  #refill: Promise<void> | null = null;
  #files = 0;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Where the pipes of the runner with this state folder are made: in memory where the system has a file system there,
   * since making and removing a file on a disk can take as long as starting a process.
   */
  static directory(state: string): string {
    const shared = "/dev/shm";
    try {
      accessSync(shared, constants.W_OK | constants.X_OK);
      return join(shared, `hull-${createHash("sha256").update(state).digest("hex").slice(0, 16)}`);
    } catch {
      return join(state, "pipes");
    }
  }

  /** Clears what an earlier runner left and makes the first batch. */
  async prepare(): Promise<void> {
    await removeTree(this.#dir);
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    await this.#fill();
  }

  /** Whether `count` pipes can be opened now; if not, wait for `more()`. */
  has(count: number): boolean {
    if (this.#ready.length < LOW) void this.more().catch(() => {});
    return this.#ready.length >= count;
  }

  more(): Promise<void> {
    this.#refill ??= this.#fill().finally(() => {
      this.#refill = null;
    });
    return this.#refill;
  }

  /** Removes what is unused. */
  async close(): Promise<void> {
    await this.#refill?.catch(() => {});
    await removeTree(this.#dir);
  }

  /** A pipe from the process to the runner. */
  output(): ChildPipe {
    const path = this.#take();
    const own = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const child = openSync(path, constants.O_WRONLY);
    unlinkSync(path);
    return { child, own: new Socket({ fd: own, readable: true, writable: false }) };
  }

  /**
   * A stdin that holds these bytes: an open file without a name, to be closed here once the process has it. A short
   * input is not piped: once its writer was done, opening `/dev/stdin` would wait for another writer for ever.
   */
  file(bytes: Uint8Array): number {
    this.#files += 1;
    const path = join(this.#dir, `stdin-${this.#files}`);
    const fd = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    // At an explicit position, so that the process reads from the start.
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, at);
    return fd;
  }

  /** A pipe from the runner to the process, for an input longer than the pipe holds. */
  input(): ChildPipe {
    const path = this.#take();
    // Held open until both ends are: a FIFO opens for writing only where somebody reads.
    const held = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const own = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const child = openSync(path, constants.O_RDONLY);
    closeSync(held);
    unlinkSync(path);
    return { child, own: new Socket({ fd: own, readable: false, writable: true }) };
  }

  #take(): string {
    const path = this.#ready.pop();
    if (path === undefined) throw new RangeError("no pipe is ready");
    return path;
  }

  async #fill(): Promise<void> {
    const prefix = join(this.#dir, randomBytes(6).toString("hex"));
    const paths = Array.from({ length: BATCH }, (_, index) => `${prefix}-${index}`);
    await promisify(execFile)("mkfifo", ["-m", "600", ...paths]);
    this.#ready.push(...paths);
  }
}
