/** Where Hull is installed, and where a project's state is. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The folder where Hull itself is installed. */
export const REPO_DIR = join(import.meta.dirname, "..", "..");

/** The wrangler that Hull requires, as a program for Node: without the script that starts it in a second Node. */
export const WRANGLER = createRequire(import.meta.url).resolve("wrangler");

/** Flags with which Node runs a TypeScript file of Hull; inside node_modules Node needs help with that. */
export const TYPESCRIPT_FLAGS: readonly string[] = REPO_DIR.includes("/node_modules/")
  ? ["--import", pathToFileURL(join(REPO_DIR, "bin", "typescript.mjs")).href]
  : [];

/** The default folder of a project's state for `hull dev`. */
export function stateOf(projectDir: string): string {
  return join(projectDir, ".hull", "state");
}
