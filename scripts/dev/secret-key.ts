/** The key that seals secrets of tool configuration locally: made once, kept with the sealed secrets. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomSecret } from "./random-secret.ts";

export const SECRET_KEY_FILE = "secret.key";

export async function secretKey(stateDir: string): Promise<string> {
  const path = join(stateDir, SECRET_KEY_FILE);
  const key = randomSecret();
  try {
    await writeFile(path, key, { mode: 0o600, flag: "wx" });
    return key;
  } catch {
    return (await readFile(path, "utf8")).trim();
  }
}
