/** Which code this is: what an earlier process made is of use only to the same code. */
import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import hull from "../../package.json" with { type: "json" };
import { once } from "../../src/memo.ts";

/** Changes whenever a file may have changed that takes part in a build: 32 hexadecimal digits. */
export const codeIdentity = once((): string => {
  const root = join(import.meta.dirname, "..", "..");
  const hash = createHash("sha256").update(JSON.stringify([hull.version, root]));
  for (const folder of ["src", "scripts", "typed"]) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).sort()) {
      const { size, mtimeMs, ctimeMs } = statSync(join(root, folder, name));
      hash.update(JSON.stringify([folder, name, size, mtimeMs, ctimeMs]));
    }
  }
  return hash.digest("hex").slice(0, 32);
});
