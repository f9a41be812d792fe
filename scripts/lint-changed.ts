/**
 * Checks with biome only the files of a checkout that have changed since they last passed: biome's findings depend only
 * on the file, the settings and biome's version. This takes a tenth of the time of a check of all files.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";

const REPO = join(import.meta.dirname, "..");
const PACKAGE = join(REPO, "node_modules", "@biomejs", "biome", "package.json");

const root = process.argv[2] ?? REPO;
/** The files that passed, each as a hash of all that its check depends on. */
const store = join(root, "node_modules", ".cache", "biome.json");
const settings = readFileSync(join(root, "biome.json"));
const { includes } = z
  .object({ files: z.object({ includes: z.array(z.string()) }) })
  .parse(JSON.parse(settings.toString())).files;

const common = createHash("sha256").update(readFileSync(PACKAGE)).update(settings);
const hashOf = (path: string): string =>
  common
    .copy()
    .update(path)
    .update("\0")
    .update(readFileSync(join(root, path)))
    .digest("base64");

// biome itself leaves out what the settings exclude, and what it cannot read.
const files = globSync(
  includes.filter((pattern) => !pattern.startsWith("!")),
  { cwd: root },
);
const hashes = new Map(
  files.filter((path) => statSync(join(root, path)).isFile()).map((path) => [path, hashOf(path)]),
);
const passed = new Set(
  existsSync(store) ? z.array(z.string()).parse(JSON.parse(readFileSync(store, "utf8"))) : [],
);
const changed = [...hashes].flatMap(([path, hash]) => (passed.has(hash) ? [] : [path]));

if (changed.length > 0) {
  const flags = ["--files-ignore-unknown=true", "--no-errors-on-unmatched", "--error-on-warnings"];
  const { status } = spawnSync(join(REPO, "node_modules", ".bin", "biome"), ["check", ...flags, ...changed], {
    cwd: root,
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}
if ((process.exitCode ?? 0) === 0) {
  mkdirSync(dirname(store), { recursive: true });
  writeFileSync(store, JSON.stringify([...hashes.values()]));
}
