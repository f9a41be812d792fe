/** Files that need not exist. */
import { readFile } from "node:fs/promises";
import { isSystemError, systemError } from "./system-error.ts";

/** The codes with which the system says that there is no such file. */
export const ABSENT: readonly string[] = ["ENOENT", "ENOTDIR"];

/**
 * The bytes of a file; `null` if there is none. A file that is there and cannot be read is a failure, since a command
 * that continued would do what the file forbids.
 * @param absent codes of the system that count as no file
 * @throws CommandError
 */
export async function readIfThere(path: string, absent = ABSENT): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (absent.includes(error.code ?? "")) return null;
    // The refusal to read a folder does not name it.
    error.path = path;
    throw systemError(error);
  }
}
