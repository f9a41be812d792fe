/** Where the runner of `hull dev` keeps its state, and when that is removed. */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { removeTree } from "../../../container/tree.ts";
import { removeUnusedRunners, runnerFolder } from "../../../scripts/dev/runner-folder.ts";

let dir = "";
const stateOf = (name: string): string => {
  const state = join(dir, name);
  mkdirSync(state, { recursive: true });
  return state;
};
const kept = (): string[] => readdirSync(join(dir, "cache/hull/runners")).sort();

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), "hull-runners-")));
  vi.stubEnv("XDG_CACHE_HOME", join(dir, "cache"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await removeTree(dir);
});

test("a state folder leads to one folder outside, which goes after the link to it", async () => {
  const [one, two] = [stateOf("one"), stateOf("two")];
  const folder = await runnerFolder(one);
  expect(folder.startsWith(join(dir, "cache/hull/runners/"))).toBe(true);
  expect([lstatSync(folder).mode & 0o777, await realpath(join(one, "runner"))]).toEqual([0o700, folder]);
  const other = await runnerFolder(two);
  expect(await runnerFolder(one)).toBe(folder);
  expect(kept()).toEqual(
    [folder, `${folder}.link`, other, `${other}.link`]
      .map((path) => path.slice(dir.length + "/cache/hull/runners/".length))
      .sort(),
  );
  rmSync(one, { recursive: true });
  await removeUnusedRunners();
  expect(kept()).toEqual(
    [other, `${other}.link`].map((path) => path.slice(dir.length + "/cache/hull/runners/".length)),
  );
  // The cache was emptied.
  rmSync(join(dir, "cache"), { recursive: true });
  expect(existsSync(await runnerFolder(two))).toBe(true);
});

test("the folder of an earlier Hull moves; without a cache that can be written it stays", async () => {
  const state = stateOf("state");
  mkdirSync(join(state, "runner"));
  writeFileSync(join(state, "runner/journal"), "old");
  writeFileSync(join(dir, "cache"), "no folder");
  expect(await runnerFolder(state)).toBe(join(state, "runner"));
  expect(readFileSync(join(state, "runner/journal"), "utf8")).toBe("old");
  rmSync(join(dir, "cache"));
  expect(readdirSync(await runnerFolder(state))).toEqual([]);
  expect(lstatSync(join(state, "runner")).isSymbolicLink()).toBe(true);
});
