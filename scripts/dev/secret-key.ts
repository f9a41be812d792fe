/** The key that seals secrets of tool configuration locally: made once, kept with the sealed secrets. */
import { join } from "node:path";
import { readIfThere } from "../read-if-there.ts";
import { replaceFile } from "../replace-file.ts";
import { randomSecret } from "./random-secret.ts";

export const SECRET_KEY_FILE = "secret.key";

/** @param stateDir locked by the caller. @throws CommandError for a key that cannot be read */
export async function secretKey(stateDir: string): Promise<string> {
  const path = join(stateDir, SECRET_KEY_FILE);
  const kept = (await readIfThere(path))?.toString("utf8").trim() ?? "";
  if (kept !== "") return kept;
  const key = randomSecret();
  await replaceFile(path, key, 0o600);
  return key;
}
