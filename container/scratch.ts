/** An execution's own writable folder: input files, output files, temporary files. It is removed with the execution. */
import { randomBytes } from "node:crypto";
import { type BigIntStats, lstatSync, mkdirSync, renameSync, rmdirSync } from "node:fs";
import { chmod, chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, log, reasonOf } from "./log.ts";
import { removeTree, Tree } from "./tree.ts";

export interface Scratch {
  /** `TMPDIR` */
  dir: string;
  inputDir: string;
  outputDir: string;
  outputFile: string;
  /** The content of `dir`, as the runner sees it; processes may replace anything in it. */
  tree: Tree;
  /** The stats of its folders before the execution. */
  stats: readonly BigIntStats[];
  /** When it became ready, and when an execution got it, in ms. */
  readyAt: number;
  takenAt: number;
}

/** The folders of a scratch folder, and the name of the output file. */
export const INPUT = "in";
export const OUTPUT = "out";
export const OUTPUT_FILE = "output";

/** Folders that are ready before the executions that use them: at least and at most. */
const STOCK = 16;
const MOST_READY = 64;
/** File systems count the times of changes in steps of at most this length, in ms. */
const CHANGE_STEP_MS = 20;
/** The runner gets access to nested folders some levels at a time (programs/cleanup.py). */
const MOST_OPENINGS = 100;

/**
 * Where processes have a uid of their own, no folder is used twice: a process that outlived its execution could reach the
 * files of another one, and another execution could watch the inode of a folder that it knows. Where processes have the
 * runner's uid, and can reach everything of each other anyway, a folder is used again under a new name if certainly none
 * of its processes is left and none of them changed anything in it; times and inodes show that. Folders are made in
 * advance, since on common file systems making and removing three folders takes as long as starting a small process.
 * Single folders are made and removed synchronously: passing such a call to a thread costs more than the call itself.
 */
export class ScratchRoot {
  readonly #root: string;
  readonly #group: number | null;
  readonly #openTree: (path: string) => Promise<void>;
  /** The mode of every folder of an execution. */
  readonly #mode: number;
  readonly #ready: Scratch[] = [];
  readonly #removals = new Set<Promise<void>>();
  #making: NodeJS.Immediate | null = null;

  /** `group`: the group of processes that run with another uid. `openTree` gives the runner access to what they left. */
  constructor(root: string, group: number | null, openTree: (path: string) => Promise<void>) {
    this.#root = root;
    this.#group = group;
    this.#openTree = openTree;
    this.#mode = group === null ? 0o700 : 0o2770;
  }

  /** Makes the root, removes what an earlier runner left, and makes the first folders. */
  async prepare(): Promise<void> {
    await this.#removeAll(this.#root);
    await makeFolder(this.#root, this.#group);
    while (this.#ready.length < STOCK) this.#ready.push(this.#make());
  }

  /** An empty folder for one execution. */
  create(): Scratch {
    const scratch = this.#ready.shift() ?? this.#make();
    scratch.takenAt = Date.now();
    if (this.#ready.length < STOCK) this.#making ??= setImmediate(() => this.#restock());
    return scratch;
  }

  /**
   * Removes an execution's folder immediately, or keeps it for another one; call it when the execution's processes have
   * ended. @param gone whether certainly none of them is left
   */
  release(scratch: Scratch, gone: boolean): void {
    const fits = gone && this.#group === null && this.#ready.length < MOST_READY;
    if ((fits && isUnchanged(scratch) && this.#reuse(scratch)) || removeEmpty(scratch)) return;
    const removal = this.#removeAll(scratch.dir).finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  /** Removes everything, and resolves when done. */
  async close(): Promise<void> {
    if (this.#making !== null) clearImmediate(this.#making);
    await Promise.all(this.#removals);
    await this.#removeAll(this.#root);
  }

  /** Makes one folder in each turn of the event loop, so that no execution waits for several. */
  #restock(): void {
    this.#making = null;
    try {
      this.#ready.push(this.#make());
    } catch (error) {
      // The next execution makes its own folder, and reports why it cannot.
      log("error", "scratch_not_made", { reason: reasonOf(error) });
      return;
    }
    if (this.#ready.length < STOCK) this.#making = setImmediate(() => this.#restock());
  }

  #make(): Scratch {
    const dir = this.#newPath();
    // With a group, the folder inherits the bit that passes the group on from the root.
    for (const path of foldersOf(dir)) mkdirSync(path, this.#mode & 0o777);
    return this.#scratchAt(dir);
  }

  /** Gives an unchanged folder a name that no process knows; false: the file system refuses. */
  #reuse({ dir: old }: Scratch): boolean {
    const dir = this.#newPath();
    try {
      renameSync(old, dir);
      this.#ready.push(this.#scratchAt(dir));
      return true;
    } catch {
      return false;
    }
  }

  #newPath(): string {
    return join(this.#root, randomBytes(16).toString("hex"));
  }

  #scratchAt(dir: string): Scratch {
    return {
      dir,
      inputDir: join(dir, INPUT),
      outputDir: join(dir, OUTPUT),
      outputFile: join(dir, OUTPUT_FILE),
      tree: new Tree(dir, this.#group),
      stats: statsOf(dir),
      readyAt: Date.now(),
      takenAt: 0,
    };
  }

  /** What another user keeps from the runner stays. */
  async #removeAll(path: string): Promise<void> {
    for (let openings = 1; ; openings += 1) {
      if (this.#group !== null) await this.#openTree(path);
      try {
        return await removeTree(path);
      } catch (error) {
        if (codeOf(error) === "EACCES" && openings < MOST_OPENINGS) continue;
        log("error", "scratch_not_removed", { reason: reasonOf(error) });
        return;
      }
    }
  }
}

/** Removes a folder in the state in which most executions leave it; false: it contains more, or has changed. */
function removeEmpty({ dir }: Scratch): boolean {
  try {
    for (const path of foldersOf(dir).reverse()) rmdirSync(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether nothing in a folder was changed since an execution got it: no entry, mode or attribute. An earlier change of
 * the runner's own must lie a step back, so that each later one shows.
 */
function isUnchanged({ dir, stats, readyAt, takenAt }: Scratch): boolean {
  if (takenAt - readyAt < CHANGE_STEP_MS) return false;
  try {
    return statsOf(dir).every(
      (now, i) => now.ino === stats[i]?.ino && now.dev === stats[i].dev && now.ctimeNs === stats[i].ctimeNs,
    );
  } catch {
    return false;
  }
}

const foldersOf = (dir: string): string[] => [dir, join(dir, INPUT), join(dir, OUTPUT)];

const statsOf = (dir: string): BigIntStats[] =>
  foldersOf(dir).map((path) => lstatSync(path, { bigint: true }));

/** Makes a folder for the runner alone, or one that `group` may enter, but not list, and that passes its group on. */
export async function makeFolder(path: string, group: number | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (group === null) return;
  await chown(path, -1, group);
  await chmod(path, 0o2710);
}
