/** Watch mode: one call per burst of changes. */
import { existsSync } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type FSWatcher, watch } from "chokidar";

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

/**
 * Calls `schedule` for each change under the roots, except in the folder of state. It watches once this promise has
 * resolved. Returns a function that stops it.
 */
export async function watchRoots(
  roots: readonly string[],
  stateDir: string,
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
  /** Targets of links that are gone; nothing else reports when they return. */
  const targets = watch([], { depth: 0 }).on("error", schedule);
  targets.on("all", (_, target) => {
    targets.unwatch(target);
    reopening.schedule();
  });
  const awaitTarget = async (link: string): Promise<void> => {
    targets.add(resolve(dirname(link), await readlink(link)));
  };
  const awaitTargets = async (watcher: FSWatcher): Promise<void> => {
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
  const open = async (): Promise<FSWatcher> => {
    const watcher = watch([...roots], {
      ignoreInitial: true,
      ignored: (path) => IGNORED.has(basename(path)) || path === stateDir,
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
    await targets.close();
    await watcher.close();
  };
}

/** The links of a folder that lead nowhere. */
async function brokenLinks(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name));
  return links.filter((link) => !existsSync(link));
}

/** Watches single files, which need not exist. @param initial also calls `schedule` for each file that exists */
export function watchFiles(schedule: () => void, initial: boolean): FSWatcher {
  return watch([], { ignoreInitial: !initial, atomic: false }).on("all", schedule).on("error", schedule);
}
