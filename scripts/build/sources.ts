/** The bytes of found files. */
import { readFile } from "node:fs/promises";
import type { SourceFile } from "../../src/skill/bundle.ts";
import { defined } from "../../src/skill/json.ts";
import { isSystemError } from "../system-error.ts";
import type { FoundFile } from "./skill-folder.ts";

/** Limit of all bundled bytes of one skill: bundles travel to a runner. */
export const MAX_SKILL_BYTES = 256 * 1024 * 1024;

/** The files with their bytes. A refusal of the system has the file's absolute path. */
export async function readSources(found: readonly FoundFile[]): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for (const { path, absolute, stats, link } of found) {
    const { buffer, byteOffset, length } = await readFile(absolute).catch((error: unknown) => {
      // The refusal to read a folder does not name it.
      if (isSystemError(error)) error.path = absolute;
      throw error;
    });
    // A skill may hold 256 MiB: its bytes are not copied.
    const bytes = new Uint8Array(buffer, byteOffset, length);
    const mode = (stats.mode & 0o111) === 0 ? 0o644 : 0o755;
    files.push({ path, bytes, mode, ...defined({ link }) });
  }
  return files;
}
