/**
 * Caches what each start needs and esbuild makes from Hull's own code: the Worker's modules and the runner. Making them
 * takes more processor time than the rest of a start, so they are cached where Node stores its compiled code, until one
 * of their source files changes.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, type Stats, statSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { dirname, join } from "node:path";
import { codeIdentity } from "../build/code-identity.ts";
import { replaceFile } from "../replace-file.ts";
import { REPO_DIR } from "./paths.ts";

/** One cached folder, with the files from which it was made and their state at that time. */
interface CacheEntry {
  /** The folder of the Hull that made it. */
  repo: string;
  code: string;
  folder: string;
  /** Absolute paths of the files from which it was made. */
  inputs: string[];
  /** The files in `folder`. */
  outputs: string[];
  stamp: string;
}

/** Files that determine what esbuild reads and how; esbuild itself does not report them. */
const SETTINGS = ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.base.json"];
/** A file written within this time before, in ms, may be written again within the same tick of its clock. */
const RACY_MS = 50;
/** How long an entry that no start uses is kept, in ms. */
const UNUSED_MS = 30 * 86_400_000;
/**
 * How long a replaced entry is kept, in ms, since a server that was started from it may restart its Worker or its
 * runner.
 */
const REPLACED_MS = 7 * 86_400_000;

/**
 * Returns a folder with what `make` writes: a cached one, or `dir`, which it then fills. If caching fails, the next
 * start only has to make everything again.
 * @param name unique to `make`
 * @param make writes into `dir`, and returns the absolute paths of the files that it read and of the folders that it
 * listed
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

/** The cached folder, unless a source file has changed. */
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
  await replaceFile(join(cacheDir, `${title}.json`), JSON.stringify(index));
  await sweep(cacheDir);
}

/**
 * Removes entries that no start uses: unused for long, made by a Hull that is gone, or replaced and too old for a
 * restart.
 */
async function sweep(cacheDir: string): Promise<void> {
  const names = await readdir(cacheDir);
  const used = new Set<string>();
  const ageOf = async (path: string): Promise<number> => Date.now() - (await stat(path)).mtimeMs;
  for (const name of names.filter((each) => each.endsWith(".json"))) {
    const path = join(cacheDir, name);
    const entry = entryOf(await readFile(path, "utf8"));
    if (entry !== null && existsSync(entry.repo) && (await ageOf(path)) < UNUSED_MS) used.add(entry.folder);
    else await rm(path, { force: true });
  }
  for (const path of names.filter((each) => !each.endsWith(".json")).map((name) => join(cacheDir, name))) {
    if (used.has(path) || (await ageOf(path)) < REPLACED_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/** `null`: the start that wrote it died, or the disk was full. */
function entryOf(text: string): CacheEntry | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A text that changes whenever one of the files may have changed. */
function stampOf({ folder, inputs, outputs }: Pick<CacheEntry, "folder" | "inputs" | "outputs">): string {
  const hash = createHash("sha256");
  for (const path of [...inputs, ...outputs.map((name) => join(folder, name))]) {
    const stats = statsOf(path);
    hash.update(JSON.stringify([path, stats?.size, timeOf(stats)]));
  }
  return hash.digest("hex");
}

const statsOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

/** When a file was last written or replaced; 0 if it does not exist. */
const timeOf = (stats: Stats | undefined): number =>
  stats === undefined ? 0 : Math.max(stats.mtimeMs, stats.ctimeMs);
