/** The Worker's modules in a folder, from which workerd starts. */
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../replace-file.ts";

/** The module that workerd starts with. */
export const ENTRY = "worker.js";

/** The texts of ES modules by file name. They import each other as `./<name>`. */
export type WorkerModules = ReadonlyMap<string, string>;

/** Reads the modules in a folder. */
export async function readModules(dir: string): Promise<WorkerModules> {
  const names = (await readdir(dir)).filter((name) => name.endsWith(".js"));
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name), "utf8")] as const)),
  );
}

/**
 * Makes a folder contain exactly these modules. Those that it already has stay untouched, since a server may be watching
 * them. None is ever there in part, since another server may be starting from them.
 */
export async function writeModules(dir: string, modules: WorkerModules): Promise<void> {
  await mkdir(dir, { recursive: true });
  const present = await readModules(dir);
  // The entry names the others, so it comes last.
  for (const [name, text] of [...modules].sort(([a], [b]) => Number(a === ENTRY) - Number(b === ENTRY))) {
    if (present.get(name) !== text) await replaceFile(join(dir, name), text);
  }
  for (const name of present.keys()) if (!modules.has(name)) await rm(join(dir, name), { force: true });
}
