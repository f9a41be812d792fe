/**
 * A session's files: the manifest and small contents in the object's SQLite, other contents in R2. A change is made only
 * after its content is stored, and all changes of one call become visible together. Of two writers the later one wins,
 * unless its change has a condition.
 */

import {
  type FileChange,
  type FileIntent,
  firstContents,
  type Manifest,
  type Outcome,
  type Refusal,
  type SmallContent,
  type StoredContent,
  type WorkspaceFile,
} from "../../run/workspace/access.ts";
import { madeBy, writeRefusal } from "../../run/workspace/write-rules.ts";
import { WORKSPACE_LIMITS } from "../../tool/workspace-path.ts";
import { hasSchema, migrate } from "../migrate.ts";
import { select } from "../sql.ts";
import { Contents } from "./contents.ts";

/** The table that holds the version of the workspace's tables. They are created with its first file. */
const WORKSPACE_VERSIONS = "workspace_version";
/** One step per version; a deployed step never changes. */
const WORKSPACE_STEPS: readonly string[] = [
  `CREATE TABLE workspace (
     id TEXT PRIMARY KEY, version INTEGER NOT NULL, files INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE workspace_file (
     path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, size INTEGER NOT NULL, executable INTEGER NOT NULL,
     modified_at INTEGER NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX workspace_file_by_content ON workspace_file (sha256);
   CREATE TABLE workspace_object (
     key TEXT PRIMARY KEY, state TEXT NOT NULL, sha256 TEXT, upload_id TEXT, due_at INTEGER) WITHOUT ROWID;
   CREATE INDEX workspace_object_by_content ON workspace_object (sha256);
   CREATE INDEX workspace_object_by_due ON workspace_object (due_at) WHERE due_at IS NOT NULL;
   CREATE TABLE workspace_change (
     version INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL);`,
];

const FILE_TABLES = ["workspace", "workspace_file", "workspace_change"] as const;

/** Forgets all files of a workspace; R2 keeps their contents. Call it in a transaction. */
export function forgetFiles(sql: SqlStorage): void {
  if (!hasSchema(sql, WORKSPACE_VERSIONS)) return;
  for (const table of [...FILE_TABLES, "workspace_object"]) sql.exec(`DELETE FROM ${table}`);
}

/** How many changes to remember. */
const REMEMBERED = 10_000;

interface WorkspaceHost {
  storage: DurableObjectStorage;
  /** Binding `FILES`. */
  bucket: R2Bucket;
  /** Prefix of every key in R2, with a final `/`; no other session's prefix begins with it. */
  prefix: string;
  /** Called after changes within the same transaction, so that its writes are stored with them. */
  changed?(changes: readonly WatchedChange[]): void;
  /** Unix ms; default: the clock. */
  now?: () => number;
  /** Smaller limits, for tests. */
  limits?: { bytes: number; files: number };
}

/** A completed change. */
export interface WatchedChange {
  path: string;
  kind: "create" | "change" | "delete";
  /** Version of the workspace; every change has its own, counted from 1. */
  version: number;
}

type Row = Omit<WorkspaceFile, "executable"> & { executable: number };
type Totals = { id: string; version: number; files: number; bytes: number };

export class Workspace {
  readonly #host: WorkspaceHost;
  readonly #sql: SqlStorage;
  readonly #contents: Contents;
  readonly #limits: { bytes: number; files: number };
  readonly #now: () => number;

