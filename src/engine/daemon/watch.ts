/** Decides which file changes wake a daemon. Pure. */
import { globMatches } from "../../skill/glob.ts";
import type { DaemonOptions } from "../agent/spec.ts";

/** A change of a file of the daemon's session. */
export interface FileEvent {
  path: string;
  kind: "create" | "change" | "delete";
}

/** Whether a file is watched: by its path, the path of one of its folders, or a pattern. */
export function isWatched({ watch_paths }: { watch_paths: readonly string[] }, path: string): boolean {
  return watch_paths.some((given) => {
    const watched = given.replace(/^\.\//, "").replace(/(?<!\/)\/+$/, "");
    const everything = watched === "" || watched === ".";
    return everything || path === watched || path.startsWith(`${watched}/`) || globMatches(watched, path);
  });
}

/** The paths of the changes that count, without duplicates, in order. */
export function watchedPaths(
  options: Pick<DaemonOptions, "watch_paths" | "watch_events">,
  changes: readonly FileEvent[],
): string[] {
  const counted = changes.filter(
    ({ path, kind }) => options.watch_events.includes(kind) && isWatched(options, path),
  );
  return [...new Set(counted.map(({ path }) => path))];
}
