/** The journal of a session's workflow runs, one after the other, and the state that follows from it. */
import { crashesWith } from "../../engine/workflow/crash.ts";
import type { Outcome, WorkflowRecord } from "../../engine/workflow/records.ts";
import {
  advanced,
  applyRecord,
  lostBeginning,
  visitOf,
  type WorkflowState,
} from "../../engine/workflow/state.ts";
import { visitId } from "../../engine/workflow/trace.ts";
import type { RunEvent } from "../../run/events.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { Rows } from "../conversation/rows.ts";
import {
  type JournalRecord,
  longOutcome,
  outcomeKey,
  readOutcome,
  rowOf,
  type StoredOutcome,
} from "./outputs.ts";

/** The account and request of the run's calls, which the specification does not contain. */
export interface Origin {
  account: string;
  request_id: string;
  mock_scope: string;
}

/** Records that were stored together. A single record is stored without a list. */
type JournalRow = (Origin & { type: "head" }) | JournalRecord | JournalRecord[];

/** Records with the same cause, already folded and not stored yet. */
export class Batch {
  readonly records: WorkflowRecord[] = [];
  readonly events: RunEvent[] = [];
  /** The state with these records. */
  state: WorkflowState | null;

  constructor(state: WorkflowState | null, records: readonly WorkflowRecord[] = []) {
    this.state = state;
    this.add(records);
  }

  /** Adds records, and records of the crash points that the run reaches with them. */
  add(records: readonly WorkflowRecord[]): void {
    const crashes = this.state === null ? [] : crashesWith(this.state, records);
    for (const record of [...records, ...crashes]) {
      const state = applyRecord(this.state, record);
      const events = eventsOf(record, state);
      this.state = state;
      this.records.push(record);
      this.events.push(...events);
    }
  }
}

export class Journal {
  readonly #conversation: Conversation;
  readonly #rows: Rows<JournalRow>;
  /** `undefined`: not read yet. */
  #state: WorkflowState | null | undefined;
  #origin: Origin = { account: "", request_id: "", mock_scope: "" };
  /** Long outcomes: R2 keys of records to be written, and of outcomes that the state lacks. */
  readonly #stored = new WeakMap<WorkflowRecord, string>();
  #unread: StoredOutcome[] = [];
  /** Writes of long outcomes that R2 has not confirmed. */
  readonly #onTheirWay = new Set<Promise<unknown>>();
  #reading: Promise<void> | null = null;

  constructor(conversation: Conversation, sql: SqlStorage) {
    this.#conversation = conversation;
    this.#rows = new Rows(sql, "journal");
  }

  /** The last run's state, without outcomes that were not read yet; `null`: the session has no run. */
  state(): WorkflowState | null {
    return this.#state === undefined ? this.#fold(new Map()) : this.#state;
  }

  get origin(): Origin {
    this.state();
    return this.#origin;
  }

  /** Begins the journal, if that has no run yet. */
  begin(origin: Origin): void {
    this.#conversation.log.store.tables.need("journal");
    if (this.state() !== null) return;
    this.#rows.insert(1, { type: "head", ...origin });
    this.#origin = origin;
  }

