/**
 * The programs of the runner in other languages, which lie beside it in the folder `programs`: beside its source, and
 * beside the one file that is made of it.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** In the one file, which is no module, there is no `import.meta`. */
const FOLDER = join(import.meta.dirname ?? dirname(process.argv[1] ?? ""), "programs");

/** The text of these files, one after the other. */
export function program(...names: string[]): string {
  return names.map((name) => readFileSync(join(FOLDER, name), "utf8")).join("\n");
}
