/**
 * Files below a folder that processes can change at any moment. A folder is opened once and its entries are reached through
 * the open folder (on Linux, `/proc/self/fd/<n>/<name>`), without following symlinks: whatever is put in the way
 * meanwhile, nothing outside is read, written or removed. Elsewhere, where processes run as the developer, by paths.
 */
import type { BigIntStats } from "node:fs";
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, rename, rmdir, unlink } from "node:fs/promises";
import { WORKSPACE_LIMITS } from "../src/tool/workspace-path.ts";
import { codeOf } from "./log.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** O_NONBLOCK: a FIFO opens at once instead of waiting for a writer. */
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Deeper folders are not looked into: each level takes an open file. */
const MAX_DEPTH = WORKSPACE_LIMITS.depth;

/** Something in the tree. `path` is null where its name, or that of a folder above, is not UTF-8. */
export interface Entry {
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

  close(): Promise<void> {
    return this.#handle.close();
  }
}

export class Tree {
  readonly #root: string;
  readonly #folderMode: number;

  /** @param folderMode of folders that are made */
  constructor(root: string, folderMode: number) {
    this.#root = root;
    this.#folderMode = folderMode;
  }

  /** Everything but folders that it looks into, in no order. Stops after `most`, and says so by yielding null. */
  async *entries(most: number): AsyncGenerator<Entry | null, void> {
    let seen = 0;
    const walk = async function* (
      folder: Folder,
      path: string | null,
      shown: string,
      depth: number,
    ): AsyncGenerator<Entry | null, void> {
      for (const bytes of await folder.names()) {
        const name = utf8(bytes);
        const here = {
          path: path === null || name === null ? null : path + name,
          shown: shown + bytes.toString(),
        };
        const stats = await found(lstat(folder.at(bytes), { bigint: true }));
        if (stats === null) continue;
        seen += 1;
        if (seen > most) {
          yield null;
          return;
        }
        if (!stats.isDirectory() || depth >= MAX_DEPTH) {
          yield { ...here, stats };
          continue;
        }
        const inner = await found(Folder.open(folder.at(bytes)));
        if (inner === null) continue;
        try {
          yield* walk(inner, here.path === null ? null : `${here.path}/`, `${here.shown}/`, depth + 1);
        } finally {
          await inner.close();
        }
        if (seen > most) return;
      }
    };
    const root = await Folder.open(this.#root);
    try {
      yield* walk(root, "", "", 0);
    } finally {
      await root.close();
    }
  }

  /** Opens a regular file for reading; null where there is none. */
  async read(path: string): Promise<FileHandle | null> {
    return this.#inFolder(path, false, async (folder, name) => {
      const handle = await found(open(folder.at(name), FILE));
      if (handle === null || (await handle.stat()).isFile()) return handle;
      await handle.close();
      return null;
    });
  }

  /** Moves a file in, in place of whatever is there, and looks at it then. Folders are made; a file is no folder. */
  async put(path: string, from: string): Promise<BigIntStats | null> {
    return this.#inFolder(path, true, async (folder, name) => {
      const old = await found(lstat(folder.at(name)));
      if (old?.isDirectory()) await removeAll(folder, name);
      await rename(from, folder.at(name));
      return found(lstat(folder.at(name), { bigint: true }));
    });
  }

  /** Removes what is not a folder, and the folders above that are empty then. */
  async remove(path: string): Promise<void> {
    await this.#inFolder(path, false, async (folder, name) => {
      await found(unlink(folder.at(name)));
      return null;
    });
    const above = path.lastIndexOf("/");
    if (above > 0) await this.#removeIfEmpty(path.slice(0, above));
  }

  async #removeIfEmpty(path: string): Promise<void> {
    const gone = await this.#inFolder(path, false, async (folder, name) => {
      await rmdir(folder.at(name)).catch(() => {});
      return (await found(lstat(folder.at(name)))) === null;
    });
    const above = path.lastIndexOf("/");
    if (gone === true && above > 0) await this.#removeIfEmpty(path.slice(0, above));
  }

  /** Removes whatever an execution left beside plain files: links, special files, names that are none. */
  async removeStrays(isStray: (path: string | null, stats: BigIntStats) => boolean): Promise<void> {
    const walk = async (folder: Folder, path: string | null, depth: number): Promise<void> => {
      for (const bytes of await folder.names()) {
        const name = utf8(bytes);
        const here = path === null || name === null ? null : path + name;
        const stats = await found(lstat(folder.at(bytes), { bigint: true }));
        if (stats === null) continue;
        if (!stats.isDirectory()) {
          if (isStray(here, stats)) await found(unlink(folder.at(bytes)));
        } else if (here === null || depth >= MAX_DEPTH) await removeAll(folder, bytes);
        else {
          const inner = await found(Folder.open(folder.at(bytes)));
          if (inner === null) continue;
          try {
            await walk(inner, `${here}/`, depth + 1);
          } finally {
            await inner.close();
          }
        }
      }
    };
    const root = await Folder.open(this.#root);
    try {
      await walk(root, "", 0);
    } finally {
      await root.close();
    }
  }

  /** Goes to the folder that a path is in. With `make`, folders are made, and what is none is replaced by one. */
  async #inFolder<T>(
    path: string,
    make: boolean,
    work: (folder: Folder, name: string) => Promise<T | null>,
  ): Promise<T | null> {
    const names = path.split("/");
    const last = names.pop() ?? "";
    let folder = await Folder.open(this.#root);
    try {
      for (const name of names) {
        let next = await found(Folder.open(folder.at(name)));
        if (next === null) {
          if (!make) return null;
          await found(unlink(folder.at(name)));
          await mkdir(folder.at(name), this.#folderMode);
          next = await Folder.open(folder.at(name));
        }
        await folder.close();
        folder = next;
      }
      return await work(folder, last);
    } finally {
      await folder.close();
    }
  }
}

/** Removes a folder with all that is in it. */
async function removeAll(parent: Folder, name: string | Buffer): Promise<void> {
  const folder = await found(Folder.open(parent.at(name)));
  if (folder === null) {
    await found(unlink(parent.at(name)));
    return;
  }
  try {
    for (const inner of await folder.names()) await removeAll(folder, inner);
  } finally {
    await folder.close();
  }
  await rmdir(parent.at(name));
}

/** `null` for what is not there, or is of another kind: both can come about at any moment. */
async function found<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "ENXIO"].includes(codeOf(error) ?? "")) return null;
    throw error;
  }
}

function utf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
