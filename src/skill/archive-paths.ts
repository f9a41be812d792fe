/** What every archive of a folder must fulfil: plain paths inside it, no duplicates, none both a file and a folder. */
import { insidePath } from "./path.ts";

/** An archive that is broken, or contains what no skill contains. `reason` is safe to show. */
export class ArchiveRefused extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`archive refused: ${reason}`);
    this.name = "ArchiveRefused";
    this.reason = reason;
  }
}

/** In UTF-16 units. */
const MAX_LENGTH = 8192;
/** Of the whole archive: a short path can name thousands of folders. */
const MAX_FOLDERS = 50_000;

/** What a folder holds, by name; `null`: a file. */
type Folder = Map<string, Folder | null>;

export class ArchivePaths {
  readonly #root: Folder = new Map();
  #files = 0;
  #folders = 0;

  /** Number of files entered. */
  get size(): number {
    return this.#files;
  }

  /** Adds a file; returns why it is refused, or `null`. Takes time and memory in proportion to the path. */
  enter(path: string): string | null {
    if (path.length > MAX_LENGTH)
      return `a path has ${path.length} characters; at most ${MAX_LENGTH} are allowed`;
    if (insidePath(path) !== path || path.includes("\\")) {
      return `the path ${JSON.stringify(path)} is not a plain relative path inside the folder`;
    }
    const folders = path.split("/");
    const name = folders.pop() ?? "";
    let folder = this.#root;
    for (const [at, part] of folders.entries()) {
      const known = folder.get(part);
      if (known === null) return `${folders.slice(0, at + 1).join("/")} is both a file and a folder`;
      if (known === undefined && ++this.#folders > MAX_FOLDERS)
        return `it has more than ${MAX_FOLDERS} folders`;
      const inner: Folder = known ?? new Map();
      folder.set(part, inner);
      folder = inner;
    }
    if (folder.has(name)) return `the path ${path} appears twice`;
    folder.set(name, null);
    this.#files++;
    return null;
  }
}
