/**
 * Files below a folder that processes can change at any moment. The runner opens a folder once and reaches its entries
 * through the open folder (on Linux, `/proc/self/fd/<n>/<name>`), without following symlinks. So whatever a process puts
 * in the way, the runner reads, writes and removes nothing outside. On other systems, where processes run as the
 * developer, it reaches entries by paths.
 */

import { randomBytes } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, readdir, rename, rmdir, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { utf8OrNull } from "../src/bytes.ts";
import { WORKSPACE_LIMITS } from "../src/tool/workspace-path.ts";
import { codeOf } from "./log.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** O_NONBLOCK: a FIFO opens immediately instead of waiting for a writer. */
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Deeper folders are ignored: each level needs an open file. */
const MAX_DEPTH = WORKSPACE_LIMITS.depth;

/** A process replaced a folder. */
class SwappedFolder extends Error {
  override name = "SwappedFolder";
}

/** An entry of the tree. `path` is null if its name, or that of a folder above, is not UTF-8. */
interface Entry {
  path: string | null;
  /** For people. */
  shown: string;
  stats: BigIntStats;
}

class Folder {
  readonly #handle: FileHandle;
  readonly #base: string;

  constructor(handle: FileHandle, path: string | Buffer) {
    this.#handle = handle;
    this.#base = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : String(path);
  }

  static async open(path: string | Buffer): Promise<Folder> {
    return new Folder(await open(path, FOLDER), path);
  }

  at(name: string | Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.#base}/`), Buffer.from(name)]);
  }

  names(): Promise<Buffer[]> {
    return readdir(`${this.#base}/.`, { encoding: "buffer" });
  }

  /** Gives this process the right to change the entry's content, if it owns the entry. */
  async permit(): Promise<void> {
    const { mode, uid } = await this.#handle.stat();
    if ((mode & 0o700) !== 0o700 && uid === process.getuid?.()) await this.#handle.chmod(mode | 0o700);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

export class Tree {
  readonly #root: string;
  readonly #folderMode: number;
  readonly #openFolder: (path: string | Buffer) => Promise<Folder | null>;
  readonly #look: (parent: Folder, name: Buffer) => Promise<BigIntStats | null>;

  /**
   * @param group the group of processes that run with another uid. Without one they have the runner's, and the tree
   * gives back the permissions that they removed. With one, they could use a link to change the mode of something else.
   */
  constructor(root: string, group: number | null) {
    this.#root = root;
    this.#folderMode = group === null ? 0o700 : 0o2770;
    this.#openFolder = group === null ? openOwnFolder : (path) => found(Folder.open(path));
    this.#look = group === null ? lookAtOwn : lookAt;
  }

  /**
   * All entries, in no order, except the folders that it enters and the names that it skips. Stops after `most`, and
   * then yields null.
   */
  async *entries(most: number, passesOver: (name: string) => boolean): AsyncGenerator<Entry | null, void> {
    let seen = 0;
    const [openFolder, look] = [this.#openFolder, this.#look];
    const walk = async function* (
      folder: Folder,
      path: string | null,
      shown: string,
      depth: number,
    ): AsyncGenerator<Entry | null, void> {
      for (const bytes of await folder.names()) {
        const name = utf8OrNull(bytes);
        if (name !== null && passesOver(name)) continue;
        const here = {
          path: path === null || name === null ? null : path + name,
          shown: shown + bytes.toString(),
        };
        const stats = await look(folder, bytes);
        if (stats === null) continue;
        seen += 1;
        if (seen > most) {
          yield null;
          return;
        }
        const enters = stats.isDirectory() && depth < MAX_DEPTH;
        const inner = enters ? await unlessDenied(openFolder(folder.at(bytes))) : "denied";
        if (inner === null) continue;
        if (inner === "denied") {
          yield { ...here, stats };
          continue;
        }
        try {
          yield* walk(inner, here.path === null ? null : `${here.path}/`, `${here.shown}/`, depth + 1);
        } finally {
          await inner.close();
        }
        if (seen > most) return;
      }
    };
    const root = await this.#openRoot();
    try {
      yield* walk(root, "", "", 0);
    } finally {
      await root.close();
    }
  }

  /** The names in a folder of it, as bytes; empty if there is no such folder. */
  async names(path: string): Promise<Buffer[]> {
    const names = await this.#inFolder(`${path}/.`, this.#openFolder, (folder) => folder.names());
    return names ?? [];
  }

  /** The stats of an entry; null if there is none. */
  stats(path: string): Promise<BigIntStats | null> {
    return this.#inFolder(path, this.#openFolder, (folder, name) => this.#look(folder, Buffer.from(name)));
  }

  /** Makes a new file in an existing folder, and opens it for writing. Throws the system's error. */
  async create(path: string): Promise<FileHandle> {
    const file = await this.#inFolder(path, this.#openFolder, (folder, name) =>
      open(folder.at(name), NEW_FILE, 0o666),
    );
    if (file === null) throw new SwappedFolder(`the folder of ${path} is no longer a folder`);
    return file;
  }

  /** Opens a regular file for reading; null if there is none. @param bytes its name, if that may not be UTF-8 */
  async read(path: string, bytes?: Buffer): Promise<FileHandle | null> {
    return this.#inFolder(path, this.#openFolder, async (folder, name) => {
      const entry = bytes ?? Buffer.from(name);
      const handle = await found(open(folder.at(entry), FILE)).catch(async (error: unknown) => {
        if (codeOf(error) !== "EACCES") throw error;
        // Gives back the permission, if this process may.
        await this.#look(folder, entry);
        return found(open(folder.at(entry), FILE));
      });
      if (handle === null || (await handle.stat()).isFile()) return handle;
      await handle.close();
      return null;
    });
  }

