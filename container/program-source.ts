/**
 * The runner's programs in other languages. They are in the folder `programs` next to its source, and next to the one
 * file that is built from it.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The built file is not a module, so it has no `import.meta`. */
const FOLDER = join(import.meta.dirname ?? dirname(process.argv[1] ?? ""), "programs");

/** The text of these files, concatenated. */
export function programSource(...names: string[]): string {
  return names.map((name) => readFileSync(join(FOLDER, name), "utf8")).join("\n");
}
