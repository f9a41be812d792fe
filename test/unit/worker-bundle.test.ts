/** The Worker's modules: what every isolate compiles, and what compiling them costs. */
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { ENTRY, readModules, writeModules } from "../../scripts/dev/worker-modules.ts";
import { once } from "../../src/memo.ts";
import { entryModules } from "../bench/entry-modules.ts";
import { startRatio } from "../bench/isolate-start.ts";

const REPO = fileURLToPath(new URL("../..", import.meta.url));
/** KiB, gzipped. */
const MOST_AT_START = 125;
/** It is 1.8 with what the entry imports, and 3.7 with all parts; how busy the machine is hardly changes it. */
const MOST_START_RATIO = 2.5;
const bundle = once(() => entryModules(REPO));

test("a starting isolate compiles neither the engine nor sessions, pages, parsers or dialects", async () => {
  const { modules, entry } = await bundle();
  const files = Object.values(entry).flatMap(({ inputs }) => Object.keys(inputs));
  expect(files).toContain("src/http/handlers.ts");
  const parts =
    /^(?:src\/(?:engine\/(?:agent|workflow)|console\/.*-page|session\/(?:conversation\/conversation|workflow|task)|http\/(?:mcp|parts|workflows)|model\/(?:anthropic|openai-chat)|skill\/(?:assemble|stored-skill))|node_modules\/(?:yaml|smol-toml|@cfworker)\/)/;
  expect(files.filter((file) => parts.test(file))).toEqual([]);
  const texts = Object.keys(entry).map((path) => modules.get(basename(path)));
  expect(gzipSync(texts.join("\n"), { level: 9 }).length / 1024).toBeLessThan(MOST_AT_START);
  // Only the build needs the shapes of answers.
  const described = [...modules.values()].filter((text) => text.includes("Messages that arrived too late"));
  expect(described).toEqual([]);
  // One module of what the entry imports, and the entry.
  expect(texts).toHaveLength(2);
});

test.skipIf(process.platform !== "linux")(
  "an isolate starts with Hull in at most 2.5 times the processor time that it takes with the same bytes as texts",
  async () => {
    const { modules } = await bundle();
    expect(await startRatio(REPO, modules, ENTRY)).toBeLessThan(MOST_START_RATIO);
  },
);

test("files that a folder has already stay untouched, and foreign ones go", async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-modules-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const modules = new Map([
    [ENTRY, 'import "./part-a.js";'],
    ["part-a.js", "1;"],
  ]);
  await writeModules(dir, modules);
  expect(await readModules(dir)).toEqual(modules);
  await utimes(join(dir, "part-a.js"), 1, 1);
  await writeFile(join(dir, "part-old.js"), "0;");
  await writeModules(dir, new Map([...modules, [ENTRY, "2;"]]));
  expect((await readdir(dir)).sort()).toEqual(["part-a.js", ENTRY]);
  expect((await stat(join(dir, "part-a.js"))).mtimeMs).toBe(1000);
});
