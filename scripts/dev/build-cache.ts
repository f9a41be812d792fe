/**
 * What each start needs of Hull's own code and esbuild makes: the Worker's modules and the runner. Making it takes more processor
 * time than the rest of a start, so it is cached where Node keeps what it compiled, until a file changes from which it was made.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, type Stats, statSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { dirname, join } from "node:path";
import { codeIdentity } from "../build/code-identity.ts";
import { REPO_DIR } from "./paths.ts";

/** One cached folder, and of which state of which files it was made. */
interface CacheEntry {
  /** Where the Hull is that made it. */
  repo: string;
  code: string;
  folder: string;
  /** Absolute paths of what it was made of. */
  inputs: string[];
  /** The files in `folder`. */
  outputs: string[];
  stamp: string;
}

/** Files that decide what esbuild reads and how. It does not report them itself. */
const SETTINGS = ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.base.json"];
/** A file written within this time before, in ms, may be written again within the same tick of its clock. */
const RACY_MS = 50;
/** How long an entry stays that no start uses, in ms. */
const UNUSED_MS = 30 * 86_400_000;
/** How long what was replaced stays, in ms: a server that started from it may start its Worker or its runner again. */
const REPLACED_MS = 7 * 86_400_000;

/**
 * Answers a folder with what `make` writes: a cached one, or `dir`, into which it then makes it. A failure to cache it only
 * means that the next start makes it again.
 * @param name unique to `make`
 * @param make writes into `dir` and answers the absolute paths of the files that it read, and of the folders that it listed
 * @param cacheDir where it is cached; `null`: nowhere
 */
export async function buildCached(
  name: string,
  dir: string,
  make: (dir: string) => Promise<string[]>,
  cacheDir = defaultCacheDir(),
): Promise<string> {
  const title = `${name}-${createHash("sha256").update(REPO_DIR).digest("hex").slice(0, 16)}`;
  const cached = cacheDir === null ? null : await find(cacheDir, title);
  if (cached !== null) return cached;
  await mkdir(dir, { recursive: true });
  const begun = Date.now();
  const inputs = await make(dir);
  if (cacheDir !== null) await store(cacheDir, title, dir, inputs, begun).catch(() => {});
  return dir;
}

function defaultCacheDir(): string | null {
  const cache = getCompileCacheDir();
  return cache === undefined ? null : join(dirname(cache), "made");
}

/** The cached folder, unless a file changed. */
async function find(cacheDir: string, title: string): Promise<string | null> {
  const index = join(cacheDir, `${title}.json`);
  try {
    const entry: CacheEntry = JSON.parse(await readFile(index, "utf8"));
    if (entry.code !== codeIdentity() || entry.stamp !== stampOf(entry)) return null;
    const now = new Date();
    for (const path of [index, entry.folder]) await utimes(path, now, now).catch(() => {});
    return entry.folder;
  } catch {
    return null;
  }
}

async function store(
  cacheDir: string,
  title: string,
  dir: string,
  read: readonly string[],
  begun: number,
): Promise<void> {
  const inputs = [...read, ...SETTINGS.map((name) => join(REPO_DIR, name))];
  const newest = Math.max(...inputs.map((path) => timeOf(statsOf(path))));
  if (begun - newest < RACY_MS) return;
  const folder = join(cacheDir, `${title}-${randomUUID()}`);
  await cp(dir, folder, { recursive: true });
  const outputs = await readdir(folder, { recursive: true });
  const entry = { folder, inputs, outputs };
  const index: CacheEntry = { ...entry, repo: REPO_DIR, code: codeIdentity(), stamp: stampOf(entry) };
  const temporary = `${folder}.json`;
  await writeFile(temporary, JSON.stringify(index));
  await rename(temporary, join(cacheDir, `${title}.json`));
  await sweep(cacheDir);
}

/** Removes what no start uses: for long, or of a Hull that is gone, or what was replaced and nothing will start from any more. */
async function sweep(cacheDir: string): Promise<void> {
  const names = await readdir(cacheDir);
  const used = new Set<string>();
  const ageOf = async (path: string): Promise<number> => Date.now() - (await stat(path)).mtimeMs;
  for (const name of names.filter((each) => each.endsWith(".json"))) {
    const path = join(cacheDir, name);
    const { repo, folder }: CacheEntry = JSON.parse(await readFile(path, "utf8"));
    if (existsSync(repo) && (await ageOf(path)) < UNUSED_MS) used.add(folder);
    else await rm(path, { force: true });
  }
  for (const path of names.filter((each) => !each.endsWith(".json")).map((name) => join(cacheDir, name))) {
    if (used.has(path) || (await ageOf(path)) < REPLACED_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/** Changes whenever one of the files may have changed. */
function stampOf({ folder, inputs, outputs }: Pick<CacheEntry, "folder" | "inputs" | "outputs">): string {
  const hash = createHash("sha256");
  for (const path of [...inputs, ...outputs.map((name) => join(folder, name))]) {
    const stats = statsOf(path);
    hash.update(JSON.stringify([path, stats?.size, timeOf(stats)]));
  }
  return hash.digest("hex");
}

const statsOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

/** When a file was last written or replaced; 0 where there is none. */
const timeOf = (stats: Stats | undefined): number =>
  stats === undefined ? 0 : Math.max(stats.mtimeMs, stats.ctimeMs);
