/**
 * The specifications in stored records. Runs of a session mostly have the same skills and tools, so a long member that the
 * previous run has too is stored once: the later record names the row that holds it.
 */
import { type AgentRecord, isKnownRecord } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Row, Rows } from "./rows.ts";

type Started = Extract<AgentRecord, { type: "run_started" }>;
/** The number of the row that holds a member, by the member's name. */
type MemberRows = Record<string, number>;
/** A record as it is stored. Its `spec` lacks the members that `same` names. */
export type StoredRecord = AgentRecord | (Started & { same: MemberRows });

/** The specification of a run. Members that `same` does not name are stored in row `seq`. */
interface KnownSpec {
  spec: AgentSpec;
  seq: number;
  same: MemberRows;
}

/** A member with fewer characters of JSON is stored with each run. */
const MIN_SHARED_CHARS = 1000;

export class RunSpecs {
  readonly #rows: Rows<StoredRecord[]>;
  readonly #lastStart: () => number | null;
  /** The specification of the last run; `null`: not read yet. */
  #last: KnownSpec | null = null;
  /** Members of the specifications that the most recently restored record refers to, by row number. */
  readonly #origins = new Map<number, ReadonlyMap<string, unknown>>();

  /** @param lastStart returns the number of the row with which the last run began; `null`: there is no run */
  constructor(rows: Rows<StoredRecord[]>, lastStart: () => number | null) {
    this.#rows = rows;
    this.#lastStart = lastStart;
  }

  /** Drops cached values, which a failed transaction may have made wrong. */
  forget(): void {
    this.#last = null;
    this.#origins.clear();
  }

  /** The values to store for records in row `seq`; read back, they are `StoredRecord`s. */
  stored(records: readonly AgentRecord[], seq: number): unknown[] {
    return records.map((record) => (record.type === "run_started" ? this.#deduplicate(record, seq) : record));
  }

  /** The records of a stored row. It counts as unreadable if a row that it refers to is, or if a record is unknown. */
  restored(row: Row<StoredRecord[]>): Row<AgentRecord[]> {
    if (!row.ok) return row;
    if (!row.value.every(isKnownRecord)) return { seq: row.seq, ok: false };
    if (!row.value.some((record) => "same" in record)) return row;
    const value: AgentRecord[] = [];
    for (const record of row.value) {
      const whole = "same" in record ? this.#resolve(record) : record;
      if (whole === null) return { seq: row.seq, ok: false };
      value.push(whole);
    }
    return { ...row, value };
  }

  #deduplicate(record: Started, seq: number): unknown {
    const { spec } = record;
    const before = this.#last ?? this.#readLast();
    const known = before === null ? new Map<string, unknown>() : new Map(Object.entries(before.spec));
    const own: Record<string, unknown> = {};
    const same: MemberRows = {};
    for (const [name, value] of Object.entries(spec)) {
      if (before !== null && isRepeated(value, known.get(name))) same[name] = before.same[name] ?? before.seq;
      else own[name] = value;
    }
    this.#last = { spec, seq, same };
    return Object.keys(same).length === 0 ? record : { ...record, spec: own, same };
  }

  /** The last run's specification; `null`: there is none, or it cannot be read. */
  #readLast(): KnownSpec | null {
    const seq = this.#lastStart();
    if (seq === null) return null;
    const records = this.#readRow(seq);
    const started = records?.find((record) => record.type === "run_started");
    if (started === undefined) return null;
    const same = "same" in started ? started.same : {};
    const whole = this.#resolve({ ...started, same });
    return whole === null ? null : { spec: whole.spec, seq, same };
  }

  #resolve({ same, ...record }: Started & { same: MemberRows }): Started | null {
    const members: Record<string, unknown> = {};
    for (const [name, seq] of Object.entries(same)) {
      const origin = this.#originAt(seq);
      if (origin === null) return null;
      members[name] = origin.get(name);
    }
    const needed = new Set(Object.values(same));
    for (const seq of this.#origins.keys()) if (!needed.has(seq)) this.#origins.delete(seq);
    return { ...record, spec: { ...record.spec, ...members } };
  }

  /** The members of the specification in a row that others refer to; `null`: it cannot be read. */
  #originAt(seq: number): ReadonlyMap<string, unknown> | null {
    const known = this.#origins.get(seq);
    if (known !== undefined) return known;
    const started = this.#readRow(seq)?.find((record) => record.type === "run_started");
    if (started === undefined) return null;
    const members = new Map(Object.entries(started.spec));
    this.#origins.set(seq, members);
    return members;
  }

  #readRow(seq: number): StoredRecord[] | null {
    const [row] = this.#rows.after(seq - 1);
    return row?.ok === true && row.seq === seq ? row.value : null;
  }
}

function isRepeated(value: unknown, before: unknown): boolean {
  if (before === undefined || (typeof value !== "object" && typeof value !== "string")) return false;
  const text = JSON.stringify(value);
  return text.length >= MIN_SHARED_CHARS && text === JSON.stringify(before);
}
