/** The outputs that starts make of Hull's own code are kept until one of their source files changes. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { buildCached } from "../../../scripts/dev/build-cache.ts";
import { until } from "../../support/runner.ts";

/** Longer than a file counts as one that is still being written, in ms. */
const SETTLED_MS = 100;

test("an output is rebuilt after a change of its inputs, or of itself, and only then", async () => {
  const root = await mkdtemp(join(tmpdir(), "hull-made-"));
  onTestFinished(() => rm(root, { recursive: true }));
  const cacheDir = join(root, "cache");
  const source = join(root, "source.txt");
  const write = async (text: string): Promise<void> => {
    await writeFile(source, text);
    await until(
      async () => Date.now() - (await stat(source)).ctimeMs,
      (age) => age > SETTLED_MS,
    );
  };
  let starts = 0;
  const start = async (
    at: string | null = cacheDir,
  ): Promise<{ text: string; made: boolean; dir: string }> => {
    const own = join(root, `start-${++starts}`);
    let made = false;
    const make = async (to: string): Promise<string[]> => {
      made = true;
      await mkdir(join(to, "part"));
      await writeFile(join(to, "part", "out.txt"), await readFile(source, "utf8"));
      return [source];
    };
    const dir = await buildCached("thing", own, make, at);
    return { text: await readFile(join(dir, "part", "out.txt"), "utf8"), made, dir };
  };
  await write("one");
  expect(await start()).toEqual({ text: "one", made: true, dir: join(root, "start-1") });
  const kept = await start();
  expect(kept).toMatchObject({ text: "one", made: false });
  await write("two");
  expect(await start()).toMatchObject({ text: "two", made: true });
  const latest = await start();
  expect(latest).toMatchObject({ text: "two", made: false });
  // A server that started from the earlier one may start from it again, for a day.
  expect(await readFile(join(kept.dir, "part", "out.txt"), "utf8")).toBe("one");
  await utimes(kept.dir, 1, 1);
  // As a start leaves it that dies, or meets a full disk, while it writes.
  await writeFile(join(cacheDir, "cut.json"), "{");
  await rm(join(latest.dir, "part", "out.txt"));
  expect(await start()).toMatchObject({ text: "two", made: true });
  const left = await readdir(cacheDir);
  expect([left.includes(basename(kept.dir)), left.includes("cut.json")]).toEqual([false, false]);
  expect(await start()).toMatchObject({ text: "two", made: false });
  expect(await start(null)).toMatchObject({ text: "two", made: true });
  await rm(cacheDir, { recursive: true });
  await writeFile(cacheDir, "not a folder");
  expect(await start()).toMatchObject({ text: "two", made: true });
});
