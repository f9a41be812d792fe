/** What a build that was killed leaves in the folder of builds. */
import { randomUUID } from "node:crypto";
import { existsSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeBuild } from "../../../scripts/build/write.ts";
import { build, folder, skillText } from "./folder.ts";

test("half of a file goes after a day; what another build writes now stays, and so do files of others", async () => {
  const project = folder({ "skills/a/SKILL.md": skillText("A") });
  const out = join(project, ".hull/build");
  const write = async () => writeBuild(out, await build(project), new Date(0));
  const first = await write();
  const left = (
    [
      ["diagnostics.json", 90_000, false],
      ["diagnostics.json", 0, true],
      [`catalog/${first?.id}`, 90_000, false],
      [`catalog/${first?.id}`, 0, true],
      ["report", 90_000, true],
    ] as const
  ).map(([name, seconds, stays]) => {
    const path = join(out, `${name}.${randomUUID()}.tmp`);
    const time = Date.now() / 1000 - seconds;
    writeFileSync(path, "half");
    utimesSync(path, time, time);
    return { path, stays };
  });
  expect(await write()).toEqual(first);
  expect(left.map(({ path }) => ({ path, stays: existsSync(path) }))).toEqual(left);
});
