/** Settings and keys of a local project: the environment, `.dev.vars` and `.env` (serving.md §4.1). */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";

/**
 * All variables that are in force for a project folder. The environment wins over `.dev.vars`, which wins over
 * `.env`; a missing file counts as empty.
 */
export async function loadEnvironment(
  dir: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Map<string, string>> {
  const variables = new Map<string, string>();
  for (const layer of [
    await readVariables(dir, ".env"),
    await readVariables(dir, ".dev.vars"),
    environment,
  ]) {
    for (const [name, value] of Object.entries(layer)) if (value !== undefined) variables.set(name, value);
  }
  return variables;
}

async function readVariables(dir: string, file: string): Promise<NodeJS.Dict<string>> {
  return parseEnv(await readFile(join(dir, file), "utf8").catch(() => ""));
}
