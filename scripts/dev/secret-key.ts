/** The key that seals secrets of tool configuration locally: made once, kept with the sealed secrets. */
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readIfThere } from "../read-if-there.ts";
import { randomSecret } from "./random-secret.ts";

export const SECRET_KEY_FILE = "secret.key";

/** @param stateDir locked by the caller. @throws CommandError for a key that cannot be read */
export async function secretKey(stateDir: string): Promise<string> {
  const path = join(stateDir, SECRET_KEY_FILE);
  const kept = (await readIfThere(path))?.toString("utf8").trim() ?? "";
  if (kept !== "") return kept;
  const key = randomSecret();
  // Renamed when it is whole: nobody gets back what a full disk or a crash left of a key.
  const temporary = `${path}.new`;
  await writeFile(temporary, key, { mode: 0o600 });
  await rename(temporary, path);
  return key;
}
