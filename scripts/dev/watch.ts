/** Watch mode (serving.md §1): one call per burst of changes under the roots. */
import { type FSWatcher, watch } from "node:fs";

const DEBOUNCE_MS = 150;

/** Calls `changed` 150 ms after the last change; never twice at once. Answers how to stop. */
export function watchRoots(roots: readonly string[], changed: () => Promise<void>): () => void {
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
  const watchers = roots.map((root): FSWatcher => {
    const watcher = watch(root, { recursive: true }, schedule);
    // A folder that vanishes while it is being walked ends its own watch only.
    watcher.on("error", schedule);
    return watcher;
  });
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