  /** Resolves once the whole state is in memory; `undefined`: it is. */
  ready(): Promise<void> | undefined {
    this.state();
    if (this.#unread.length === 0) return undefined;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { FILES } = this.#conversation.env;
    const outcomes = new Map<string, Outcome | null>();
    // While some are read, further ones may be stored.
    while (this.#unread.length > 0) {
      for (const stored of this.#unread) {
        const { key } = stored;
        const outcome = await readOutcome(FILES, stored);
        if (outcome === null) this.#conversation.log.fault({ event: "output_lost", key });
        outcomes.set(key, outcome);
      }
      this.#fold(outcomes);
    }
  }

  /** @param outcomes by the keys under which R2 has them; `null`: it has lost one */
  #fold(outcomes: ReadonlyMap<string, Outcome | null>): WorkflowState | null {
    this.#unread = [];
    this.#state = undefined;
    if (!this.#conversation.log.store.tables.has("journal")) return null;
    const whole = (row: JournalRecord): WorkflowRecord => {
      if (!("stored" in row)) return row;
      const { stored, ...record } = row;
      const outcome = outcomes.get(stored);
      if (outcome === undefined) this.#unread.push({ key: stored, item: record.item !== undefined });
      return outcome == null ? record : { ...record, outcome };
    };
    this.#state = this.runs(whole).at(-1) ?? null;
    return this.#state;
  }

  /**
   * The runs in the journal: the last one in its present state, earlier ones as they ended. A run with a row or a record
   * that cannot be read or applied is `unreadable`; of one whose beginning is lost, the state has only what follows.
   */
  runs(whole: (row: JournalRecord) => WorkflowRecord = (row) => row): WorkflowState[] {
    const runs: WorkflowState[] = [];
    const damaged = (): void => {
      const { id, log } = this.#conversation;
      const run = runs.pop() ?? lostBeginning(id, log.now());
      runs.push({ ...run, unreadable: true });
    };
    const add = (record: JournalRecord): void => {
      try {
        const next = whole(record);
        const before = runs.at(-1) ?? null;
        const begins = next.type === "begun";
        const state = advanced(begins ? null : before, next);
        if (state === null) damaged();
        // A run begins after the one before it has ended: here, a row between the two is lost.
        else if (begins) runs.push(before?.finished === null ? { ...state, unreadable: true } : state);
      } catch {
        damaged();
      }
    };
    for (const batch of this.#rows.batches()) {
      for (const row of batch) {
        if (row === null) damaged();
        else if (Array.isArray(row)) for (const record of row) add(record);
        else if (row.type === "head") this.#origin = row;
        else add(row);
      }
    }
    return runs;
  }

  /**
   * Stores long outcomes in R2, to which the rows will refer.
   * @param run the run of these outcomes; it need not be the last one
   */
  async keepLong(run: string, records: readonly WorkflowRecord[]): Promise<void> {
    for (const record of records) {
      if (record.type !== "ended") continue;
      const bytes = longOutcome(record);
      const session = this.#conversation.log.store.session();
      // A session that is being removed stores nothing more; its objects are removed after writes under way have ended.
      if (bytes === null || session === null || session.state === "deleted") continue;
      const key = outcomeKey({ tenant: session.tenant, id: session.id, run }, record);
      const storing = this.#conversation.env.FILES.put(key, bytes);
      this.#onTheirWay.add(storing);
      await storing.finally(() => this.#onTheirWay.delete(storing));
      this.#stored.set(record, key);
    }
  }

  /** Resolves once R2 has confirmed or refused the writes under way. */
  async written(): Promise<void> {
    await Promise.allSettled(this.#onTheirWay);
  }

  /** Stores records as one row. Call it in a transaction, and `forget` if that fails. */
  append({ records, state }: Batch): void {
    const rows = records.map((record): JournalRecord => {
      const stored = this.#stored.get(record);
      return record.type === "ended" && stored !== undefined ? rowOf(record, stored) : record;
    });
    this.#rows.append(rows.length === 1 ? rows[0] : rows);
    this.#state = state;
  }

  /** Drops what is in memory, since it may differ from storage. */
  forget(): void {
    this.#rows.forget();
    this.#state = undefined;
  }
}

/** The events for a record. @param state the state with the record applied */
function eventsOf(record: WorkflowRecord, state: WorkflowState | null): RunEvent[] {
  if (state === null) return [];
  const { spec } = state;
  switch (record.type) {
    case "begun":
      return [{ event: "start", data: { run_id: spec.run_id, operation: "workflows" } }];
    case "started":
    case "ended": {
      const { node, attempt, item } = record;
      const data = {
        stage_id: visitId(spec.run_id, record),
        node_id: node,
        attempt,
        ...(item === undefined ? {} : { item }),
        ...compensating(record, state),
      };
      if (record.type === "started") return [{ event: "stage", data: { ...data, status: "running" } }];
      const { status, outcome, branch } = record.outcome;
      return [{ event: "stage", data: { ...data, status, outcome, branch } }];
    }
    case "waits": {
      const { node, until } = record;
      const data = { stage_id: visitId(spec.run_id, record), node_id: node, attempt: 1 };
      const waits_until = until === null ? {} : { waits_until: new Date(until).toISOString() };
      return [{ event: "stage", data: { ...data, status: "waiting", ...waits_until } }];
    }
    case "finished": {
      const { status } = record;
      return [
        {
          event: "done",
          data: { ok: status === "completed" || status === "paused", run_id: spec.run_id, status },
        },
      ];
    }
    default:
      return [];
  }
}

/** The stage that an attempt compensates, if any. */
function compensating(
  record: Extract<WorkflowRecord, { type: "started" | "ended" }>,
  state: WorkflowState,
): { compensates?: string } {
  if (record.type === "started")
    return record.compensates === undefined ? {} : { compensates: record.compensates };
  // After the last attempt, the state no longer contains the visit.
  const id = visitId(state.spec.run_id, record);
  const compensates =
    visitOf(state, record)?.compensates ??
    state.compensations.find((stage) => stage.id === id)?.metadata.compensates;
  return typeof compensates === "string" ? { compensates } : {};
}
