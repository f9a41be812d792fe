/** Writes new files and never touches existing ones. */
import { chmod, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "./make-folder.ts";
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
      await writeFile(path, file.text, { flag: "wx" });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      kept.push(file.path);
      continue;
    }
    if (file.executable === true) await chmod(path, 0o755);
    written.push(file.path);
  }
  return { written, kept };
}
