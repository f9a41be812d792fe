/**
 * Removed sessions whose soft ledgers must go. Calls of a session may be reported after its removal, so its ledger goes
 * a while later, once no call holds a reservation. If somebody made a session of the same id by then, it stays.
 */
import { select } from "../sql.ts";

/** How long calls may be reported after their session's removal, in ms. */
const REPORTS_MS = 15 * 60_000;
/** Sessions that one alarm looks at. */
const MOST = 1000;

interface Removed {
  tenant: string;
  session: string;
}

/** The name of a session's soft ledger. */
const accountOf = (session: string): string => `session:${session}`;

export class RemovedSessions {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Notes a removed session. The table exists from the first one on. */
  note(tenant: string, session: string, now: number): void {
    this.#sql.exec(
      `CREATE TABLE IF NOT EXISTS removed_session (
         session TEXT PRIMARY KEY, tenant TEXT NOT NULL, due_at INTEGER NOT NULL) WITHOUT ROWID;
       CREATE INDEX IF NOT EXISTS removed_session_by_time ON removed_session (due_at)`,
    );
    this.#sql.exec(
      "INSERT OR REPLACE INTO removed_session (session, tenant, due_at) VALUES (?, ?, ?)",
      session,
      tenant,
      now + REPORTS_MS,
    );
  }

  /** Those whose time has come. Those with calls under way come again later. */
  due(now: number): Removed[] {
    this.#sql.exec(
      `UPDATE removed_session SET due_at = ? WHERE due_at <= ?
         AND EXISTS (SELECT 1 FROM reservation WHERE account = 'session:' || removed_session.session)`,
      now + REPORTS_MS,
      now,
    );
    const query = "SELECT tenant, session FROM removed_session WHERE due_at <= ? ORDER BY due_at LIMIT ?";
    return select<Removed>(this.#sql, query, now, MOST);
  }

  /** Removes the soft ledgers of these sessions, but not of those that are back, and forgets all of them. */
  drop(removed: readonly Removed[], back: ReadonlySet<string>): void {
    for (const { session } of removed) {
      if (!back.has(session)) this.#sql.exec("DELETE FROM account WHERE name = ?", accountOf(session));
      this.#sql.exec("DELETE FROM removed_session WHERE session = ?", session);
    }
  }

  /** When the next one is due, Unix ms; `null`: there is none. */
  next(): number | null {
    const query = "SELECT min(due_at) AS at FROM removed_session";
    return this.#sql.exec<{ at: number | null }>(query).one().at;
  }
}
