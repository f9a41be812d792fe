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
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { log, reasonOf } from "./log.ts";
import { makeFolder } from "./scratch.ts";
import { removeTree } from "./tree.ts";

/** The most folders to make at a time; the first batches are smaller. */
const BATCH = 256;
const FIRST_BATCH = 4;

/**
 * The FIFOs of a folder. `USUAL`: for every execution; `ALL`: for one whose stdin is a pipe or whose process has a gate.
 */
const USUAL = ["stdout", "stderr"] as const;
const ALL = [...USUAL, "stdin", "gate"] as const;

/** Folders that are no longer needed are removed together after this time, in ms. */
const REMOVAL_MS = 10;

export interface Pipe {
  path: string;
  /** The runner's end. */
  own: Socket;
}

/** A FIFO that makes a process wait. */
export interface Gate {
  path: string;
  /** Lets the process continue. If the gate is dropped instead, the process reads an end of file. */
  open(): void;
}

export class Pipes {
  readonly dir: string;
  readonly #group: number | null;
  readonly #mode: number;
  readonly #usual: Stock;
  readonly #all: Stock;
  /** Folders whose processes have opened their pipes. */
  #used: ExecutionPipes[] = [];
  #removing: NodeJS.Timeout | undefined;

  /** `group`: the group that also opens the pipes, if processes have another uid. */
  constructor(dir: string, group: number | null) {
    this.dir = dir;
    this.#group = group;
    this.#mode = group === null ? 0o600 : 0o660;
    this.#usual = new Stock(this, USUAL);
    this.#all = new Stock(this, ALL);
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

  /** Removes what an earlier runner left and makes the first folders, by one process. */
  async prepare(): Promise<void> {
    await removeTree(this.dir);
    await makeFolder(this.dir, this.#group);
    const [usual, all] = [this.#folders(FIRST_BATCH), this.#folders(FIRST_BATCH)];
    await this.#makeIn([usual, USUAL], [all, ALL]);
    this.#usual.add(usual);
    this.#all.add(all);
  }

  /** Whether `take` can be called now; if not, wait for `more()`. */
  get ready(): boolean {
    return this.#usual.ready && this.#all.ready;
  }

  async more(): Promise<void> {
    await Promise.all([this.#usual.more(), this.#all.more()]);
  }

  /** The pipes of one execution. @param all whether it needs a pipe for stdin, or a gate */
  take(all: boolean): ExecutionPipes {
    const stock = all ? this.#all : this.#usual;
    return new ExecutionPipes(stock.take(), stock.names, this.#mode, (used) => this.#release(used));
  }

  /** Makes folders with FIFOs of these names. */
  async make(count: number, names: readonly string[]): Promise<string[]> {
    const dirs = this.#folders(count);
    await this.#makeIn([dirs, names]);
    return dirs;
  }

  /** Removes unused folders. */
  async close(): Promise<void> {
    await Promise.all([this.#usual.settled(), this.#all.settled()]);
    clearTimeout(this.#removing);
    await removeTree(this.dir);
  }

  #folders(count: number): string[] {
    const dirs = Array.from({ length: count }, () => join(this.dir, randomBytes(16).toString("hex")));
    // The group, and the bit that passes it on, come from the parent.
    for (const dir of dirs) mkdirSync(dir, { mode: this.#group === null ? 0o700 : 0o710 });
    return dirs;
  }

  /** Makes FIFOs of these names in each of these folders. */
  async #makeIn(...fifos: [dirs: string[], names: readonly string[]][]): Promise<void> {
    const paths = fifos.flatMap(([dirs, names]) =>
      dirs.flatMap((dir) => names.map((name) => join(dir, name))),
    );
    await promisify(execFile)("mkfifo", ["-m", this.#mode.toString(8), ...paths]);
  }

  /**
   * Removes folders later, since nobody waits for it: those of several executions together, when their processes have
   * started. Passing each call to a thread would cost more than the call itself.
   */
  #release(used: ExecutionPipes): void {
    this.#used.push(used);
    this.#removing ??= setTimeout(() => {
      this.#removing = undefined;
      for (const pipes of this.#used.splice(0)) {
        try {
          pipes.remove();
        } catch (error) {
          log("error", "pipes_not_removed", { reason: reasonOf(error) });
        }
      }
    }, REMOVAL_MS);
  }
}

/** Folders of one kind that are made ahead. */
class Stock {
  readonly names: readonly string[];
  readonly #pipes: Pipes;
  readonly #ready: string[] = [];
  #batch = FIRST_BATCH;
  #refill: Promise<void> | null = null;

  constructor(pipes: Pipes, names: readonly string[]) {
    this.#pipes = pipes;
    this.names = names;
  }

  get ready(): boolean {
    if (this.#ready.length < this.#batch / 2) void this.more().catch(() => {});
    return this.#ready.length > 0;
  }

  take(): string {
    const dir = this.#ready.pop();
    if (dir === undefined) throw new RangeError("no pipes are ready");
    return dir;
  }

  /** Adds a batch of new folders. */
  add(dirs: readonly string[]): void {
    this.#ready.push(...dirs);
    this.#batch = Math.min(BATCH, this.#batch * 2);
  }

  /** Makes the next batch. */
  more(): Promise<void> {
    this.#refill ??= this.#fill().finally(() => {
      this.#refill = null;
    });
    return this.#refill;
  }

  /** Waits until the current batch is made. */
  async settled(): Promise<void> {
    await this.#refill?.catch(() => {});
  }

  async #fill(): Promise<void> {
    // At most half of the batch is left.
    this.add(await this.#pipes.make(this.#batch, this.names));
  }
}

export class ExecutionPipes {
  readonly dir: string;
  /** The names of FIFOs in the folder. */
  readonly #names: readonly string[];
  readonly #files: string[] = [];
  readonly #mode: number;
  readonly #onDropped: (pipes: ExecutionPipes) => void;
  /** Open at both ends, so that opening a FIFO never waits. */
  readonly #held: number[] = [];
  #dropped = false;

  constructor(
    dir: string,
    names: readonly string[],
    mode: number,
    onDropped: (pipes: ExecutionPipes) => void,
  ) {
    this.dir = dir;
    this.#names = names;
    this.#mode = mode;
    this.#onDropped = onDropped;
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
   * A file with these bytes, for example a short stdin. A short input is not piped: once its writer has finished,
   * opening `/dev/stdin` would wait forever for another writer.
   */
  file(name: "input" | "call", bytes: Uint8Array): string {
    const path = join(this.dir, name);
    this.#files.push(path);
    writeFileSync(path, bytes, { flag: "wx", mode: this.#mode });
    return path;
  }

  /** Removes the names. Call it once the process has opened what it needs, or never will. Further calls do nothing. */
  drop(): void {
    if (this.#dropped) return;
    this.#dropped = true;
    for (const fd of this.#held) closeSync(fd);
    this.#onDropped(this);
  }

  /** Only the runner makes files here, so their names are known. */
  remove(): void {
    for (const name of this.#names) unlinkSync(join(this.dir, name));
    // The disk may have refused a file.
    for (const path of this.#files) rmSync(path, { force: true });
    rmdirSync(this.dir);
  }

  #hold(name: (typeof ALL)[number]): string {
    const path = join(this.dir, name);
    this.#held.push(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    return path;
  }
}
