/**
 * Which test covers which Check, the numbered requirements of serving: by the numbers in the tests' names. To see the
 * map: `node test/support/checks.ts`.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const REPO = join(import.meta.dirname, "..", "..");

export interface Shown {
  /** From the root of the repository. */
  file: string;
  line: number;
  /** Name of a test, of a group of tests, or of a row of a table of tests. */
  name: string;
}

/** Every Check that a name in a test file mentions, by number. Comments do not count. */
export function checksShown(): Map<number, Shown[]> {
  const shown = new Map<number, Shown[]>();
  for (const file of globSync("test/**/*.ts", { cwd: REPO }).sort()) {
    const lines = readFileSync(join(REPO, file), "utf8").split("\n");
    for (const [index, text] of lines.entries()) {
      if (/^\s*(?:\/\/|\/?\*)/.test(text)) continue;
      const name = /(["'`])((?:\\.|(?!\1).)*\bS\d{1,3}\b(?:\\.|(?!\1).)*)\1/.exec(text)?.[2] ?? "";
      for (const [, number] of name.matchAll(/\bS(\d{1,3})\b/g)) {
        const known = shown.get(Number(number)) ?? [];
        shown.set(Number(number), [...known, { file, line: index + 1, name }]);
      }
    }
  }
  return shown;
}

if (import.meta.main) {
  for (const [number, tests] of [...checksShown()].sort(([a], [b]) => a - b)) {
    for (const { file, line, name } of tests) console.log(`S${number}\t${file}:${line}\t${name}`);
  }
}
