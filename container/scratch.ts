/** An execution's own writable folder: input files, output files, temporary files. It is removed with the execution. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { chmod, chown, mkdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, log, reasonOf } from "./log.ts";
import { removeTree, Tree } from "./tree.ts";

export interface Scratch {
  /** `TMPDIR` */
  dir: string;
  inputDir: string;
  outputDir: string;
  outputFile: string;
  /** The content of `dir`, for the runner: processes may replace anything in it. */
  tree: Tree;
}

/** The folders of a scratch folder, and the name of the output file. */
export const INPUT = "in";
export const OUTPUT = "out";
export const OUTPUT_FILE = "output";

/** Folders to make at a time ahead of their executions, and the number below which the next batch is made. */
const BATCH = 32;
const LOW = 16;
/** Folders are opened to the runner some levels at a time (programs/cleanup.py). */
const MOST_OPENINGS = 100;

/**
 * No folder is used twice: a process that outlived its execution could reach that of another one. They are made ahead,
 * since on common file systems making three folders takes a large part of the time that starting a small process takes.
 */
export class ScratchRoot {
  readonly #root: string;
  readonly #group: number | null;
  readonly #openTree: (path: string) => Promise<void>;
  /** Of every folder of an execution. */
  readonly #mode: number;
  readonly #ready: Scratch[] = [];
  readonly #removals = new Set<Promise<void>>();
  #refill: Promise<void> | null = null;
  #closed = false;

  /** `group`: processes run as another uid, in this group. `openTree` gives the runner access to what they left. */
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
    await this.#fill();
  }

  /** An empty folder for one execution, never used for another. */
  create(): Scratch {
    const ready = this.#ready.pop();
    if (this.#ready.length < LOW && !this.#closed) {
      this.#refill ??= this.#fill()
        .catch((error: unknown) => log("error", "scratch_not_made", { reason: reasonOf(error) }))
        .finally(() => {
          this.#refill = null;
        });
    }
    if (ready !== undefined) return ready;
    const scratch = this.#plan();
    for (const path of foldersOf(scratch)) mkdirSync(path, this.#mode & 0o777);
    return scratch;
  }

  /** Takes a folder back when the processes of its execution have ended. It is removed immediately. */
  release(scratch: Scratch): void {
    const removal = removeEmpty(scratch)
      .catch(() => this.#removeAll(scratch.dir))
      .catch((error: unknown) => log("error", "scratch_not_removed", { reason: reasonOf(error) }))
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  /** Removes everything, and resolves when done. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#refill;
    await Promise.all(this.#removals);
    await this.#removeAll(this.#root);
  }

  #plan(): Scratch {
    const dir = join(this.#root, randomBytes(16).toString("hex"));
    return {
      dir,
      inputDir: join(dir, INPUT),
      outputDir: join(dir, OUTPUT),
      outputFile: join(dir, OUTPUT_FILE),
      tree: new Tree(dir, this.#mode),
    };
  }

  async #fill(): Promise<void> {
    const made = Array.from({ length: BATCH }, () => this.#plan());
    await Promise.all(
      made.map(async (scratch) => {
        // With a group, the bit that passes it on comes from the root.
        for (const path of foldersOf(scratch)) await mkdir(path, this.#mode & 0o777);
      }),
    );
    this.#ready.push(...made);
  }

  async #removeAll(path: string): Promise<void> {
    for (let openings = 1; ; openings += 1) {
      if (this.#group !== null) await this.#openTree(path);
      try {
        return await removeTree(path);
      } catch (error) {
        if (codeOf(error) !== "EACCES" || openings === MOST_OPENINGS) throw error;
      }
    }
  }
}

/** For the state in which most executions leave it: three calls instead of a walk. Throws if something is in it. */
async function removeEmpty({ dir, inputDir, outputDir }: Scratch): Promise<void> {
  await Promise.all([rmdir(inputDir), rmdir(outputDir)]);
  await rmdir(dir);
}

const foldersOf = ({ dir, inputDir, outputDir }: Scratch): string[] => [dir, inputDir, outputDir];

/** Makes a folder for the runner alone, or one that `group` may enter, but not list, and that passes its group on. */
export async function makeFolder(path: string, group: number | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (group === null) return;
  await chown(path, -1, group);
  await chmod(path, 0o2710);
}
