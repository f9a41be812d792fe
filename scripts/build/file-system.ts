/** What the file system says of a path, without errors for what is not there. The calls block. */
import { type Dirent, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { sep } from "node:path";
import { ABSENT } from "../read-if-there.ts";
import { isSystemError } from "../system-error.ts";

/** Whether a path is a folder, or in it; both are absolute. */
export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder + sep);

/** The target of a link if it is outside every folder of `boundary` (real paths), else `null`. */
export function outsideTarget(link: string, boundary: readonly string[]): string | null {
  const target = realPath(link);
  if (target === null) return null;
  return boundary.some((base) => isWithin(target, base)) ? null : target;
}

/** Why an existing file or folder cannot be read; `null`: it can be read, or does not exist. */
export function refusalOf(path: string, read: (path: string) => unknown = readdirSync): Error | null {
  try {
    read(path);
  } catch (error) {
    if (isSystemError(error) && !NOT_THERE.includes(error.code ?? "")) return error;
  }
  return null;
}

/** A link that leads nowhere, and something of another kind, count as nothing. */
const NOT_THERE = [...ABSENT, "EISDIR", "ELOOP"];

/**
 * The bytes of a file; `null` for a pipe, a socket or a device, whose bytes may never come or never end.
 * @throws the system's error
 */
export function readRegular(path: string): Buffer | null {
  const stats = statSync(path);
  return stats.isFile() || stats.isDirectory() ? readFileSync(path) : null;
}

/** The JSON value in a file, which may begin with a byte order mark; `undefined`: it is not JSON. */
export function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8").replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}

/** The entries of a folder; `null` if there is no such folder, or if it cannot be read. */
export function readFolder(path: string): Dirent[] | null {
  return orNull(() => readdirSync(path, { withFileTypes: true }));
}

export const realPath = (path: string): string | null => orNull(() => realpathSync.native(path));

export const statOf = (path: string): Stats | null => orNull(() => statSync(path));

/** @throws the system's error if no more files can be opened, since that says nothing of the path */
export function orNull<T>(call: () => T): T | null {
  try {
    return call();
  } catch (error) {
    if (isSystemError(error) && NO_MORE_FILES.includes(error.code ?? "")) throw error;
    return null;
  }
}

const NO_MORE_FILES = ["EMFILE", "ENFILE"];
