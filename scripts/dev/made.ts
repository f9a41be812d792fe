/**
 * What each start needs of Hull's own code and esbuild makes: the Worker's modules and the runner. Making it takes more processor
 * time than the rest of a start, so it is kept where Node keeps what it compiled, until a file changes from which it was made.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, type Stats, statSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { dirname, join } from "node:path";
import { codeIdentity } from "../build/code-identity.ts";
import { REPO_DIR } from "./places.ts";

/** What is kept of one thing, and of which state of which files it was made. */
interface Kept {
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
/** How long something is kept that no start uses, in ms. */
const UNUSED_MS = 30 * 86_400_000;
/** How long what was replaced stays, in ms: a server that started from it may start its Worker or its runner again. */
const REPLACED_MS = 7 * 86_400_000;

/**
 * Answers a folder with what `make` writes: one that is kept, or `dir`, into which it then makes it. A failure to keep it only means
 * that the next start makes it again.
 * @param name unique to `make`
 * @param make writes into `dir` and answers the absolute paths of the files that it read, and of the folders that it listed
 * @param shelf where it is kept; `null`: nowhere
 */
export async function madeOnce(
  name: string,
  dir: string,
  make: (dir: string) => Promise<string[]>,
  shelf = defaultShelf(),
): Promise<string> {
  const title = `${name}-${createHash("sha256").update(REPO_DIR).digest("hex").slice(0, 16)}`;
  const kept = shelf === null ? null : await find(shelf, title);
  if (kept !== null) return kept;
  await mkdir(dir, { recursive: true });
  const begun = Date.now();
  const inputs = await make(dir);
  if (shelf !== null) await keep(shelf, title, dir, inputs, begun).catch(() => {});
  return dir;
}

function defaultShelf(): string | null {
  const cache = getCompileCacheDir();
  return cache === undefined ? null : join(dirname(cache), "made");
}

/** The folder that is kept, unless a file changed. */
async function find(shelf: string, title: string): Promise<string | null> {
  const index = join(shelf, `${title}.json`);
  try {
    const kept: Kept = JSON.parse(await readFile(index, "utf8"));
    if (kept.code !== codeIdentity() || kept.stamp !== stampOf(kept)) return null;
    const now = new Date();
    for (const path of [index, kept.folder]) await utimes(path, now, now).catch(() => {});
    return kept.folder;
  } catch {
    return null;
  }
}

async function keep(
  shelf: string,
  title: string,
  dir: string,
  read: readonly string[],
  begun: number,
): Promise<void> {
  const inputs = [...read, ...SETTINGS.map((name) => join(REPO_DIR, name))];
  const newest = Math.max(...inputs.map((path) => timeOf(statsOf(path))));
  if (begun - newest < RACY_MS) return;
  const folder = join(shelf, `${title}-${randomUUID()}`);
  await cp(dir, folder, { recursive: true });
  const outputs = await readdir(folder, { recursive: true });
  const kept = { folder, inputs, outputs };
  const index: Kept = { ...kept, repo: REPO_DIR, code: codeIdentity(), stamp: stampOf(kept) };
  const temporary = `${folder}.json`;
  await writeFile(temporary, JSON.stringify(index));
  await rename(temporary, join(shelf, `${title}.json`));
  await sweep(shelf);
}

/** Removes what no start uses: for long, or of a Hull that is gone, or what was replaced and nothing will start from any more. */
async function sweep(shelf: string): Promise<void> {
  const names = await readdir(shelf);
  const used = new Set<string>();
  const ageOf = async (path: string): Promise<number> => Date.now() - (await stat(path)).mtimeMs;
  for (const name of names.filter((each) => each.endsWith(".json"))) {
    const path = join(shelf, name);
    const { repo, folder }: Kept = JSON.parse(await readFile(path, "utf8"));
    if (existsSync(repo) && (await ageOf(path)) < UNUSED_MS) used.add(folder);
    else await rm(path, { force: true });
  }
  for (const path of names.filter((each) => !each.endsWith(".json")).map((name) => join(shelf, name))) {
    if (used.has(path) || (await ageOf(path)) < REPLACED_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/** Changes whenever one of the files may have changed. */
function stampOf({ folder, inputs, outputs }: Pick<Kept, "folder" | "inputs" | "outputs">): string {
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
