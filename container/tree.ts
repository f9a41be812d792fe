/**
 * Files below a folder that processes can change at any moment. The runner opens a folder once and reaches its entries
 * through the open folder (on Linux, `/proc/self/fd/<n>/<name>`), without following symlinks. So whatever a process puts
 * in the way, the runner reads, writes and removes nothing outside. On other systems, where processes run as the
 * developer, it reaches entries by paths.
 *
 * Single entries are opened, looked at, moved and removed synchronously: passing such a call to a thread costs more than the
 * call itself. Whatever handles many entries lets other work of the runner go on in between.
 */

import { randomBytes } from "node:crypto";
import type { BigIntStats } from "node:fs";
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { utf8OrNull } from "../src/bytes.ts";
import { WORKSPACE_LIMITS } from "../src/tool/workspace-path.ts";
import { codeOf } from "./log.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** O_NONBLOCK: a FIFO opens immediately instead of waiting for a writer. */
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Deeper folders are ignored: each level needs an open file. */
const MAX_DEPTH = WORKSPACE_LIMITS.depth;

/** How many entries to handle before other work gets its turn. */
const AT_ONCE = 50;

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
  /** A folder that stays in the runner as a whole: a virtual environment of Python. */
  staysWhole?: true;
}

class Folder {
  readonly #fd: number;
  readonly #base: string;

  constructor(fd: number, path: string | Buffer) {
    this.#fd = fd;
    this.#base = process.platform === "linux" ? `/proc/self/fd/${fd}` : String(path);
  }

  static open(path: string | Buffer): Folder {
    return new Folder(openSync(path, FOLDER), path);
  }

  at(name: string | Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.#base}/`), Buffer.from(name)]);
  }

  names(): Promise<Buffer[]> {
    return readdir(`${this.#base}/.`, { encoding: "buffer" });
  }

  /** The names in it, with turns for other work in between. @param renamed changes some first, and says so */
  async *namesInTurn(renamed: (names: Buffer[]) => boolean = () => false): AsyncGenerator<Buffer, void> {
    const names = await this.names();
    for (const [index, name] of (renamed(names) ? await this.names() : names).entries()) {
      if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
      yield name;
    }
  }

