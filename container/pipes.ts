/**
 * Pipes for the standard streams of processes. Node's own "pipe" is a socket pair, on which a process cannot open
 * `/dev/stdin`, `/dev/stdout` or `/dev/stderr` (ENXIO), though scripts often do. So each stream is a FIFO.
 *
 * Each execution has its own folder for them, under a name that nobody can guess. The folders are made ahead in batches
 * and never used twice. Their parent cannot be listed, and if Landlock isolates executions (programs/landlock.py), each
 * process reaches only its own folder.
 */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { accessSync, closeSync, constants, openSync, writeFileSync, writeSync } from "node:fs";
import { mkdir, rmdir, unlink } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { log, reasonOf } from "./log.ts";
import { makeFolder } from "./scratch.ts";
import { removeTree } from "./tree.ts";

/** Folders to make at a time, and the number below which the next batch is made. */
const BATCH = 64;
const LOW = 32;

const FIFOS = ["stdin", "stdout", "stderr", "gate"] as const;
const FILES = ["input", "call"] as const;

export interface Pipe {
  path: string;
  /** The runner's end. */
  own: Socket;
}

/** A FIFO that makes a process wait. */
export interface Gate {
  path: string;
  /** Lets it continue; if the gate is dropped instead, the process reads an end of file. */
  open(): void;
}

export class Pipes {
  readonly dir: string;
  readonly #group: number | null;
  readonly #mode: number;
  readonly #ready: string[] = [];
  readonly #removals = new Set<Promise<void>>();
  #refill: Promise<void> | null = null;

  /** `group`: the group that also opens the pipes, if that is another uid. */
  constructor(dir: string, group: number | null) {
    this.dir = dir;
    this.#group = group;
    this.#mode = group === null ? 0o600 : 0o660;
  }

  /**
   * The folder for pipes of the runner with this state folder. If Landlock isolates executions, it is in the state folder,
   * the only one that is closed to their processes. Otherwise it is on a file system in memory if there is one, since
   * making and removing a file on a disk can take as long as starting a process.
   */
  static directory(state: string, landlock: boolean): string {
    const shared = "/dev/shm";
    const inState = join(state, "pipes");
    if (landlock) return inState;
    try {
      accessSync(shared, constants.W_OK | constants.X_OK);
      return join(shared, `hull-${createHash("sha256").update(state).digest("hex").slice(0, 16)}`);
    } catch {
      return inState;
    }
  }

  /** Removes what an earlier runner left and makes the first batch. */
  async prepare(): Promise<void> {
    await removeTree(this.dir);
    await makeFolder(this.dir, this.#group);
    await this.#fill();
  }

  /** Whether `take` can be called now; if not, wait for `more()`. */
  get ready(): boolean {
    if (this.#ready.length < LOW) void this.more().catch(() => {});
    return this.#ready.length > 0;
  }

  more(): Promise<void> {
    this.#refill ??= this.#fill().finally(() => {
      this.#refill = null;
    });
    return this.#refill;
  }

  /** The pipes of one execution. */
  take(): ExecutionPipes {
    const dir = this.#ready.pop();
    if (dir === undefined) throw new RangeError("no pipes are ready");
    return new ExecutionPipes(dir, this.#mode, () => this.#remove(dir));
  }

  /** Removes unused folders. */
  async close(): Promise<void> {
    await this.#refill?.catch(() => {});
    await Promise.all(this.#removals);
    await removeTree(this.dir);
  }

  /** Nobody waits for it. */
  #remove(dir: string): void {
    const removal = removePipes(dir)
      .catch((error: unknown) => log("error", "pipes_not_removed", { reason: reasonOf(error) }))
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  async #fill(): Promise<void> {
    const dirs = Array.from({ length: BATCH }, () => join(this.dir, randomBytes(16).toString("hex")));
    // The group, and the bit that passes it on, come from the parent.
    await Promise.all(dirs.map((dir) => mkdir(dir, { mode: this.#group === null ? 0o700 : 0o710 })));
    const paths = dirs.flatMap((dir) => FIFOS.map((name) => join(dir, name)));
    await promisify(execFile)("mkfifo", ["-m", this.#mode.toString(8), ...paths]);
    this.#ready.push(...dirs);
  }
}

/** Only the runner makes files here, so their names are known. */
async function removePipes(dir: string): Promise<void> {
  await Promise.all(FIFOS.map((name) => unlink(join(dir, name))));
  // Not all of them exist.
  await Promise.allSettled(FILES.map((name) => unlink(join(dir, name))));
  await rmdir(dir);
}

class ExecutionPipes {
  readonly dir: string;
  readonly #mode: number;
  readonly #remove: () => void;
  /** Open at both ends, so that opening a FIFO never waits. */
  readonly #held: number[] = [];
  #dropped = false;

  constructor(dir: string, mode: number, remove: () => void) {
    this.dir = dir;
    this.#mode = mode;
    this.#remove = remove;
  }

  /** A pipe from the process to the runner. */
  output(name: "stdout" | "stderr"): Pipe {
    const path = this.#hold(name);
    const own = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return { path, own: new Socket({ fd: own, readable: true, writable: false }) };
  }

  /** A pipe from the runner to the process, for an input that exceeds the pipe's capacity. */
  input(): Pipe {
    const path = this.#hold("stdin");
    const own = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    return { path, own: new Socket({ fd: own, readable: false, writable: true }) };
  }

  gate(): Gate {
    const path = this.#hold("gate");
    const own = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    this.#held.push(own);
    return { path, open: () => writeSync(own, "g") };
  }

  /**
   * A file with these bytes, for example a short stdin. Such an input is not piped: after its writer has finished,
   * opening `/dev/stdin` would wait for another writer for ever.
   */
  file(name: (typeof FILES)[number], bytes: Uint8Array): string {
    const path = join(this.dir, name);
    writeFileSync(path, bytes, { flag: "wx", mode: this.#mode });
    return path;
  }

  /** Removes the names; call it once the process has opened what it needs, or never will. Further calls do nothing. */
  drop(): void {
    if (this.#dropped) return;
    this.#dropped = true;
    for (const fd of this.#held) closeSync(fd);
    this.#remove();
  }

  #hold(name: (typeof FIFOS)[number]): string {
    const path = join(this.dir, name);
    this.#held.push(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    return path;
  }
}
