/**
 * Skills' files by digest: verified, unpacked once, read-only; the least recently used are removed first. Processes with
 * a uid of their own cannot change what the runner owns, so its owner keeps the right to write, and with it the owner of
 * a copy. Without such a uid the modes forbid changes; at the next use of a bundle that was changed nevertheless, the
 * runner reports it as missing, and the Worker sends it again.
 */
import { createHash, randomBytes } from "node:crypto";
import { createWriteStream, lstatSync, readdirSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { TarError } from "../src/skill/tar.ts";
import { log, reasonOf } from "./log.ts";
import { Refused } from "./refusal.ts";
import { makeFolder } from "./scratch.ts";
import { removeTree } from "./tree.ts";
import { unpackTar } from "./untar.ts";

/** Largest accepted tar. */
export const MAX_TAR_BYTES = 512 * 1024 * 1024;

interface Bundle {
  dir: string;
  bytes: number;
  /** Number of running executions that use the bundle; while there are any, it is not removed. */
  users: number;
  /** The bundle's state after unpacking (`stateOf`); `""`: unknown, or no process can change it. */
  state: string;
  /** The runner found the bundle's files changed. */
  changed: boolean;
  /** Old folders of the bundle, replaced by a fresh one; executions may still use them. */
  replaced: string[];
}

export class Bundles {
  readonly #root: string;
  readonly #limit: number;
  readonly #group: number | null;
  /** Least recently used first. */
  readonly #bundles = new Map<string, Bundle>();
  readonly #arriving = new Map<string, Promise<void>>();
  #bytes = 0;

  /**
   * `limit`: the most bytes of disk for unpacked bundles; `group`: the group that reads them, if processes have another
   * uid.
   */
  constructor(root: string, limit: number, group: number | null) {
    this.#group = group;
    this.#root = root;
    this.#limit = limit;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The largest tar for which there is room. */
  get largest(): number {
    return Math.min(MAX_TAR_BYTES, this.#limit);
  }

  get count(): number {
    return this.#bundles.size;
  }

  /**
   * Finds the bundles of an earlier runner. The runner writes `<digest>.size` last, so a bundle without it is
   * unfinished.
   */
  async prepare(): Promise<void> {
    await makeFolder(this.#root, this.#group);
    const names = await readdir(this.#root);
    const found: { digest: string; bytes: number; state: string; used: number }[] = [];
    for (const name of names) {
      const digest = /^([0-9a-f]{64})\.size$/.exec(name)?.[1];
      if (digest === undefined || !names.includes(digest)) continue;
      const path = join(this.#root, name);
      const [bytes, state = ""] = (await readFile(path, "utf8")).split(" ");
      // If the machine stopped, the file may be empty, and files of the bundle may be, too.
      if (bytes === "") continue;
      found.push({ digest, bytes: Number(bytes), state, used: (await stat(path)).mtimeMs });
    }
    const kept = new Set(found.flatMap(({ digest }) => [digest, `${digest}.size`]));
    for (const name of names) if (!kept.has(name)) await removeTree(join(this.#root, name));
    for (const { digest, bytes, state } of found.sort((a, b) => a.used - b.used))
      this.#add(digest, bytes, state);
  }

  /**
   * The unpacked folder of a skill's bundle, kept until `release`; null if the bundle is missing or its files have
   * changed. Packages are used without this check: Python writes compiled files into them, and installing them again
   * takes long.
   */
  useSkill(digest: string): string | null {
    const bundle = this.#bundles.get(digest);
    if (bundle !== undefined && this.#group === null && bundle.state !== stateOf(bundle.dir)) {
      // The next `receive` replaces it.
      bundle.changed = true;
      log("warn", "bundle_changed", { digest });
      return null;
    }
    return this.use(digest);
  }

  /** The unpacked folder of a bundle, kept until `release`; null if the bundle is missing. */
  use(digest: string): string | null {
    const bundle = this.#bundles.get(digest);
    if (bundle === undefined) return null;
    bundle.users += 1;
    this.#bundles.delete(digest);
    this.#bundles.set(digest, bundle);
    return bundle.dir;
  }

  /** The folder of a bundle in use. */
  folderOf(digest: string): string | null {
    return this.#bundles.get(digest)?.dir ?? null;
  }

  release(digest: string): void {
    const bundle = this.#bundles.get(digest);
    if (bundle === undefined) return;
    bundle.users -= 1;
    if (bundle.users === 0) for (const dir of bundle.replaced.splice(0)) void this.#clear(digest, dir);
  }

  /**
   * Receives a bundle's tar. If the bundle is here, or another request is receiving it, the tar is not read again.
   * @throws Refused 422 `bundle_invalid`
   */
  async receive(digest: string, tar: Readable): Promise<void> {
    if (this.#bundles.get(digest)?.changed === false) {
      tar.resume();
      return;
    }
    const arriving = this.#arriving.get(digest);
    if (arriving !== undefined) {
      tar.resume();
      return arriving.catch((error: unknown) => {
        if (error instanceof Refused) throw error;
        throw new Refused("bundle_missing", "The other transfer of this bundle failed.");
      });
    }
    const arrival = this.#take(digest, tar).finally(() => this.#arriving.delete(digest));
    this.#arriving.set(digest, arrival);
    return arrival;
  }

  async #take(digest: string, tar: Readable): Promise<void> {
    const work = join(this.#root, `.${randomBytes(8).toString("hex")}`);
    const tarPath = join(work, "tar");
    const unpacked = join(work, "files");
    await mkdir(unpacked, { recursive: true });
    const changed = this.#bundles.get(digest);
    // The old folder must not be removed while a fresh one takes its place.
    if (changed !== undefined) changed.users += 1;
    try {
      const hash = createHash("sha256");
      let size = 0;
      const check = async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
        for await (const chunk of source) {
          size += chunk.length;
          if (size > MAX_TAR_BYTES)
            throw new Refused("bundle_invalid", `The tar is over ${MAX_TAR_BYTES} bytes.`);
          hash.update(chunk);
          yield chunk;
        }
      };
      await pipeline(tar, check, createWriteStream(tarPath, { flags: "wx", mode: 0o600 }));
      if (hash.digest("hex") !== digest)
        throw new Refused("bundle_invalid", "The tar does not have this digest.");
      const mask = this.#group === null ? 0o555 : 0o755;
      const { bytes, folders } = await unpackTar(tarPath, unpacked, mask);
      for (const folder of folders) await chmod(join(unpacked, folder), mask);
      const dir = join(this.#root, digest);
      // The disk refused the `.size` of an earlier arrival.
      if (changed === undefined) await removeTree(dir);
      else {
        const trash = this.#trash();
        // A process may have removed the whole folder.
        await rename(dir, trash).then(
          () => changed.replaced.push(trash),
          () => removeTree(dir),
        );
      }
      await rename(unpacked, dir);
      await chmod(dir, mask);
      const state = (this.#group === null ? stateOf(dir) : null) ?? "";
      await writeFile(join(this.#root, `${digest}.size`), `${bytes} ${state}`);
      if (changed === undefined) this.#add(digest, bytes, state);
      else Object.assign(changed, { state, changed: false });
      log("info", "bundle_unpacked", { digest, bytes });
    } catch (error) {
      if (error instanceof TarError)
        throw new Refused("bundle_invalid", `The tar is refused: ${error.reason}.`);
      throw error;
    } finally {
      if (changed !== undefined) this.release(digest);
      await removeTree(work);
    }
    this.#shrink(digest);
  }

  #add(digest: string, bytes: number, state: string): void {
    const dir = join(this.#root, digest);
    this.#bundles.set(digest, { dir, bytes, users: 0, state, changed: false, replaced: [] });
    this.#bytes += bytes;
  }

  /**
   * Removes unused bundles while they take too many bytes, except `spare`, which has just arrived and is about to be
   * used.
   */
  #shrink(spare: string): void {
    for (const [digest, bundle] of this.#bundles) {
      if (this.#bytes <= this.#limit) return;
      if (bundle.users > 0 || digest === spare) continue;
      this.#bundles.delete(digest);
      this.#bytes -= bundle.bytes;
      void this.#remove(digest, bundle.dir);
    }
  }

  async #remove(digest: string, dir: string): Promise<void> {
    // Renamed first, so that the same bundle can arrive again while the old files are being removed.
    const trash = this.#trash();
    try {
      await rm(join(this.#root, `${digest}.size`), { force: true });
      await rename(dir, trash);
      await removeTree(trash);
    } catch (error) {
      log("error", "bundle_not_removed", { digest, reason: reasonOf(error) });
    }
  }

  /**
   * A path to which the runner renames a folder before removing it. If this runner does not get to it, the next one
   * removes it.
   */
  #trash(): string {
    return join(this.#root, `.${randomBytes(8).toString("hex")}`);
  }

  async #clear(digest: string, trash: string): Promise<void> {
    await removeTree(trash).catch((error: unknown) =>
      log("error", "bundle_not_removed", { digest, reason: reasonOf(error) }),
    );
  }

  /** Stores the order of use for the next runner. */
  async close(): Promise<void> {
    const now = Date.now() / 1000;
    let age = this.#bundles.size;
    for (const digest of this.#bundles.keys()) {
      await utimes(join(this.#root, `${digest}.size`), now, now - age).catch(() => {});
      age -= 1;
    }
  }
}

/**
 * A hash that changes with everything that a process writes below a folder, except Python's compiled files; `null` if
 * the folder cannot be read. It is synchronous, since a skill has few files and an answer waits for it.
 */
export function stateOf(folder: string): string | null {
  const hash = createHash("sha256");
  const look = (path: string): void => {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return;
    const { mode, size, mtimeNs, ctimeNs } = stats;
    hash.update(`${path}\0${mode}`);
    if (!stats.isDirectory()) hash.update(` ${size} ${mtimeNs} ${ctimeNs}`);
    else for (const name of readdirSync(path).sort()) if (name !== "__pycache__") look(join(path, name));
  };
  try {
    look(folder);
  } catch {
    return null;
  }
  return hash.digest("hex");
}
