/** Writes new files and never touches existing ones. */
import { chmod, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "./make-folder.ts";
import { isSystemError } from "./system-error.ts";
import type { TemplateFile } from "./templates.ts";

/** Returns the written paths, and those left alone because they exist. */
export async function writeNewFiles(
  dir: string,
  files: readonly TemplateFile[],
): Promise<{ written: string[]; kept: string[] }> {
  const written: string[] = [];
  const kept: string[] = [];
  for (const file of files) {
    const path = join(dir, file.path);
    await makeFolder(dirname(path));
    try {
      await writeNewFile(path, file.text);
    } catch (error) {
      if (!isSystemError(error) || error.code !== "EEXIST") throw error;
      kept.push(file.path);
      continue;
    }
    if (file.executable === true) await chmod(path, 0o755);
    written.push(file.path);
  }
  return { written, kept };
}

/**
 * Writes a file that must not exist. If it cannot write all of it, it leaves nothing. A refusal of the system has the file's
 * path.
 */
export async function writeNewFile(path: string, content: string | Uint8Array, mode = 0o666): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await file.writeFile(content);
  } catch (error) {
    await rm(path, { force: true });
    if (isSystemError(error)) error.path = path;
    throw error;
  } finally {
    await file.close();
  }
}
