/**
 * Which R2 objects hold the contents of a workspace; each content is stored once. The row of a small content holds the
 * content itself instead. A key is noted before anything is stored under it. An object stays for a while after its last
 * file is gone, so that readers can finish.
 */
import { fromBase64, toBase64 } from "../../bytes.ts";
import type { SmallContent, StoredContent } from "../../run/workspace/access.ts";
import { abortUploads, removeBelow, type StoredUpload } from "../r2-objects.ts";
import { select } from "../sql.ts";

/** How long an upload may take, and how long a content that somebody is about to use is kept, in ms. */
export const USE_MS = 3_600_000;
/** How long an object is kept after its last file is gone, in ms, since somebody may be reading it. */
export const SPARE_MS = 600_000;
/** A failed removal is repeated after this many ms. */
const RETRY_MS = 60_000;
/** Objects to remove at once; R2 accepts 1000. */
const BATCH = 500;

/**
 * `incoming`: a key was given out. `kept`: files use it. `spare`: no file uses it, but one may again. `dying`: it is
 * being removed. All except `kept` have a due time.
 */
type ObjectState = "incoming" | "kept" | "spare" | "dying";

interface ContentRow {
  key: string;
  state: ObjectState;
  /** `null`, or absent in tables of earlier versions of Hull: the content is in R2. */
  bytes?: ArrayBuffer | null;
}

export class Contents {
  readonly #sql: SqlStorage;
  readonly #bucket: R2Bucket;
  readonly #prefix: string;

  constructor(sql: SqlStorage, bucket: R2Bucket, prefix: string) {
    this.#sql = sql;
    this.#bucket = bucket;
    this.#prefix = prefix;
  }

  /** Creates a unique key. */
  begin(now: number): string {
    const key = this.#newKey();
    this.#sql.exec(
      "INSERT INTO workspace_object (key, state, due_at) VALUES (?, 'incoming', ?)",
      key,
      now + USE_MS,
    );
    return key;
  }

  /** Stores small contents; returns the key of each, or `null` if it is there already. */
  store(contents: readonly SmallContent[], now: number): (string | null)[] {
    if (!this.#hasBytes) this.#sql.exec("ALTER TABLE workspace_object ADD COLUMN bytes BLOB");
    return contents.map(({ sha256, base64 }) => {
      if (this.find(sha256, now) !== null) return null;
      const key = this.#newKey();
      this.#sql.exec(
        "INSERT INTO workspace_object (key, state, sha256, due_at, bytes) VALUES (?, 'incoming', ?, ?, ?)",
        key,
        sha256,
        now + USE_MS,
        fromBase64(base64),
      );
      return key;
    });
  }

  noteUpload(key: string, uploadId: string): void {
    this.#sql.exec("UPDATE workspace_object SET upload_id = ? WHERE key = ?", uploadId, key);
  }

  /**
   * Makes a content available to files: in the object that already holds it, otherwise in the object at `key`. Returns
   * `false` if neither exists.
   */
  keep(sha256: string, key: string | null, now: number): boolean {
    const known = this.#find(sha256);
    if (known !== null) {
      this.#set(known, "kept", null);
      if (key !== null && key !== known) this.discard(key, now);
      return true;
    }
    if (key === null) return false;
    const kept = this.#sql.exec(
      `UPDATE workspace_object SET state = 'kept', sha256 = ?, upload_id = NULL, due_at = NULL
       WHERE key = ? AND state = 'incoming'`,
      sha256,
      key,
    );
    return kept.rowsWritten > 0;
  }

  /** Whether the content was kept under this key before. */
  kept(sha256: string, key: string): boolean {
    const query = "SELECT 1 FROM workspace_object WHERE key = ? AND sha256 = ?";
    return select(this.#sql, query, key, sha256).length > 0;
  }

  /** Releases a content, unless a file still uses it. */
  release(sha256: string, now: number): void {
    const users = "SELECT 1 FROM workspace_file WHERE sha256 = ? LIMIT 1";
    const key = this.#find(sha256);
    if (key === null || select(this.#sql, users, sha256).length > 0) return;
    this.#set(key, "spare", now + SPARE_MS);
  }

  /** Discards an object that no file will use, even one that was never noted. */
  discard(key: string, now: number): void {
    this.#sql.exec(
      `INSERT INTO workspace_object (key, state, due_at) VALUES (?1, 'dying', ?2)
       ON CONFLICT (key) DO UPDATE SET state = 'dying', due_at = ?2 WHERE state = 'incoming'`,
      key,
      now,
    );
  }

  /** A content, kept for a while; `null`: it is missing. */
  find(sha256: string, now: number): StoredContent | null {
    const query = "SELECT * FROM workspace_object WHERE sha256 = ? AND state IN ('kept', 'spare')";
    const [row] = select<ContentRow>(this.#sql, query, sha256);
    if (row === undefined) return null;
    const { key, state, bytes } = row;
    if (state === "spare") this.#set(key, "spare", now + USE_MS);
    return bytes ? { key, base64: toBase64(new Uint8Array(bytes)) } : { key };
  }

  /** The time of the next removal, in Unix ms. */
  due(): number | null {
    return this.#sql
      .exec<{ at: number | null }>("SELECT min(due_at) AS at FROM workspace_object WHERE due_at IS NOT NULL")
      .one().at;
  }

  /** Removes what is due. If R2 fails, it becomes due again. */
  async collect(now: number): Promise<void> {
    const inR2 = this.#hasBytes ? "bytes IS NULL" : "1";
    const query = `SELECT key, upload_id, ${inR2} AS in_r2 FROM workspace_object WHERE due_at <= ? ORDER BY due_at LIMIT ?`;
    const rows = select<StoredUpload & { in_r2: number }>(this.#sql, query, now, BATCH);
    // From here on nobody can use these objects, even if R2 takes long or fails.
    for (const { key } of rows) this.#set(key, "dying", now + RETRY_MS);
    await abortUploads(this.#bucket, rows);
    const keys = rows.filter(({ in_r2 }) => in_r2 === 1).map(({ key }) => key);
    if (keys.length > 0) await this.#bucket.delete(keys);
    for (const { key } of rows) this.#sql.exec("DELETE FROM workspace_object WHERE key = ?", key);
  }

  /** Removes everything from R2. */
  async destroy(): Promise<void> {
    const query = "SELECT key, upload_id FROM workspace_object WHERE upload_id IS NOT NULL";
    await abortUploads(this.#bucket, select(this.#sql, query));
    await removeBelow(this.#bucket, this.#prefix);
  }

  #newKey(): string {
    return `${this.#prefix}${crypto.randomUUID()}`;
  }

  /** Whether there is the column for small contents, which tables of earlier versions of Hull lack. */
  get #hasBytes(): boolean {
    const query = "SELECT 1 FROM pragma_table_info('workspace_object') WHERE name = 'bytes'";
    return select(this.#sql, query).length > 0;
  }

  #find(sha256: string): string | null {
    const query = "SELECT key FROM workspace_object WHERE sha256 = ? AND state IN ('kept', 'spare')";
    return select<{ key: string }>(this.#sql, query, sha256)[0]?.key ?? null;
  }

  #set(key: string, state: ObjectState, dueAt: number | null): void {
    this.#sql.exec("UPDATE workspace_object SET state = ?, due_at = ? WHERE key = ?", state, dueAt, key);
  }
}
