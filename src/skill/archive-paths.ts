/** Checks the paths of an archive: plain ones inside its folder, no duplicates, none both a file and a folder. */
import { insidePath } from "./path.ts";

export class ArchivePaths {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();

  /** Number of files entered. */
  get size(): number {
    return this.#files.size;
  }

  /** Adds a file; returns why it is refused, or `null`. */
  enter(path: string): string | null {
    if (insidePath(path) !== path || path.includes("\\")) {
      return `the path ${JSON.stringify(path)} is not a plain relative path inside the folder`;
    }
    if (this.#files.has(path) || this.#folders.has(path)) return `the path ${path} appears twice`;
    const segments = path.split("/");
    for (let i = 1; i < segments.length; i++) {
      const folder = segments.slice(0, i).join("/");
      if (this.#files.has(folder)) return `${folder} is both a file and a folder`;
      this.#folders.add(folder);
    }
    this.#files.add(path);
    return null;
  }
}