  /** Gives this process the right to change the entry's content, if it owns the entry. */
  permit(): void {
    const { mode, uid } = fstatSync(this.#fd);
    if ((mode & 0o700) !== 0o700 && uid === process.getuid?.()) fchmodSync(this.#fd, mode | 0o700);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

export class Tree {
  readonly #root: string;
  readonly #folderMode: number;
  readonly #openFolder: (path: string | Buffer) => Folder | null;
  readonly #look: (parent: Folder, name: Buffer) => BigIntStats | null;

  /**
   * @param group the group of processes that run with another uid. Without one they have the runner's, and the tree
   * gives back the permissions that they removed. With one, they could use a link to change the mode of something else.
   */
  constructor(root: string, group: number | null) {
    this.#root = root;
    this.#folderMode = group === null ? 0o700 : 0o2770;
    this.#openFolder = group === null ? openOwnFolder : (path) => found(() => Folder.open(path));
    this.#look = group === null ? lookAtOwn : lookAt;
  }

  /**
   * All entries, in no order, except the folders that it enters and the names that it skips. Stops after `most`, and
   * then yields null.
   * @param composes whether an entry gets its name in Unicode's form NFC first
   */
  async *entries(
    most: number,
    passesOver: (name: string) => boolean,
    composes: () => boolean,
  ): AsyncGenerator<Entry | null, void> {
    let seen = 0;
    const [openFolder, look] = [this.#openFolder, this.#look];
    const walk = async function* (
      folder: Folder,
      path: string | null,
      shown: string,
      depth: number,
    ): AsyncGenerator<Entry | null, void> {
      const renamed = (names: Buffer[]): boolean => {
        const other = composes() ? names.filter((bytes) => !composedName(bytes).equals(bytes)) : [];
        for (const bytes of other) compose(folder, bytes, folder, openFolder);
        return other.length > 0;
      };
      for await (const bytes of folder.namesInTurn(renamed)) {
        const name = utf8OrNull(bytes);
        if (name !== null && passesOver(name)) continue;
        const here = {
          path: path === null || name === null ? null : path + name,
          shown: shown + bytes.toString(),
        };
        const stats = look(folder, bytes);
        if (stats === null) continue;
        seen += 1;
        if (seen > most) {
          yield null;
          return;
        }
        if (isEnvironment(folder, name, stats)) {
          yield { ...here, stats, staysWhole: true };
          continue;
        }
        const enters = stats.isDirectory() && depth < MAX_DEPTH;
        const inner = enters ? await unlessDenied(() => openFolder(folder.at(bytes))) : "denied";
        if (inner === null) continue;
        if (inner === "denied") {
          yield { ...here, stats };
          continue;
        }
        try {
          yield* walk(inner, here.path === null ? null : `${here.path}/`, `${here.shown}/`, depth + 1);
        } finally {
          inner.close();
        }
        if (seen > most) return;
      }
    };
    const root = this.#openRoot();
    try {
      yield* walk(root, "", "", 0);
    } finally {
      root.close();
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
      const handle = await foundLater(open(folder.at(entry), FILE)).catch((error: unknown) => {
        if (codeOf(error) !== "EACCES") throw error;
        // Gives back the permission, if this process may.
        this.#look(folder, entry);
        return foundLater(open(folder.at(entry), FILE));
      });
      if (handle === null || fstatSync(handle.fd).isFile()) return handle;
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
        const old = found(() => lstatSync(folder.at(name)));
        if (old?.isDirectory()) await removeIn(folder, name);
        renameSync(from, folder.at(name));
        return lookAt(folder, name);
      },
    );
  }

  /** Removes anything but a folder, and the folders above it that are then empty. */
  async remove(path: string): Promise<void> {
    await this.#inFolder(path, this.#openFolder, (folder, name) => {
      found(() => unlinkSync(folder.at(name)));
      return null;
    });
    const above = path.lastIndexOf("/");
    if (above > 0) await this.#removeIfEmpty(path.slice(0, above));
  }

  async #removeIfEmpty(path: string): Promise<void> {
    const gone = await this.#inFolder(path, this.#openFolder, (folder, name) => {
      try {
        rmdirSync(folder.at(name));
      } catch {
        // It is not empty, or gone.
      }
      return lookAt(folder, name) === null;
    });
    const above = path.lastIndexOf("/");
    if (gone === true && above > 0) await this.#removeIfEmpty(path.slice(0, above));
  }

  /** Removes everything that an execution left except plain files, names that it skips, and virtual environments. */
  async removeStrays(
    passesOver: (name: string) => boolean,
    isStray: (path: string | null, stats: BigIntStats) => boolean,
  ): Promise<void> {
    const walk = async (folder: Folder, path: string | null, depth: number): Promise<void> => {
      for await (const bytes of folder.namesInTurn()) {
        const name = utf8OrNull(bytes);
        if (name !== null && passesOver(name)) continue;
        const here = path === null || name === null ? null : path + name;
        const stats = lookAt(folder, bytes);
        if (stats === null || isEnvironment(folder, name, stats)) continue;
        if (!stats.isDirectory()) {
          if (isStray(here, stats)) found(() => unlinkSync(folder.at(bytes)));
        } else if (here === null || depth >= MAX_DEPTH) await removeIn(folder, bytes);
        else {
          const inner = await unlessDenied(() => this.#openFolder(folder.at(bytes)));
          if (inner === null || inner === "denied") continue;
          try {
            await walk(inner, `${here}/`, depth + 1);
          } finally {
            inner.close();
          }
        }
      }
    };
    const root = this.#openRoot();
    try {
      await walk(root, "", 0);
    } finally {
      root.close();
    }
  }

  /** With the runner's uid, a process can also remove or replace the root. */
  #openRoot(): Folder {
    return this.#makeFolder(Buffer.from(this.#root));
  }

  /** Opens a folder. If it is missing, makes it, and replaces another entry in its place. */
  #makeFolder(path: Buffer): Folder {
    const folder = this.#openFolder(path);
    if (folder !== null) return folder;
    found(() => unlinkSync(path));
    mkdirSync(path, this.#folderMode);
    return Folder.open(path);
  }

  /** Goes to the folder of a path. @param enter opens each folder on the way; null: there is none */
  async #inFolder<T>(
    path: string,
    enter: (path: Buffer) => Folder | null,
    work: (folder: Folder, name: string) => Promise<T | null> | T | null,
  ): Promise<T | null> {
    const names = path.split("/");
    const last = names.pop() ?? "";
    let folder = this.#openRoot();
    try {
      for (const name of names) {
        const next = enter(folder.at(name));
        if (next === null) return null;
        folder.close();
        folder = next;
      }
      return await work(folder, last);
    } finally {
      folder.close();
    }
  }
}

/** Whether an entry is a virtual environment of Python: `venv` or `env`, with the file that marks one. */
const isEnvironment = (parent: Folder, name: string | null, stats: BigIntStats): boolean =>
  name !== null &&
  /^v?env$/.test(name) &&
  stats.isDirectory() &&
  found(() => lstatSync(parent.at(`${name}/pyvenv.cfg`)))?.isFile() === true;

/** A name in Unicode's form NFC; one that is not UTF-8 as it is. */
function composedName(bytes: Buffer): Buffer {
  const name = utf8OrNull(bytes)?.normalize("NFC");
  return name === undefined ? bytes : Buffer.from(name);
}

/**
 * Moves an entry into a folder, under its name in Unicode's form NFC. Folders of one name become one; of two files of one
 * name the one that changed last stays. What the system refuses to move stays where it is.
 */
