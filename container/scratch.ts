/** An execution's own writable folder: input files, output files, temporary files. Gone when the execution is. */
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync } from "node:fs";
import { chmod, chown, lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { log, reasonOf } from "./log.ts";

export interface Scratch {
  /** `TMPDIR` */
  dir: string;
  inputDir: string;
  outputDir: string;
  outputFile: string;
}

/**
 * Folders that an execution left untouched serve again: on common file systems making and removing three folders costs
 * half of what starting a small process does. They rest first, until every process of that execution is surely gone.
 */
const REST_MS = 500;
const MAX_READY = 512;

export class ScratchRoot {
  readonly #root: string;
  readonly #group: number | null;
  readonly #openTree: (path: string) => Promise<void>;
  /** Of every folder of an execution. */
  readonly #mode: number;
  readonly #removals = new Set<Promise<void>>();
  #ready: Scratch[] = [];
  #resting: { scratch: Scratch; since: number }[] = [];
  #timer: NodeJS.Timeout | undefined;

  /**
   * `group`: processes run as another uid, in this group. `openTree` gives the runner access to what they left.
   */
  constructor(root: string, group: number | null, openTree: (path: string) => Promise<void>) {
    this.#root = root;
    this.#group = group;
    this.#openTree = openTree;
    this.#mode = group === null ? 0o700 : 0o2770;
  }

  /** Makes the root and clears what an earlier runner left. */
  async prepare(): Promise<void> {
    await this.#removeAll(this.#root);
    await makeFolder(this.#root, this.#group);
  }

  /** An empty folder for one execution. */
  create(): Scratch {
    const ready = this.#ready.pop();
    if (ready !== undefined) return ready;
    const dir = join(this.#root, randomBytes(8).toString("hex"));
    const scratch = {
      dir,
      inputDir: join(dir, "in"),
      outputDir: join(dir, "out"),
      outputFile: join(dir, "output"),
    };
    // With a group, the bit that hands it on comes from the root.
    for (const path of [dir, scratch.inputDir, scratch.outputDir]) mkdirSync(path, this.#mode & 0o777);
    return scratch;
  }

  /** Takes a folder back when its execution has ended. What was left in it is removed right away. */
  release(scratch: Scratch): void {
    if (isUntouched(scratch, this.#mode)) {
      this.#resting.push({ scratch, since: performance.now() });
      this.#timer ??= setTimeout(() => this.#wake(), REST_MS).unref();
    } else this.#remove(scratch);
  }

  /** Removes everything, and resolves when that is done. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.all(this.#removals);
    await this.#removeAll(this.#root);
  }

  #wake(): void {
    const rested = performance.now() - REST_MS;
    const count = this.#resting.filter(({ since }) => since <= rested).length;
    for (const { scratch } of this.#resting.splice(0, count)) {
      // Looked at again: a process that outlived its execution may have written meanwhile.
      if (this.#ready.length < MAX_READY && isUntouched(scratch, this.#mode)) this.#ready.push(scratch);
      else this.#remove(scratch);
    }
    this.#timer =
      this.#resting.length === 0 ? undefined : setTimeout(() => this.#wake(), REST_MS / 4).unref();
  }

  #remove(scratch: Scratch): void {
    const removal = this.#removeAll(scratch.dir)
      .catch((error: unknown) => log("error", "scratch_not_removed", { reason: reasonOf(error) }))
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  async #removeAll(path: string): Promise<void> {
    if (this.#group !== null) await this.#openTree(path);
    await removeTree(path);
  }
}

/** Nothing in it, and still as open as it was made. */
function isUntouched({ dir, inputDir, outputDir }: Scratch, mode: number): boolean {
  try {
    const closed = [dir, inputDir, outputDir].every((path) => (lstatSync(path).mode & 0o7777) === mode);
    return (
      closed &&
      readdirSync(dir).length === 2 &&
      [inputDir, outputDir].every((p) => readdirSync(p).length === 0)
    );
  } catch {
    return false;
  }
}

/** Makes a folder for the runner alone, or one that `group` may enter, but not list, and that hands its group on. */
export async function makeFolder(path: string, group: number | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (group === null) return;
  await chown(path, -1, group);
  await chmod(path, 0o2710);
}

/** Removes a tree, also one whose folders were made unwritable. Symlinks are removed, never followed. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    await makeRemovable(path);
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  }
}

/** Of what it cannot change the removal tells; some of it may be gone, since a removal that fails is still under way. */
async function makeRemovable(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => null);
  if (!stats?.isDirectory()) return;
  await chmod(path, 0o700).catch(() => {});
  for (const name of await readdir(path).catch(() => [])) await makeRemovable(join(path, name));
}
