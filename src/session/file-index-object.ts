import { DurableObject } from "cloudflare:workers";
import { deploymentOf } from "../deployment.ts";
import type { Bindings, FileIndexRpc, IdempotentUpload } from "../env.ts";
import { logFault } from "../log.ts";
import { once } from "../memo.ts";
import { keepingAlarm } from "./keeping-alarm.ts";
import { migrate } from "./migrate.ts";
import { abortUploads, type StoredUpload } from "./r2-objects.ts";
import { select } from "./sql.ts";

/** Keys to remove at once; R2 accepts 1000. */
const BATCH = 500;
/** A failed removal is repeated after this many ms. */
const RETRY_MS = 60_000;

/** One step per version; a deployed step never changes. The first tables existed before versions did. */
const MIGRATIONS = [
  `CREATE TABLE IF NOT EXISTS kept (
  key TEXT PRIMARY KEY,
  expires_at INTEGER NOT NULL,
  upload_id TEXT,
  name TEXT,
  request_hash TEXT,
  answer TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kept_by_expiry ON kept (expires_at);
CREATE UNIQUE INDEX IF NOT EXISTS kept_by_name ON kept (name);`,
];

/**
 * A tenant's file index: the R2 keys of its files and when each expires (docs/storage-schema.md). The tenant is the
 * object's name. A key is stored before anything is stored under it, so the alarm also removes what an interrupted upload
 * leaves.
 */
export class FileIndexObject extends DurableObject<Bindings> implements FileIndexRpc {
  readonly #storage = this.ctx.storage;
  readonly #bucket = this.env.FILES;
  readonly #tables = once(() => {
    migrate(this.#storage, MIGRATIONS);
    return this.#storage.sql;
  });

  /** @throws StorageUnreadable */
  get #sql(): SqlStorage {
    return this.#tables();
  }

  async keep(key: string, expiresAt: number, uploadId: string | null): Promise<void> {
    this.#sql.exec(
      `INSERT INTO kept (key, expires_at, upload_id) VALUES (?1, ?2, ?3)
       ON CONFLICT (key) DO UPDATE SET expires_at = ?2, upload_id = ?3`,
      key,
      expiresAt,
      uploadId,
    );
    const due = await this.#storage.getAlarm();
    if (due === null || due > expiresAt) await this.#storage.setAlarm(expiresAt);
  }

  async claim(key: string, upload: IdempotentUpload): Promise<IdempotentUpload | null> {
    const { name, request_hash, answer } = upload;
    return this.#storage.transactionSync(() => {
      this.#sql.exec("UPDATE kept SET name = NULL WHERE name = ? AND expires_at <= ?", name, Date.now());
      const query = "SELECT key, name, request_hash, answer FROM kept WHERE name = ?";
      const [first] = select<IdempotentUpload & { key: string }>(this.#sql, query, name);
      if (first !== undefined && first.key !== key) return first;
      this.#sql.exec(
        "UPDATE kept SET name = ?, request_hash = ?, answer = ? WHERE key = ?",
        name,
        request_hash,
        answer,
        key,
      );
      return null;
    });
  }

  async drop(keys: string[]): Promise<void> {
    const query = "SELECT key, upload_id FROM kept WHERE key = ?";
    const rows = keys.flatMap((key) => select<StoredUpload>(this.#sql, query, key));
    await abortUploads(this.#bucket, rows);
    await this.#bucket.delete(keys);
    await this.release(keys);
  }

  async release(keys: string[]): Promise<void> {
    for (const key of keys) this.#sql.exec("DELETE FROM kept WHERE key = ?", key);
  }

  /** Removes expired files. A tenant without files has no alarm. */
  override alarm(): Promise<void> {
    return keepingAlarm(this.ctx, this.env, () => this.#sweep());
  }

  async #sweep(): Promise<void> {
    const now = Date.now();
    await this.#storage.setAlarm(now + RETRY_MS);
    const query = "SELECT key FROM kept WHERE expires_at <= ? LIMIT ?";
    const expired = select<{ key: string }>(this.#sql, query, now, BATCH);
    try {
      if (expired.length > 0) await this.drop(expired.map(({ key }) => key));
    } catch (error) {
      // The alarm is set. If the handler failed, the platform would repeat it sooner, and drop it after a few times.
      const line = { event: "files_not_removed", tenant: this.ctx.id.name ?? null };
      logFault(deploymentOf(this.env).settings.eventRedactor, line, error);
      return;
    }
    const { next } = this.#sql
      .exec<{ next: number | null }>("SELECT min(expires_at) AS next FROM kept")
      .one();
    if (next === null) await this.#storage.deleteAlarm();
    else await this.#storage.setAlarm(next);
  }
}