function compose(from: Folder, bytes: Buffer, into: Folder, open: (path: Buffer) => Folder | null): void {
  const name = composedName(bytes);
  const [moved, old] = [lookAt(from, bytes), lookAt(into, name)];
  const opened: (Folder | null)[] = [];
  try {
    if (moved?.isDirectory() && old?.isDirectory()) opened.push(open(from.at(bytes)), open(into.at(name)));
    const [source, target] = opened;
    if (source && target) {
      const names = readdirSync(source.at("."), { encoding: "buffer" });
      for (const inner of names) compose(source, inner, target, open);
      rmdirSync(from.at(bytes));
    } else if (moved !== null && moved.ctimeNs >= (old?.ctimeNs ?? 0n))
      renameSync(from.at(bytes), into.at(name));
  } catch {
    // Whoever scans the folder refuses the name.
  } finally {
    for (const folder of opened) folder?.close();
  }
}

/** Removes a file, or a folder with all its content, wherever its links lead. Nobody else may change its parent. */
export async function removeTree(path: string): Promise<void> {
  const parent = found(() => Folder.open(dirname(path)));
  if (parent === null) return;
  try {
    await removeIn(parent, basename(path));
  } finally {
    parent.close();
  }
}

/**
 * Moves the content of nested folders up before it removes them: however deep they are nested, few are open at a time,
 * and no path is too long.
 */
async function removeIn(parent: Folder, name: string | Buffer): Promise<void> {
  if (removedFile(parent, name)) return;
  const top = openOwnFolder(parent.at(name));
  if (top === null) return;
  try {
    do {
      for await (const inner of top.namesInTurn()) if (!removedFile(top, inner)) await liftOut(top, inner);
    } while (!removedFolder(parent, name));
  } finally {
    top.close();
  }
}

/**
 * Moves the content of a folder of `top` up into `top`, and removes the folder, unless a process adds something
 * meanwhile.
 */
async function liftOut(top: Folder, name: Buffer): Promise<void> {
  const folder = openOwnFolder(top.at(name));
  if (folder === null) return;
  try {
    for await (const inner of folder.namesInTurn()) {
      if (removedFile(folder, inner)) continue;
      // Moving a folder also writes to the folder itself, since its entry `..` names its parent.
      openOwnFolder(folder.at(inner))?.close();
      found(() => renameSync(folder.at(inner), top.at(randomBytes(16).toString("hex"))));
    }
  } finally {
    folder.close();
  }
  removedFolder(top, name);
}

/** Opens a folder, for changes too, even if its owner has removed all permissions; null if there is none. */
function openOwnFolder(path: string | Buffer): Folder | null {
  try {
    const folder = found(() => Folder.open(path));
    folder?.permit();
    return folder;
  } catch (error) {
    if (codeOf(error) !== "EACCES") throw error;
    // The folder can only belong to this uid.
    chmodSync(path, 0o700);
    return found(() => Folder.open(path));
  }
}

const lookAt = (parent: Folder, name: string | Buffer): BigIntStats | null =>
  found(() => lstatSync(parent.at(name), { bigint: true }));

/** The stats of an entry; the owner of a file can read and write it then, unless it has a second name. */
function lookAtOwn(parent: Folder, name: Buffer): BigIntStats | null {
  const stats = lookAt(parent, name);
  if (!stats?.isFile() || stats.nlink > 1n || Number(stats.uid) !== process.getuid?.()) return stats;
  const mode = Number(stats.mode) & 0o777;
  if ((mode & 0o600) === 0o600) return stats;
  found(() => chmodSync(parent.at(name), mode | 0o600));
  return lookAt(parent, name);
}

/** Removes the entry unless it is a folder; returns whether it did. */
function removedFile(folder: Folder, name: string | Buffer): boolean {
  try {
    unlinkSync(folder.at(name));
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true;
    const stats = lookAt(folder, name);
    if (stats === null || stats.isDirectory()) return stats === null;
    throw error;
  }
}

/** Removes the folder if it is empty; returns whether it did. */
function removedFolder(parent: Folder, name: string | Buffer): boolean {
  try {
    found(() => rmdirSync(parent.at(name)));
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOTEMPTY") return false;
    throw error;
  }
}

/** `denied` for an entry of a user who keeps it from the runner. */
export async function unlessDenied<T>(work: () => Promise<T> | T): Promise<T | "denied"> {
  try {
    return await work();
  } catch (error) {
    if (["EACCES", "EPERM"].includes(codeOf(error) ?? "")) return "denied";
    throw error;
  }
}

/** The codes for an entry that is missing or of another kind; both can happen at any moment. */
const MISSING = ["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "ENXIO"];

/** `null` for such an entry. */
function found<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (MISSING.includes(codeOf(error) ?? "")) return null;
    throw error;
  }
}

const foundLater = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (MISSING.includes(codeOf(error) ?? "")) return null;
    throw error;
  });
