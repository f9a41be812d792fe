/** Which file a command starts. */
import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Commands } from "../../container/commands.ts";
import { removeTree } from "../../container/tree.ts";

test("a version manager's shim is asked once which Python it starts", async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-shim-"));
  try {
    const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" });
    const file = python.trim();
    await writeFile(join(dir, "python3"), `#!/bin/sh\necho asked >> "$0.log"\nexec '${file}' "$@"\n`);
    await chmod(join(dir, "python3"), 0o755);
    const commands = new Commands({ PATH: dir });
    for (let time = 0; time < 2; time++)
      expect(await commands.resolve("python3", dir)).toEqual({ file: "./python3", argv0: "python3" });
    const elsewhere = join(dir, "nothing");
    for (let time = 0; time < 2; time++)
      expect(await commands.resolve("python3", elsewhere)).toEqual({ file, argv0: file });
    expect(await readFile(join(dir, "python3.log"), "utf8")).toBe("asked\n");
  } finally {
    await removeTree(dir);
  }
});
