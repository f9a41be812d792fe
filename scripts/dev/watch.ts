/** Watch mode: one call per burst of changes. */
import { existsSync, type FSWatcher, watch as watchFolder } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type FSWatcher as ChokidarWatcher, watch } from "chokidar";

const DEBOUNCE_MS = 150;
/** Folders without files of skills; watching them would only cost handles. */
const IGNORED = new Set([".git", "node_modules", "__pycache__", ".venv", ".hull"]);

interface Debounced {
  schedule: () => void;
  stop: () => void;
}

/** Calls `changed` 150 ms after the last `schedule`; the calls never overlap. */
export function debounced(changed: () => Promise<void>): Debounced {
  let timer: NodeJS.Timeout | undefined;
  let running = false;
  let again = false;
  const run = async (): Promise<void> => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    do {
      again = false;
      await changed();
    } while (again);
    running = false;
  };
  const schedule = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void run(), DEBOUNCE_MS);
  };
  return { schedule, stop: () => clearTimeout(timer) };
}

/** Calls `schedule` for each change under the roots, as soon as it has resolved. Returns a function that stops it. */
export async function watchRoots(
  roots: readonly string[],
  schedule: () => void,
): Promise<() => Promise<void>> {
  let stopped = false;
  // A link was replaced by a folder, or a folder by a link, so chokidar no longer sees its content.
  const reopening = debounced(async () => {
    await watcher.close();
    if (stopped) return;
    watcher = await open();
    if (stopped) await watcher.close();
    // For changes that were made in between.
    else schedule();
  });
  const targets = new WatchedFiles(reopening.schedule);
  /** A link whose target is gone; nothing else reports when the target returns. */
  const awaitTarget = async (link: string): Promise<void> => {
    const target = resolve(dirname(link), await readlink(link));
    targets.add([target]);
    if (existsSync(target)) reopening.schedule();
  };
  const awaitTargets = async (watcher: ChokidarWatcher): Promise<void> => {
    for (const folder of Object.keys(watcher.getWatched()))
      for (const link of await brokenLinks(folder)) await awaitTarget(link);
  };
  const onChange = async (event: string, path: string): Promise<void> => {
    schedule();
    if (event !== "change" && event !== "unlinkDir") return;
    const stats = await lstat(path).catch(() => null);
    if (stats === null || stats.isFile()) return;
    if (event === "change") reopening.schedule();
    else if (stats.isSymbolicLink()) await awaitTarget(path);
  };
  const open = async (): Promise<ChokidarWatcher> => {
    const watcher = watch([...roots], {
      ignoreInitial: true,
      ignored: (path) => IGNORED.has(basename(path)),
      // A replaced file (an editor's safe save, git checkout) is a change like any other.
      atomic: false,
    });
    const ready = new Promise<void>((resolve) => watcher.once("ready", resolve));
    watcher.on("all", (event, path) => void onChange(event, path).catch(schedule)).on("error", schedule);
    await ready;
    awaitTargets(watcher).catch(schedule);
    return watcher;
  };
  let watcher = await open();
  return async () => {
    stopped = true;
    reopening.stop();
    targets.stop();
    await watcher.close();
  };
}

/** The links of a folder that lead nowhere. */
async function brokenLinks(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name));
  return links.filter((link) => !existsSync(link));
}

/** Watches single files, which need not exist. It watches their folders, so that a replaced file stays watched. */
export class WatchedFiles {
  readonly #schedule: () => void;
  readonly #paths = new Set<string>();
  readonly #folders = new Map<string, FSWatcher>();

  constructor(schedule: () => void) {
    this.#schedule = schedule;
  }

  /** Watches these files too. @param paths absolute */
  add(paths: Iterable<string>): void {
    for (const path of paths) {
      this.#paths.add(path);
      const folder = dirname(path);
      if (this.#folders.has(folder)) continue;
      const watcher = this.#open(folder);
      if (watcher !== null) this.#folders.set(folder, watcher);
    }
  }

  stop(): void {
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  /** `null` if there is no such folder. */
  #open(folder: string): FSWatcher | null {
    try {
      const watcher = watchFolder(folder, (_, name) => {
        if (name === null || this.#paths.has(join(folder, name))) this.#schedule();
      });
      return watcher.on("error", () => {
        watcher.close();
        this.#folders.delete(folder);
      });
    } catch {
      return null;
    }
  }
}
