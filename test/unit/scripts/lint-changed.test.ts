/** Which files `npm run check` gives to biome. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { folder, put } from "./folder.ts";

const LINTER = fileURLToPath(new URL("../../../scripts/lint-changed.ts", import.meta.url));

test("a file is checked until it passes, and again once it or the settings change", () => {
  const settings = { files: { includes: ["src/**", "!src/made.ts"] }, formatter: { indentStyle: "space" } };
  const good = 'export const a = "a";\n';
  const dir = folder({
    "biome.json": JSON.stringify(settings),
    "src/a.ts": good,
    "src/b.ts": "export let b =  1\n",
    "src/made.ts": "export let c =  1\n",
    "src/sub/unknown.bin": "\0",
  });
  const lint = (): string => {
    const { status, stdout } = spawnSync(process.execPath, [LINTER, dir], { encoding: "utf8" });
    return `${status} ${/Checked \d+ files?/.exec(stdout)?.[0] ?? "Checked nothing"}`;
  };
  expect(lint()).toBe("1 Checked 2 files");
  expect(lint()).toBe("1 Checked 2 files");
  put(dir, "src/b.ts", good);
  expect(lint()).toBe("0 Checked 2 files");
  expect(lint()).toBe("0 Checked nothing");
  put(dir, "src/b.ts", `${good}export const b =  a\n`);
  expect(lint()).toBe("1 Checked 1 file");
  put(dir, "src/b.ts", good);
  put(dir, "biome.json", JSON.stringify({ ...settings, linter: { enabled: false } }));
  expect(lint()).toBe("0 Checked 2 files");
  expect(readFileSync(`${dir}/src/made.ts`, "utf8")).toContain("  1");
});
