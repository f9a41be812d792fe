/** What is stored for a call that outlives its connection, besides its run (docs/storage-schema.md). */
import type { ErrorData } from "../../errors.ts";
import type { ConversationStore } from "../conversation/store.ts";
import { forgetFiles } from "../workspace/workspace.ts";

/** Where bytes are stored: in the table `content` under a name, or in R2 under a key. */
export type ContentLocation = { name: string } | { key: string; size: number };

/** The stored form of the input. */
export interface StoredInput {
  text: ContentLocation | null;
  files: { filename: string | null; mime: string; place: ContentLocation }[];
  /**
   * R2 key for an answer that is too large for the object. Each run has its own key, and all its attempts share it.
   * `null`: the run was removed.
   */
  body: string | null;
  bot?: string;
  /** R2 keys of earlier runs of this id, removed with their run, and once more with the session. Absent: none. */
  spent?: string[];
  /** Absent: none, or an earlier version of Hull stored the input. */
  unanswered?: UnansweredRuns;
}

/** Earlier runs of an id whose processes the runner may have begun, since it did not answer. */
export interface UnansweredRuns {
  /** The generation of each, by the hash of its request. */
  generations: { [request_hash: string]: number };
  /** The highest generation of the id so far; a run may have returned to a lower one. */
  highest: number;
}

export type Outcome =
  | {
      ok: true;
      headers: Record<string, string>;
      body: ContentLocation;
      size: number;
      timings: Record<string, number>;
    }
  | { ok: false; error: ErrorData; operator: Record<string, unknown> };

export interface CallRow {
  /** How many names at the runner earlier runs of this id have used up. */
  generation: number;
  /** The caller who may see the call and pays for it: `<tenant>/<key id>`. */
  caller: string;
  /** Slug of a skill, or name of an operation. */
  name: string;
  /** Digest of the skill record; `""`: the call is an operation. */
  digest: string;
  input: StoredInput;
  /** Whether something may have taken effect. If so, every repeated call gets this outcome. */
  begun: boolean;
  /** Unix ms. */
  expires_at: number | null;
  outcome: Outcome | null;
}

/** The highest generation of the call's id so far. */
export const highestOf = ({ generation, input: { unanswered } }: CallRow): number =>
  Math.max(generation, unanswered?.highest ?? 0);

type Raw = Omit<CallRow, "input" | "begun" | "outcome"> & {
  input: string;
  begun: number;
  outcome: string | null;
};

export class CallStore {
  readonly #sql: SqlStorage;
  readonly #store: ConversationStore;

  constructor(sql: SqlStorage, store: ConversationStore) {
    this.#sql = sql;
    this.#store = store;
  }

  /** `null`: this object is not the session of a call. */
  row(): CallRow | null {
    const [raw] = this.#store.tables.exec<Raw>("call", "SELECT * FROM call");
    if (raw === undefined) return null;
    const outcome = raw.outcome === null ? null : JSON.parse(raw.outcome);
    return { ...raw, input: JSON.parse(raw.input), begun: raw.begun === 1, outcome };
  }

  /** Stores a call, and replaces the previous one. Call it in a transaction. */
  put(call: Omit<CallRow, "begun" | "expires_at" | "outcome">): void {
    const { tables } = this.#store;
    tables.exec("call", "DELETE FROM call");
    tables.insert("call", { ...call, input: JSON.stringify(call.input), begun: 0 });
  }

  /** Writes nothing for a call that is known to have begun. */
  noteBegun(): void {
    this.#sql.exec("UPDATE call SET begun = 1 WHERE begun = 0");
  }

  /** An answer is kept even if it took no effect. */
  settle(outcome: Outcome, expiresAt: number): void {
    const values = [JSON.stringify(outcome), expiresAt, Number(outcome.ok)];
    this.#sql.exec("UPDATE call SET outcome = ?, expires_at = ?, begun = max(begun, ?)", ...values);
  }

  /** Removes everything except the generations and the R2 keys that remain to be removed. Call it in a transaction. */
  empty(spent: readonly string[], expiresAt: number): void {
    this.#store.removeRuns();
    this.#store.long.removeAll();
    forgetFiles(this.#sql);
    const call = this.row();
    const unanswered = { generations: {}, highest: call === null ? 0 : highestOf(call) };
    const input: StoredInput = { text: null, files: [], body: null, spent: [...spent], unanswered };
    this.#sql.exec(
      "UPDATE call SET input = ?, outcome = NULL, expires_at = ?",
      JSON.stringify(input),
      expiresAt,
    );
  }
}