  constructor(host: WorkspaceHost) {
    this.#host = host;
    this.#now = host.now ?? Date.now;
    this.#sql = host.storage.sql;
    this.#contents = new Contents(this.#sql, host.bucket, host.prefix);
    this.#limits = host.limits ?? WORKSPACE_LIMITS;
    if (this.#exists) migrate(host.storage, WORKSPACE_STEPS, WORKSPACE_VERSIONS);
  }

  list(after: string | null, limit: number): WorkspaceFile[] {
    if (!this.#exists) return [];
    const query = "SELECT * FROM workspace_file WHERE path > ? ORDER BY path LIMIT ?";
    return select<Row>(this.#sql, query, after ?? "", limit).map(fileOf);
  }

  find(path: string): (WorkspaceFile & StoredContent) | null {
    const file = this.#exists ? this.#row(path) : null;
    const content = file === null ? null : this.#contents.find(file.sha256, this.#now());
    return file === null || content === null ? null : { ...file, ...content };
  }

  /** Gives out a key for an upload, or refuses early what `change` would refuse. `change` checks again. */
  begin(intent: FileIntent | null): { key: string } | Refusal {
    const totals = this.#create();
    const refusal = intent === null ? null : this.#refusal(intent, totals);
    return refusal ?? { key: this.#contents.begin(this.#now()) };
  }

  noteUpload(key: string, uploadId: string): void {
    if (this.#exists) this.#contents.noteUpload(key, uploadId);
  }

  /** Stores small contents; returns the key of each, or `null` if the workspace has it already. */
  store(contents: readonly SmallContent[]): (string | null)[] {
    this.#create();
    const now = this.#now();
    return this.#host.storage.transactionSync(() => this.#contents.store(contents, now));
  }

  /** Makes changes in order; returns an outcome for each. A refused change does not affect the others. */
  change(changes: readonly FileChange[]): Outcome[] {
    const totals = this.#create();
    const before = totals.version;
    const now = this.#now();
    return this.#host.storage.transactionSync(() => {
      const made: WatchedChange[] = [];
      const outcomes = changes.map((change) => this.#make(change, totals, made, now));
      for (const { version, path, kind } of made) {
        this.#sql.exec("INSERT INTO workspace_change VALUES (?, ?, ?, ?)", version, path, kind, now);
      }
      if (totals.version > before) {
        const { version, files, bytes } = totals;
        this.#sql.exec("UPDATE workspace SET version = ?, files = ?, bytes = ?", version, files, bytes);
        this.#sql.exec("DELETE FROM workspace_change WHERE version <= ?", version - REMEMBERED);
        this.#host.changed?.(made);
      }
      return outcomes;
    });
  }

  /** When a path last changed, Unix ms; `null`: never, or so long ago that it is forgotten. */
  changedAt(path: string): number | null {
    if (!this.#exists) return null;
    const query = "SELECT max(at) AS at FROM workspace_change WHERE path = ?";
    return this.#sql.exec<{ at: number | null }>(query, path).one().at;
  }

  /** Id and version of the present state; creates the workspace if there is none. */
  version(): Pick<Manifest, "id" | "version"> {
    const { id, version } = this.#create();
    return { id, version };
  }

  manifest(): Manifest {
    const { id, version } = this.#create();
    const rows = select<Row>(this.#sql, "SELECT * FROM workspace_file ORDER BY path");
    return { id, version, files: rows.map(fileOf).map(({ version: _, ...file }) => file) };
  }

  /** As many contents as go into one answer, protected from removal for a while; `null` for a missing one. */
  contents(digests: readonly string[]): (StoredContent | null)[] {
    if (!this.#exists) return digests.map(() => null);
    const now = this.#now();
    return firstContents(digests, (sha256) => this.#contents.find(sha256, now));
  }

  /** Number of files. */
  count(): number {
    return this.#totals()?.files ?? 0;
  }

  /**
   * Takes over files of another workspace. Returns `false` if contents are missing.
   * @param keys where their contents are stored, by digest
   */
  adopt(files: readonly WorkspaceFile[], keys: ReadonlyMap<string, string>): boolean {
    const totals = this.#create();
    const now = this.#now();
    return this.#host.storage.transactionSync(() => {
      if (!files.every(({ sha256 }) => this.#contents.keep(sha256, keys.get(sha256) ?? null, now)))
        return false;
      for (const file of files) {
        totals.version += 1;
        totals.files += 1;
        totals.bytes += file.size;
        const values = valuesOf({ ...file, version: totals.version });
        this.#sql.exec("INSERT INTO workspace_file VALUES (?, ?, ?, ?, ?, ?)", ...values);
      }
      const { version, files: count, bytes } = totals;
      this.#sql.exec("UPDATE workspace SET version = ?, files = ?, bytes = ?", version, count, bytes);
      return true;
    });
  }

  /** When to call `collect` next, in Unix ms. */
  due(): number | null {
    return this.#exists ? this.#contents.due() : null;
  }

  /** Removes contents that no file uses any more, and abandoned uploads. */
  async collect(now: number): Promise<void> {
    if (this.#exists) await this.#contents.collect(now);
  }

  /**
   * Removes all files and all their R2 objects, including uploads under way. Files stored later belong to a new
   * workspace, even if the object's whole storage is emptied then.
   */
  async destroy(): Promise<void> {
    if (!this.#exists) return;
    this.#host.storage.transactionSync(() => {
      for (const table of FILE_TABLES) this.#sql.exec(`DELETE FROM ${table}`);
    });
    await this.#contents.destroy();
    this.#sql.exec("DELETE FROM workspace_object");
  }

  #make(change: FileChange, totals: Totals, made: WatchedChange[], now: number): Outcome {
    const { path } = change;
    const answered = change.kind === "write" ? this.#keepContent(change, totals, now) : null;
    if (answered !== null) return answered;
    const old = this.#row(path);
    const { outcome, file } = madeBy(change, old, { version: totals.version + 1, now });
    if (file === undefined) return outcome;
    totals.version += 1;
    totals.files += Number(file !== null) - Number(old !== null);
    totals.bytes += (file?.size ?? 0) - (old?.size ?? 0);
    if (file === null) this.#sql.exec("DELETE FROM workspace_file WHERE path = ?", path);
    else this.#sql.exec("INSERT OR REPLACE INTO workspace_file VALUES (?, ?, ?, ?, ?, ?)", ...valuesOf(file));
    if (old !== null) this.#contents.release(old.sha256, now);
    const kind = file === null ? "delete" : old === null ? "create" : "change";
    made.push({ path, kind, version: totals.version });
    return outcome;
  }

  /** Keeps the content of a write, which the caller then makes; else returns its outcome: refused, or made before. */
  #keepContent(write: FileChange & { kind: "write" }, totals: Totals, now: number): Outcome | null {
    const { path, key, sha256 } = write;
    // Each key is for one write.
    const before = key !== null && this.#contents.kept(sha256, key) ? this.#outcomeOf(path, sha256) : null;
    if (before !== null) return before;
    const refusal = this.#refusal(write, totals);
    if (refusal === null && this.#contents.keep(sha256, key, now)) return null;
    // Whoever is refused for the file's state may look at it again, and write the same content.
    if (key !== null && refusal?.refused !== "expected") this.#contents.discard(key, now);
    return refusal ?? { refused: "content" };
  }

  /** The outcome of a write that is asked again, since its answer was lost; `null`: somebody changed the file since. */
  #outcomeOf(path: string, sha256: string): Outcome | null {
    const file = this.#row(path);
    if (file?.sha256 !== sha256) return null;
    const { version, modified_at } = file;
    const query = "SELECT kind FROM workspace_change WHERE version = ?";
    const [change] = select<{ kind: string }>(this.#sql, query, version);
    return { done: change?.kind === "create" ? "created" : "changed", version, modified_at };
  }

  #refusal(intent: FileIntent, { files, bytes }: Totals): Refusal | null {
    // `0` is the character after `/`.
    const inside = "SELECT 1 FROM workspace_file WHERE path > ? AND path < ? LIMIT 1";
    return writeRefusal(intent, {
      files,
      bytes,
      limits: this.#limits,
      find: (path) => this.#row(path),
      isFolder: (path) => select(this.#sql, inside, `${path}/`, `${path}0`).length > 0,
    });
  }

  /** Checked each time, since the session's storage may have been emptied. */
  get #exists(): boolean {
    return hasSchema(this.#sql, WORKSPACE_VERSIONS);
  }

  #row(path: string): WorkspaceFile | null {
    const [row] = select<Row>(this.#sql, "SELECT * FROM workspace_file WHERE path = ?", path);
    return row === undefined ? null : fileOf(row);
  }

  #totals(): Totals | null {
    if (!this.#exists) return null;
    return select<Totals>(this.#sql, "SELECT * FROM workspace")[0] ?? null;
  }

  #create(): Totals {
    const totals = this.#totals();
    if (totals !== null) return totals;
    migrate(this.#host.storage, WORKSPACE_STEPS, WORKSPACE_VERSIONS);
    const made = { id: crypto.randomUUID().replaceAll("-", ""), version: 0, files: 0, bytes: 0 };
    this.#sql.exec("INSERT INTO workspace VALUES (?, 0, 0, 0)", made.id);
    return made;
  }
}

function fileOf({ executable, ...row }: Row): WorkspaceFile {
  return { ...row, executable: executable === 1 };
}

/** In the order of the table's columns. */
const valuesOf = ({ path, sha256, size, executable, modified_at, version }: WorkspaceFile) =>
  [path, sha256, size, Number(executable), modified_at, version] as const;
