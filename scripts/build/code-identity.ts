/** Identifies the code, since only the same code can use what an earlier process made. */
import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import hull from "../../package.json" with { type: "json" };
import { once } from "../../src/memo.ts";

/** 32 hexadecimal digits that change whenever a file that takes part in a build may have changed. */
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
