/** Watch mode (serving.md §1): one call per burst of changes under the roots. */
import { basename } from "node:path";
import { watch } from "chokidar";

const DEBOUNCE_MS = 150;
/** Folders that no skill's files are read from; watching them would only cost handles. */
const IGNORED = new Set([".git", "node_modules", "__pycache__", ".venv", ".hull"]);

/** Calls `changed` 150 ms after the last change; never twice at once. Answers how to stop. */
export async function watchRoots(
  roots: readonly string[],
  changed: () => Promise<void>,
): Promise<() => Promise<void>> {
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
  const watcher = watch([...roots], {
    ignoreInitial: true,
    ignored: (path) => IGNORED.has(basename(path)),
    // A replaced file (an editor's safe save, git checkout) is a change like any other.
    atomic: false,
  });
  const ready = new Promise<void>((resolve) => watcher.once("ready", resolve));
  watcher.on("all", schedule).on("error", schedule);
  await ready;
  return async () => {
    clearTimeout(timer);
    await watcher.close();
  };
}
