/** Finds files of workflow tests. */
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { CommandError, EXIT } from "../command.ts";

const TEST = /\.test\.(?:ya?ml|json)$/;
/** The folder of a skill's workflows. */
const FOLDER = "workflows";

/**
 * A file stands for itself; a folder for its tests, and those in all folders `workflows` below it. Throws `CommandError`
 * (exit 3) if a path does not exist, or nothing is found.
 */
export async function findTests(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const stats = await stat(path).catch(() => null);
    if (stats === null)
      throw new CommandError(EXIT.missing, "path_missing", `There is no file or folder ${path}.`);
    found.push(...(stats.isDirectory() ? await testsBelow(path) : [path]));
  }
  if (found.length > 0) return [...new Set(found)];
  throw new CommandError(
    EXIT.missing,
    "no_tests",
    `There are no tests of workflows in ${paths.join(", ")}.`,
    "Name a file, or call one workflows/<name>.test.yaml.",
  );
}

async function testsBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && TEST.test(entry.name))
    .filter(({ parentPath }) => parentPath === folder || basename(parentPath) === FOLDER)
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !/(?:^|\/)(?:node_modules|\.[^/.][^/]*)\//.test(path.slice(folder.length)))
    .toSorted();
}
