/** Replaces files as a whole. */
import { randomUUID } from "node:crypto";
import { chmod, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { isSystemError } from "./system-error.ts";

/**
 * Writes a file beside the old one, and then takes its place: after a crash or on a full disk the file is the old or the
 * new one, never a part, and of several writers at once the last one wins. A link stays a link, and the file keeps its
 * mode. A refusal of the system has the file's path.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const mode = await stat(target).then(
    (found) => found.mode,
    () => null,
  );
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, content);
    if (mode !== null) await chmod(temporary, mode);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    if (isSystemError(error)) error.path = path;
    throw error;
  }
}