  /**
   * Moves a file in, replaces what is there, and returns the stats; null if a process has removed it already. Missing
   * folders are made.
   */
  async put(path: string, from: string): Promise<BigIntStats | null> {
    return this.#inFolder(
      path,
      (at) => this.#makeFolder(at),
      async (folder, name) => {
        const old = await found(lstat(folder.at(name)));
        if (old?.isDirectory()) await removeIn(folder, name);
        await rename(from, folder.at(name));
        return found(lstat(folder.at(name), { bigint: true }));
      },
    );
  }

  /** Removes anything but a folder, and the folders above it that are then empty. */
  async remove(path: string): Promise<void> {
    await this.#inFolder(path, this.#openFolder, async (folder, name) => {
      await found(unlink(folder.at(name)));
      return null;
    });
    const above = path.lastIndexOf("/");
    if (above > 0) await this.#removeIfEmpty(path.slice(0, above));
  }

  async #removeIfEmpty(path: string): Promise<void> {
    const gone = await this.#inFolder(path, this.#openFolder, async (folder, name) => {
      await rmdir(folder.at(name)).catch(() => {});
      return (await found(lstat(folder.at(name)))) === null;
    });
    const above = path.lastIndexOf("/");
    if (gone === true && above > 0) await this.#removeIfEmpty(path.slice(0, above));
  }

  /** Removes everything that an execution left except plain files, and except what has a name that it skips. */
  async removeStrays(
    passesOver: (name: string) => boolean,
    isStray: (path: string | null, stats: BigIntStats) => boolean,
  ): Promise<void> {
    const walk = async (folder: Folder, path: string | null, depth: number): Promise<void> => {
      for (const bytes of await folder.names()) {
        const name = utf8OrNull(bytes);
        if (name !== null && passesOver(name)) continue;
        const here = path === null || name === null ? null : path + name;
        const stats = await found(lstat(folder.at(bytes), { bigint: true }));
        if (stats === null) continue;
        if (!stats.isDirectory()) {
          if (isStray(here, stats)) await found(unlink(folder.at(bytes)));
        } else if (here === null || depth >= MAX_DEPTH) await removeIn(folder, bytes);
        else {
          const inner = await unlessDenied(this.#openFolder(folder.at(bytes)));
          if (inner === null || inner === "denied") continue;
          try {
            await walk(inner, `${here}/`, depth + 1);
          } finally {
            await inner.close();
          }
        }
      }
    };
    const root = await this.#openRoot();
    try {
      await walk(root, "", 0);
    } finally {
      await root.close();
    }
  }

  /** With the runner's uid, a process can also remove or replace the root. */
  #openRoot(): Promise<Folder> {
    return this.#makeFolder(Buffer.from(this.#root));
  }

  /** Opens a folder. If it is missing, makes it, and replaces another entry in its place. */
  async #makeFolder(path: Buffer): Promise<Folder> {
    const folder = await this.#openFolder(path);
    if (folder !== null) return folder;
    await found(unlink(path));
    await mkdir(path, this.#folderMode);
    return Folder.open(path);
  }

  /** Goes to the folder of a path. @param enter opens each folder on the way; null: there is none */
  async #inFolder<T>(
    path: string,
    enter: (path: Buffer) => Promise<Folder | null>,
    work: (folder: Folder, name: string) => Promise<T | null>,
  ): Promise<T | null> {
    const names = path.split("/");
    const last = names.pop() ?? "";
    let folder = await this.#openRoot();
    try {
      for (const name of names) {
        const next = await enter(folder.at(name));
        if (next === null) return null;
        await folder.close();
        folder = next;
      }
      return await work(folder, last);
    } finally {
      await folder.close();
    }
  }
}

