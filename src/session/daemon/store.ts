/** The storage of a session's daemon. It makes no decisions (docs/storage-schema.md). */
import type { WakeReason } from "../../engine/agent/records.ts";
import type { Schedule } from "../../engine/daemon/schedule.ts";
import type { Json } from "../../skill/manifest.ts";
import { Rows } from "../conversation/rows.ts";
import { migrate } from "../migrate.ts";
import { type Columns, insertRow, select, updateRows } from "../sql.ts";
import type { Tables } from "../tables.ts";
import type { DaemonEvent } from "./answers.ts";
import type { Webhook } from "./rpc.ts";

/** The table that holds the version of the daemon's tables. They are created with its first run. */
const DAEMON_VERSIONS = "daemon_version";
/** One step per version; a deployed step never changes. */
const DAEMON_STEPS: readonly string[] = [
  `CREATE TABLE daemon (
     run TEXT PRIMARY KEY, name TEXT, persist_path TEXT, capacity INTEGER NOT NULL, webhook TEXT,
     skill TEXT, declared TEXT, created_at INTEGER NOT NULL,
     earlier_iterations INTEGER NOT NULL, iterations INTEGER NOT NULL, next_seq INTEGER NOT NULL,
     inflight INTEGER, inflight_at INTEGER, interrupted INTEGER NOT NULL, asked_at INTEGER, watched TEXT NOT NULL,
     wake_reason TEXT, wake_at INTEGER, saved_at INTEGER,
     idle_at INTEGER, timer_at INTEGER, cron_at INTEGER, tick_at INTEGER, ticks INTEGER NOT NULL,
     check_at INTEGER) WITHOUT ROWID;
   CREATE TABLE daemon_event (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;`,
];

/** Times are Unix ms. */
export interface DaemonRow extends Omit<Schedule, "idle_at"> {
  /** Id of its last run. */
  run: string;
  name: string | null;
  persist_path: string | null;
  capacity: number;
  webhook: Webhook | null;
  /** The skill that declares it, and the skill's version; `declared` is `null` once the skill no longer declares it. */
  skill: string | null;
  declared: string | null;
  created_at: number;
  /** Iterations of the runs before this one, and of all runs, as last stored. */
  earlier_iterations: number;
  iterations: number;
  next_seq: number;
  /** Number of the event in flight, and the run's iterations when it was delivered; `null`: none. */
  inflight: number | null;
  inflight_at: number | null;
  /** Whether its run ended in the middle of work. */
  interrupted: boolean;
  /** When the oldest pending request to wake it came. */
  asked_at: number | null;
  /** Changed paths that have not woken it yet. */
  watched: string[];
  wake_reason: WakeReason | null;
  wake_at: number | null;
  saved_at: number | null;
  /** When it became idle; `null`: it is not idle. */
  idle_at: number | null;
  /** When the sweep will check it, according to the directory. */
  check_at: number | null;
}

type Raw = Omit<DaemonRow, "webhook" | "interrupted" | "watched"> & {
  webhook: string | null;
  interrupted: number;
  watched: string;
};

/** A daemon whose first run has just begun. */
export const NEW_DAEMON: Omit<DaemonRow, "run" | "created_at"> = {
  name: null,
  persist_path: null,
  capacity: 1024,
  webhook: null,
  skill: null,
  declared: null,
  earlier_iterations: 0,
  iterations: 0,
  next_seq: 1,
  inflight: null,
  inflight_at: null,
  interrupted: false,
  asked_at: null,
  watched: [],
  wake_reason: null,
  wake_at: null,
  saved_at: null,
  idle_at: null,
  timer_at: null,
  cron_at: null,
  tick_at: null,
  ticks: 0,
  check_at: null,
};

export class DaemonStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #events: Rows<Omit<DaemonEvent, "seq">>;
  readonly #tables: Pick<Tables<never>, "has" | "made">;

  constructor(storage: DurableObjectStorage, tables: Pick<Tables<never>, "has" | "made">) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#tables = tables;
    this.#events = new Rows(this.#sql, "daemon_event");
    if (this.#exists) this.#migrate();
  }

  /** `null`: the session never had a daemon. */
  row(): DaemonRow | null {
    if (!this.#exists) return null;
    const [raw] = select<Raw>(this.#sql, "SELECT * FROM daemon");
    if (raw === undefined) return null;
    const { webhook, interrupted, watched, ...row } = raw;
    return {
      ...row,
      webhook: webhook === null ? null : JSON.parse(webhook),
      interrupted: interrupted === 1,
      watched: JSON.parse(watched),
    };
  }

  put(row: DaemonRow): void {
    if (!this.#exists) this.#migrate();
    this.#sql.exec("DELETE FROM daemon");
    insertRow(this.#sql, "daemon", columns(row));
  }

  update(changes: Partial<Omit<DaemonRow, "run">>): void {
    updateRows(this.#sql, "daemon", columns(changes));
  }

  addEvent(seq: number, payload: Json, now: number): void {
    this.#events.insert(seq, { enqueued_at: new Date(now).toISOString(), payload });
  }

  removeEvent(seq: number): void {
    this.#sql.exec("DELETE FROM daemon_event WHERE seq = ?", seq);
  }

  /** The events after number `after`, oldest first, read lazily. Do not write while reading. */
  *events(after: number): Generator<DaemonEvent> {
    for (const row of this.#events.after(after)) if (row.ok) yield { seq: row.seq, ...row.value };
  }

  /** Number of stored events. */
  eventCount(): number {
    return this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM daemon_event WHERE part = 0").one().n;
  }

  #migrate(): void {
    migrate(this.#storage, DAEMON_STEPS, DAEMON_VERSIONS);
    this.#tables.made(DAEMON_VERSIONS);
  }

  /** Checked each time, since the session's storage may have been emptied. */
  get #exists(): boolean {
    return this.#tables.has(DAEMON_VERSIONS);
  }
}

function columns(row: Partial<DaemonRow>): Columns {
  const { webhook, interrupted, watched, ...plain } = row;
  return {
    ...plain,
    ...(webhook === undefined ? {} : { webhook: webhook === null ? null : JSON.stringify(webhook) }),
    ...(interrupted === undefined ? {} : { interrupted: Number(interrupted) }),
    ...(watched === undefined ? {} : { watched: JSON.stringify(watched) }),
  };
}
