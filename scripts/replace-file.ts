/** Replaces files as a whole. */
import { randomUUID } from "node:crypto";
import { chmod, readdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isSystemError } from "./system-error.ts";

/** A write of this age, in ms, has ended. */
const OVER_MS = 24 * 60 * 60 * 1000;
const TEMPORARY = /^(.+)\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.tmp$/;

/**
 * Writes a file next to the old one, which it then replaces: after a crash or on a full disk the file is the old or the
 * new one, never a part. Of several writers at once the last one wins. A link stays a link, and the file keeps its
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

/**
 * Removes from a folder what `replaceFile` left there when its process was killed; what cannot be removed stays.
 * @param written matches the names of the files that it was to write
 */
export async function removeLeftovers(folder: string, written: RegExp): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, target] = TEMPORARY.exec(name) ?? [];
    if (target === undefined || !written.test(target)) continue;
    const path = join(folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats !== null && Date.now() - stats.mtimeMs > OVER_MS)
      await rm(path, { force: true }).catch(() => {});
  }
}
