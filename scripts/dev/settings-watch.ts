/** Reports when a file of settings differs from the state at the server's start. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CONFIG_FILE } from "../config.ts";
import { debounced, watchFiles } from "./watch.ts";

/** Files that `hull dev` reads once, at its start. */
const FILES = [CONFIG_FILE, ".env", ".dev.vars"];

const read = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

/** The present content of the files, by name. A missing one counts as empty. */
export async function readSettings(projectDir: string): Promise<Map<string, string>> {
  const texts = await Promise.all(FILES.map((name) => read(join(projectDir, name))));
  return new Map(FILES.map((name, i) => [name, texts[i] ?? ""]));
}

/**
 * Announces each change with one line, and also a change that is undone. Returns a function that stops it.
 * @param applied the content at the server's start
 */
export function watchSettings(
  projectDir: string,
  applied: ReadonlyMap<string, string>,
  announce: (line: string) => void,
): () => Promise<void> {
  let seen = applied;
  const timer = debounced(async () => {
    const now = await readSettings(projectDir);
    for (const [name, text] of now) {
      if (text === seen.get(name)) continue;
      announce(
        text === applied.get(name)
          ? `${name} is again as it was at the start.`
          : `${name} changed. Restart hull dev to apply it.`,
      );
    }
    seen = now;
  });
  // Also compares the files as they are when it begins.
  const files = watchFiles(timer.schedule, true).add(FILES.map((name) => join(projectDir, name)));
  return async () => {
    await files.close();
    timer.stop();
  };
}