/** Removes a file, or a folder with all its content, wherever its links lead. Nobody else may change its parent. */
export async function removeTree(path: string): Promise<void> {
  const parent = await found(Folder.open(dirname(path)));
  if (parent === null) return;
  try {
    await removeIn(parent, basename(path));
  } finally {
    await parent.close();
  }
}

/**
 * Moves the content of nested folders up before it removes them: however deep they are nested, few are open at a time,
 * and no path is too long.
 */
async function removeIn(parent: Folder, name: string | Buffer): Promise<void> {
  if (await removedFile(parent, name)) return;
  const top = await openOwnFolder(parent.at(name));
  if (top === null) return;
  try {
    do {
      for (const inner of await top.names()) if (!(await removedFile(top, inner))) await liftOut(top, inner);
    } while (!(await removedFolder(parent, name)));
  } finally {
    await top.close();
  }
}

/**
 * Moves the content of a folder of `top` up into `top`, and removes the folder, unless a process adds something
 * meanwhile.
 */
async function liftOut(top: Folder, name: Buffer): Promise<void> {
  const folder = await openOwnFolder(top.at(name));
  if (folder === null) return;
  try {
    for (const inner of await folder.names()) {
      if (await removedFile(folder, inner)) continue;
      // Moving a folder also writes to the folder itself, since its entry `..` names its parent.
      await (await openOwnFolder(folder.at(inner)))?.close();
      await found(rename(folder.at(inner), top.at(randomBytes(16).toString("hex"))));
    }
  } finally {
    await folder.close();
  }
  await removedFolder(top, name);
}

/** Opens a folder, for changes too, even if its owner has removed all permissions; null if there is none. */
async function openOwnFolder(path: string | Buffer): Promise<Folder | null> {
  try {
    const folder = await found(Folder.open(path));
    await folder?.permit();
    return folder;
  } catch (error) {
    if (codeOf(error) !== "EACCES") throw error;
    // The folder can only belong to this uid.
    await chmod(path, 0o700);
    return found(Folder.open(path));
  }
}

const lookAt = (parent: Folder, name: Buffer): Promise<BigIntStats | null> =>
  found(lstat(parent.at(name), { bigint: true }));

/** The stats of an entry; the owner of a file can read and write it then, unless it has a second name. */
async function lookAtOwn(parent: Folder, name: Buffer): Promise<BigIntStats | null> {
  const stats = await lookAt(parent, name);
  if (!stats?.isFile() || stats.nlink > 1n || Number(stats.uid) !== process.getuid?.()) return stats;
  const mode = Number(stats.mode) & 0o777;
  if ((mode & 0o600) === 0o600) return stats;
  await found(chmod(parent.at(name), mode | 0o600));
  return lookAt(parent, name);
}

/** Removes the entry unless it is a folder; returns whether it did. */
async function removedFile(folder: Folder, name: string | Buffer): Promise<boolean> {
  try {
    await unlink(folder.at(name));
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true;
    const stats = await found(lstat(folder.at(name)));
    if (stats === null || stats.isDirectory()) return stats === null;
    throw error;
  }
}

/** Removes the folder if it is empty; returns whether it did. */
async function removedFolder(parent: Folder, name: string | Buffer): Promise<boolean> {
  try {
    await found(rmdir(parent.at(name)));
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOTEMPTY") return false;
    throw error;
  }
}

/** `denied` for an entry of a user who keeps it from the runner. */
export async function unlessDenied<T>(work: Promise<T>): Promise<T | "denied"> {
  try {
    return await work;
  } catch (error) {
    if (["EACCES", "EPERM"].includes(codeOf(error) ?? "")) return "denied";
    throw error;
  }
}

/** `null` for an entry that is missing or of another kind; both can happen at any moment. */
async function found<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "ENXIO"].includes(codeOf(error) ?? "")) return null;
    throw error;
  }
}
