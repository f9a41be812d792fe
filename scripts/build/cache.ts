/**
 * A build's cache of each skill folder, so that the next build reads only changes: within a process, and between
 * processes in a file of the project's `.hull`. A folder is unchanged while the paths, sizes, times, inodes and modes
 * of its files are.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { replaceFile } from "../replace-file.ts";
import { codeIdentity } from "./code-identity.ts";
import { type BuiltSkill, type Outcome, type ReadAgain, stampOf } from "./skill.ts";
import type { FoundFile, SkillFolder } from "./skill-folder.ts";

/** A file written within this time before, in ms, may be written again within the same tick of its clock. */
const RACY_MS = 50;

interface Entry {
  fingerprint: string;
  outcome: Outcome;
}

/** An entry in the file: without what follows from the folder, and without bytes. */
interface StoredEntry extends Omit<Outcome, "folder" | "skill" | "positions"> {
  fingerprint: string;
  skill: Omit<BuiltSkill, "folder" | "contents"> | null;
  positions: [string, { line: number; column: number }][];
}

interface StoredCache {
  /** Identifies the code that made the entries. */
  code: string;
  entries: [path: string, entry: StoredEntry][];
}

export class BuildCache {
  readonly #file: string | null;
  readonly #entries = new Map<string, Entry>();
  readonly #stored: Map<string, StoredEntry>;
  #changed = false;
  /** How many skills the last build had to read again. */
  rebuilt = 0;

  /** @param file where `save` writes; `null`: nowhere */
  constructor(file: string | null = null, stored: Iterable<[string, StoredEntry]> = []) {
    this.#file = file;
    this.#stored = new Map(stored);
  }

  /** The cache of an earlier process of the project; an empty one if it is unusable. */
  static async open(projectDir: string): Promise<BuildCache> {
    const file = join(projectDir, ".hull", "cache", "skills.json");
    try {
      const { code, entries }: StoredCache = JSON.parse(await readFile(file, "utf8"));
      return new BuildCache(file, code === codeIdentity() ? entries : []);
    } catch {
      return new BuildCache(file);
    }
  }

  /**
   * @param pluginStamp the present state of its plugin's folder
   * @param again reads the published content of the folder, if the cache comes from an earlier process
   */
  get(
    folder: SkillFolder,
    fingerprint: string,
    again: ReadAgain,
    pluginStamp: () => string | null,
  ): Outcome | undefined {
    const entry = this.#entries.get(keyOf(folder)) ?? this.#restore(folder, again);
    if (entry?.fingerprint !== fingerprint) return undefined;
    const { imported, stamp, plugin } = entry.outcome;
    if (plugin !== null && plugin !== pluginStamp()) return undefined;
    return imported !== null && stampOf(imported) === stamp ? entry.outcome : undefined;
  }

  /** @param files the files of the fingerprint, checked before they were read */
  set(fingerprint: string, outcome: Outcome, files: readonly FoundFile[], lookedAt: number): void {
    this.rebuilt++;
    this.#changed = true;
    const key = keyOf(outcome.folder);
    this.#stored.delete(key);
    const newest = files.reduce((time, { stats }) => Math.max(time, stats.ctimeMs, stats.mtimeMs), 0);
    if (lookedAt - newest < RACY_MS) this.#entries.delete(key);
    else this.#entries.set(key, { fingerprint, outcome });
  }

  /** Removes all folders except these. */
  keep(list: readonly SkillFolder[]): void {
    const folders = new Set(list.map(keyOf));
    for (const map of [this.#entries, this.#stored]) {
      for (const path of map.keys()) {
        if (folders.has(path)) continue;
        map.delete(path);
        this.#changed = true;
      }
    }
  }

  /** Writes the file if something changed. A failure to write only means that there is no cache. */
  async save(): Promise<void> {
    if (this.#file === null || !this.#changed) return;
    const entries: StoredCache["entries"] = [
      ...this.#stored,
      ...Array.from(this.#entries, ([path, entry]): [string, StoredEntry] => [path, stored(entry)]),
    ];
    const cache: StoredCache = { code: codeIdentity(), entries };
    try {
      await mkdir(dirname(this.#file), { recursive: true });
      await writeFile(join(dirname(this.#file), ".gitignore"), "*\n");
      await replaceFile(this.#file, JSON.stringify(cache));
      this.#changed = false;
    } catch {
      // A read-only project is built without a cache each time.
    }
  }

  #restore(folder: SkillFolder, again: ReadAgain): Entry | undefined {
    const key = keyOf(folder);
    const entry = this.#stored.get(key);
    if (entry === undefined) return undefined;
    this.#stored.delete(key);
    const { fingerprint, skill, positions, ...same } = entry;
    const outcome: Outcome = {
      ...same,
      folder,
      skill: skill && { ...skill, folder: folder.path, contents: (plugins) => again(skill.digest, plugins) },
      positions: new Map(positions),
    };
    const restored = { fingerprint, outcome };
    this.#entries.set(key, restored);
    return restored;
  }
}

/** A folder is built once for each slug under which it is served. */
const keyOf = ({ path, slug }: SkillFolder): string => (slug === undefined ? path : `${path}\n${slug}`);

function stored({ fingerprint, outcome }: Entry): StoredEntry {
  const { folder: _, skill, positions, ...same } = outcome;
  return { ...same, fingerprint, skill: skill && withoutSources(skill), positions: [...positions] };
}

const withoutSources = ({ folder: _, contents: __, ...skill }: BuiltSkill): StoredEntry["skill"] => skill;
