/**
 * Puts skills' files where commands find them: in one parent folder for each session or set of skills, under the names
 * that the skills have there, so that a path from one skill to another works. Processes with a uid of their own cannot
 * change the files. If one with the runner's uid changes them, the runner restores them before the next run.
 */
import { chmod, copyFile, link, mkdir, readdir, readlink, rename, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ExecutionSpec } from "../src/tool/protocol.ts";
import { type Bundles, stateOf } from "./bundles.ts";
import { log, reasonOf } from "./log.ts";
import { Refused } from "./refusal.ts";
import { makeFolder } from "./scratch.ts";
import { removeTree } from "./tree.ts";

type Wanted = NonNullable<ExecutionSpec["skills"]>;

/** A set is removed after this long without an execution. */
const IDLE_MS = 1_800_000;
const EXPIRY_INTERVAL_MS = 60_000;
/** The most unused sets to keep. */
const MOST_RESTING = 64;

interface SkillSet {
  dir: string;
  /** The skills by their names in the folder. */
  skills: Map<string, { digest: string; mark: string | null }>;
  users: number;
  used: number;
  /** The last run before which the set was checked. */
  run: string;
  queue: Promise<unknown>;
}

export class SkillFolders {
  readonly #root: string;
  readonly #bundles: Bundles;
  readonly #group: number | null;
  readonly #sets = new Map<string, SkillSet>();
  #count = 0;
  #expiry: NodeJS.Timeout | undefined;

  /** `group`: the group of processes that run with another uid, and cannot change what the runner made. */
  constructor(root: string, bundles: Bundles, group: number | null) {
    this.#root = root;
    this.#bundles = bundles;
    this.#group = group;
  }

  /** Makes the root and removes what an earlier runner left. */
  async prepare(): Promise<void> {
    await removeTree(this.#root);
    await makeFolder(this.#root, this.#group);
    this.#expiry = setInterval(() => this.#expire(), EXPIRY_INTERVAL_MS).unref();
  }

  /** Removes everything, and resolves when done. */
  async close(): Promise<void> {
    clearInterval(this.#expiry);
    await Promise.all(Array.from(this.#sets.values(), ({ queue }) => queue));
    await removeTree(this.#root);
  }

  /**
   * Keeps the set and its bundles until `release`. @throws Refused 424 `bundle_missing`, which names the bundle
   */
  use({ key, list }: Wanted): void {
    const taken: string[] = [];
    for (const { digest } of list) {
      if (this.#bundles.useSkill(digest) === null) {
        for (const one of taken) this.#bundles.release(one);
        throw new Refused("bundle_missing", "The runner lacks the files of a skill.", { digest });
      }
      taken.push(digest);
    }
    let set = this.#sets.get(key);
    if (set === undefined) {
      const dir = join(this.#root, key);
      set = { dir, skills: new Map(), users: 0, used: 0, run: "", queue: Promise.resolve() };
      this.#sets.set(key, set);
    }
    set.users += 1;
  }

  release({ key, list }: Wanted): void {
    for (const { digest } of list) this.#bundles.release(digest);
    const set = this.#sets.get(key);
    if (set === undefined) return;
    set.users -= 1;
    set.used = performance.now();
  }

  /** Puts the set's skills into its folder; returns the folder. @param run that the execution belongs to */
  async ready({ key, list }: Wanted, run: string): Promise<string> {
    const set = this.#sets.get(key);
    if (set === undefined) throw new Refused("internal", "The set of skills is not in use.");
    const turn = set.queue.then(() => this.#hold(set, list, run));
    set.queue = turn.catch(() => {});
    await turn;
    return set.dir;
  }

  async #hold(set: SkillSet, list: Wanted["list"], run: string): Promise<void> {
    await makeFolder(set.dir, this.#group);
    const looks = this.#group === null && set.run !== run;
    for (const { name, digest } of list) {
      const known = set.skills.get(name);
      const path = join(set.dir, name);
      if (known?.digest === digest && (!looks || known.mark === stateOf(path))) continue;
      set.skills.delete(name);
      await this.#make(path, digest);
      set.skills.set(name, { digest, mark: this.#group === null ? stateOf(path) : "" });
    }
    set.run = run;
  }

  /** Puts a bundle's files at a path, and replaces what is there. */
  async #make(path: string, digest: string): Promise<void> {
    const work = join(this.#root, `.${process.pid}-${this.#count++}`);
    const bundle = this.#bundles.folderOf(digest);
    if (bundle === null) throw new Refused("bundle_missing", "The files of a skill are gone.", { digest });
    await removeTree(work);
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await this.#copy(bundle, work);
    // Another run may read the old files until the new ones are in their place.
    const old = join(dirname(path), `.old-${process.pid}-${this.#count++}`);
    await rename(path, old).catch(() => removeTree(path));
    await rename(work, path);
    await removeTree(old);
  }

  /** Copies with the owner's right to write, since `cp` gives the modes of a skill's files to their copies. */
  async #copy(from: string, to: string): Promise<void> {
    await mkdir(to);
    await chmod(to, 0o755);
    for (const entry of await readdir(from, { withFileTypes: true })) {
      const [source, target] = [join(from, entry.name), join(to, entry.name)];
      if (entry.isDirectory()) await this.#copy(source, target);
      else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
      // With the runner's own uid, a process could change the bundle through a link, so its files are copied.
      else if (this.#group === null) {
        await copyFile(source, target);
        await chmod(target, (await stat(source)).mode | 0o200);
      } else await link(source, target).catch(() => copyFile(source, target));
    }
  }

  #expire(): void {
    const now = performance.now();
    const resting = [...this.#sets].filter(([, { users }]) => users === 0);
    resting.sort(([, a], [, b]) => b.used - a.used);
    for (const [index, [key, set]] of resting.entries()) {
      if (index < MOST_RESTING && now - set.used <= IDLE_MS) continue;
      this.#sets.delete(key);
      const trash = join(this.#root, `.${process.pid}-${this.#count++}`);
      void rename(set.dir, trash)
        .then(() => removeTree(trash))
        .catch((error: unknown) => log("error", "skills_not_removed", { reason: reasonOf(error) }));
    }
  }
}
