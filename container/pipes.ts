/**
 * Pipes for the standard streams of processes. Node's own "pipe" is a socket pair, on which a process cannot open
 * `/dev/stdin`, `/dev/stdout` or `/dev/stderr` (ENXIO); scripts do that every day. So each stream is a FIFO, made
 * ahead in batches and without a name once it is open.
 */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { accessSync, closeSync, constants, openSync, unlinkSync, writeFileSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeFolder, removeTree } from "./scratch.ts";

/** FIFOs made by one start of `mkfifo`, and the number below which the next batch is made. */
const BATCH = 256;
const LOW = 128;

/** Something a process opens by its path. */
export interface Named {
  path: string;
  /** To be called once the process has opened it, or never will. Further calls do nothing. */
  unname(): void;
}

export interface Pipe extends Named {
  /** The runner's end. */
  own: Socket;
}

/** A FIFO that lets a process wait. */
export interface Gate extends Named {
  /** Lets it go on; without this it reads the end of the file. */
  open(): void;
}

export class Pipes {
  readonly dir: string;
  readonly #group: number | null;
  readonly #mode: number;
  readonly #ready: string[] = [];
  #refill: Promise<void> | null = null;
  /** Nobody who is not told knows the name of a file: it can hold what its process alone is given. */
  readonly #secret = randomBytes(12).toString("hex");
  #files = 0;

  /** `group`: who opens the pipes too, when that is another uid. */
  constructor(dir: string, group: number | null) {
    this.dir = dir;
    this.#group = group;
    this.#mode = group === null ? 0o600 : 0o660;
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
    await removeTree(this.dir);
    await makeFolder(this.dir, this.#group);
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
    await removeTree(this.dir);
  }

  /** A pipe from the process to the runner. */
  output(): Pipe {
    const fifo = this.#take();
    const own = openSync(fifo.path, constants.O_RDONLY | constants.O_NONBLOCK);
    return { ...fifo, own: new Socket({ fd: own, readable: true, writable: false }) };
  }

  /**
   * A stdin that holds these bytes: a file. A short input is not piped: once its writer was done, opening `/dev/stdin`
   * would wait for another writer for ever.
   */
  file(bytes: Uint8Array): Named {
    this.#files += 1;
    const path = join(this.dir, `stdin-${this.#secret}-${this.#files}`);
    writeFileSync(path, bytes, { flag: "wx", mode: this.#mode });
    return { path, unname: once(() => unlinkSync(path)) };
  }

  /** A pipe from the runner to the process, for an input longer than the pipe holds. */
  input(): Pipe {
    const fifo = this.#take();
    const own = openSync(fifo.path, constants.O_WRONLY | constants.O_NONBLOCK);
    return { ...fifo, own: new Socket({ fd: own, readable: false, writable: true }) };
  }

  gate(): Gate {
    const fifo = this.#take();
    const own = openSync(fifo.path, constants.O_WRONLY | constants.O_NONBLOCK);
    return {
      path: fifo.path,
      open: () => writeSync(own, "g"),
      unname: once(() => {
        closeSync(own);
        fifo.unname();
      }),
    };
  }

  /** A FIFO held open at both ends, so that nobody who opens it has to wait, until its name is gone. */
  #take(): Named {
    const path = this.#ready.pop();
    if (path === undefined) throw new RangeError("no pipe is ready");
    const held = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const unname = once(() => {
      closeSync(held);
      unlinkSync(path);
    });
    return { path, unname };
  }

  async #fill(): Promise<void> {
    const prefix = join(this.dir, randomBytes(6).toString("hex"));
    const paths = Array.from({ length: BATCH }, (_, index) => `${prefix}-${index}`);
    await promisify(execFile)("mkfifo", ["-m", this.#mode.toString(8), ...paths]);
    this.#ready.push(...paths);
  }
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}
