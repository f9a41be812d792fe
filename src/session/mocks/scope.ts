/**
 * The mocks of one scope: queued mocks, recorded calls, cached prompts. All are stored, so they survive a restart. A
 * scope is forgotten after a day without use. A deployment's own mocks win over queued ones, and each scope has its own
 * position in them.
 */
import { type DeploymentMocks, MOCKS_VARIABLE } from "../../model/mock/deployment.ts";
import type { Mock, MockCall } from "../../model/mock/mock.ts";
import { nextMock, type Taken } from "../../model/mock/queue.ts";
import { Rows } from "../conversation/rows.ts";
import { hasSchema, migrate } from "../migrate.ts";
import { select } from "../sql.ts";

const MIGRATIONS = [
  `CREATE TABLE scope (begun INTEGER NOT NULL, used_at INTEGER NOT NULL);
   INSERT INTO scope (begun, used_at) VALUES (0, 0);
   CREATE TABLE mock (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;
   CREATE TABLE call (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;
   CREATE TABLE prompt (digest TEXT PRIMARY KEY) WITHOUT ROWID;
   CREATE TABLE used_up (mocks TEXT, place INTEGER, PRIMARY KEY (mocks, place)) WITHOUT ROWID;`,
] as const;
const TABLES = ["mock", "call", "prompt", "used_up"] as const;

/** A scope is forgotten after this long without use, in ms. */
const KEPT_MS = 24 * 3_600_000;
/** The most calls to remember. */
const MAX_CALLS = 1000;
/** The most characters in a page of calls: a message between objects may have at most 32 MiB. */
const MAX_PAGE_CHARACTERS = 4 * 1024 * 1024;

export interface CallPage {
  calls: string[];
  /** Number of the last call on the page. */
  last: number;
  /** Whether there are calls after it. */
  more: boolean;
}

export class MockScope {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #mocks: Rows<Mock>;
  readonly #calls: Rows<MockCall>;
  #ready: boolean;
  #queue: { seq: number; mock: Mock }[] | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#mocks = new Rows(this.#sql, "mock");
    this.#calls = new Rows(this.#sql, "call");
    this.#ready = hasSchema(this.#sql);
    if (this.#ready) migrate(storage, MIGRATIONS);
  }

  /** Adds mocks to the end of the queue. @returns the new length of the queue */
  async add(mocks: readonly Mock[]): Promise<number> {
    await this.#use();
    this.#together(() => {
      this.#sql.exec("UPDATE scope SET begun = 1");
      for (const mock of mocks) this.#queued().push({ seq: this.#mocks.append(mock), mock });
    });
    return this.#queued().length;
  }

  /** Whether mocks were queued since the scope was cleared. If so, no call of this scope reaches a provider. */
  begun(): boolean {
    return this.#ready && this.#sql.exec<{ begun: number }>("SELECT begun FROM scope").one().begun === 1;
  }

  /** Records a call and takes the mock that answers it. @param deployment the deployment's own mocks, if it has any */
  async take(call: MockCall, prompt: string | null, deployment: DeploymentMocks | null): Promise<Taken> {
    await this.#use();
    return this.#together(() => {
      const seq = this.#calls.append(call);
      this.#sql.exec("DELETE FROM call WHERE seq <= ?", seq - MAX_CALLS);
      const seen = prompt !== null && this.#isKnown(prompt);
      if (deployment !== null) {
        const mock = this.#takeOf(deployment, call);
        return { mock, otherwise: { error: MOCKS_VARIABLE }, seen };
      }
      return { mock: this.#takeQueued(call), otherwise: this.begun() ? "default" : "provider", seen };
    });
  }

  /** Calls after number `after` as JSON, oldest first; at least one if there is any. */
  calls(limit: number, after: number): CallPage {
    const page: CallPage = { calls: [], last: after, more: false };
    let size = 0;
    for (const row of this.#ready ? this.#calls.after(after) : []) {
      if (!row.ok) continue;
      const text = JSON.stringify(row.value);
      size += text.length;
      page.more = page.calls.length === limit || (page.calls.length > 0 && size > MAX_PAGE_CHARACTERS);
      if (page.more) break;
      page.calls.push(text);
      page.last = row.seq;
    }
    return page;
  }

  /** Empties queue, calls and cache, and restarts the deployment's mocks. */
  clear(): void {
    if (!this.#ready) return;
    this.#forget();
    this.#storage.transactionSync(() => {
      for (const table of TABLES) this.#sql.exec(`DELETE FROM ${table}`);
      this.#sql.exec("UPDATE scope SET begun = 0");
    });
  }

  /** Called by the alarm: forgets the scope if it was unused long enough. */
  async sweep(now: number): Promise<void> {
    if (!this.#ready) return;
    const { used_at } = this.#sql.exec<{ used_at: number }>("SELECT used_at FROM scope").one();
    if (used_at + KEPT_MS > now) return this.#storage.setAlarm(used_at + KEPT_MS);
    this.#ready = false;
    this.#forget();
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
  }

  async #use(): Promise<void> {
    const now = Date.now();
    if (!this.#ready) migrate(this.#storage, MIGRATIONS);
    this.#ready = true;
    this.#sql.exec("UPDATE scope SET used_at = ?", now);
    if ((await this.#storage.getAlarm()) === null) await this.#storage.setAlarm(now + KEPT_MS);
  }

  #queued(): { seq: number; mock: Mock }[] {
    this.#queue ??= Array.from(this.#mocks.after(0)).flatMap((row) =>
      row.ok ? [{ seq: row.seq, mock: row.value }] : [],
    );
    return this.#queue;
  }

  #takeQueued({ messages }: MockCall): Mock | null {
    const rows = this.#queued();
    const mocks = rows.map(({ mock }) => mock);
    const { answer, queue } = nextMock(mocks, messages);
    if (queue.length === mocks.length) return answer;
    const at = rows.findIndex(({ mock }) => mock === answer);
    const [row] = rows.splice(at, 1);
    this.#sql.exec("DELETE FROM mock WHERE seq = ?", row?.seq ?? 0);
    return answer;
  }

  #takeOf({ id, mocks }: DeploymentMocks, { messages }: MockCall): Mock | null {
    const rows = select<{ place: number }>(this.#sql, "SELECT place FROM used_up WHERE mocks = ?", id);
    const used = new Set(rows.map(({ place }) => place));
    const left = mocks.filter((_, place) => !used.has(place));
    const { answer, queue } = nextMock(left, messages);
    if (answer !== null && queue.length < left.length) {
      this.#sql.exec("INSERT INTO used_up (mocks, place) VALUES (?, ?)", id, mocks.indexOf(answer));
    }
    return answer;
  }

  #isKnown(prompt: string): boolean {
    const query = "SELECT count(*) AS n FROM prompt WHERE digest = ?";
    const known = this.#sql.exec<{ n: number }>(query, prompt).one().n > 0;
    if (!known) this.#sql.exec("INSERT INTO prompt (digest) VALUES (?)", prompt);
    return known;
  }

  /** Does all writes of `work` in one transaction. If it fails, what is in memory may be ahead of storage. */
  #together<T>(work: () => T): T {
    try {
      return this.#storage.transactionSync(work);
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  #forget(): void {
    this.#queue = null;
    this.#mocks.forget();
    this.#calls.forget();
  }
}
