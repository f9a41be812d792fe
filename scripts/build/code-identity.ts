/** Which code this is: what an earlier process made is of use only to the same code. */
import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import hull from "../../package.json" with { type: "json" };
import { once } from "../../src/memo.ts";

/** Changes whenever a file may have changed that takes part in a build: 32 hexadecimal digits. */
export const codeIdentity = once((): string => {
  const root = join(import.meta.dirname, "..", "..");
  const lines = ["src", "scripts", "typed"].flatMap((folder) => [...statesBelow(join(root, folder))]);
  const text = JSON.stringify([hull.version, root, lines.sort()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
});

/** A line for each file below a folder. Node's own recursion takes twice the processor time: it makes each path relative. */
function* statesBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      yield* statesBelow(path);
      continue;
    }
    const { size, mtimeMs, ctimeMs } = statSync(path);
    yield `${path} ${size} ${mtimeMs} ${ctimeMs}`;
  }
}
