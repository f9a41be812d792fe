/** The runner's programs in other languages are whole files of theirs. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { removeTree } from "../../container/tree.ts";

const FOLDER = fileURLToPath(new URL("../../container/programs/", import.meta.url));
const names = readdirSync(FOLDER);

test("the folder contains only Python, JavaScript and shell files", () => {
  expect(names.filter((name) => !/^[a-z_]+\.(?:py|mjs|sh)$/.test(name))).toEqual([]);
  expect(names.length).toBeGreaterThan(10);
});

test("Python compiles each of them, Node and bash parse theirs", async () => {
  const compiled = mkdtempSync(join(tmpdir(), "hull-programs-"));
  try {
    for (const name of names) {
      const file = join(FOLDER, name);
      if (name.endsWith(".mjs")) execFileSync(process.execPath, ["--check", file]);
      if (name.endsWith(".sh")) execFileSync("bash", ["-n", file]);
    }
    const python = names.filter((name) => name.endsWith(".py")).map((name) => join(FOLDER, name));
    execFileSync("python3", ["-X", `pycache_prefix=${compiled}`, "-m", "py_compile", ...python]);
  } finally {
    await removeTree(compiled);
  }
});
