/** The stored state of a session's task. It decides nothing. */

import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { TaskSettings } from "../../run/task/handle.ts";
import type { ConversationStore } from "../conversation/store.ts";

/** Times are Unix ms. */
export interface TaskRow {
  /** Its last run. */
  run: string;
  created_at: number;
  /** `null`: it takes input. */
  closed_at: number | null;
  /** The status that was last reported to watchers. */
  told: string | null;
  /** Whether somebody who waited got its error. */
  thrown: boolean;
  settings: TaskSettings;
  /** The artifacts that its last run was given. */
  artifacts: WorkflowArtifact[];
}

/** An action on the task. */
export interface Cycle {
  at: number;
  action: "spawn" | "input" | "trigger" | "resume" | "close";
  /** The run that it began; `null`: none. */
  run: string | null;
  /** `""`: the action brought none. */
  task: string;
}

type Raw = Omit<TaskRow, "thrown" | "settings" | "artifacts"> & {
  thrown: number;
  settings: string;
  artifacts: string;
};

export class TaskStore {
  readonly #sql: SqlStorage;
  readonly #store: ConversationStore;
  /** The row that was last read or written, and `ConversationStore.forgotten` then. Nobody else writes the table. */
  #known: { at: number; row: TaskRow | null } | null = null;

  constructor(sql: SqlStorage, store: ConversationStore) {
    this.#sql = sql;
    this.#store = store;
  }

  /** `null`: the session is no task. */
  row(): TaskRow | null {
    if (this.#known?.at !== this.#store.forgotten) this.#know(this.#read());
    return this.#known?.row ?? null;
  }

  #know(row: TaskRow | null): void {
    this.#known = { at: this.#store.forgotten, row };
  }

  #read(): TaskRow | null {
    if (!this.#store.tables.has("task")) return null;
    const [raw] = this.#sql.exec<Raw & Record<string, SqlStorageValue>>("SELECT * FROM task").toArray();
    if (raw === undefined) return null;
    const { thrown, settings, artifacts, ...row } = raw;
    return {
      ...row,
      thrown: thrown === 1,
      settings: JSON.parse(settings),
      artifacts: JSON.parse(artifacts),
    };
  }

  put(row: TaskRow): void {
    const before = this.row();
    this.#store.tables.need("task");
    if (before !== null) {
      // From here on it does not follow from the row any more.
      if (this.#storedCycles().length === 0) this.addCycle(firstCycle(before));
      this.#sql.exec("DELETE FROM task");
    }
    const { run, created_at, closed_at, told, thrown, settings, artifacts } = row;
    this.#sql.exec(
      "INSERT INTO task (run, created_at, closed_at, told, thrown, settings, artifacts) VALUES (?, ?, ?, ?, ?, ?, ?)",
      run,
      created_at,
      closed_at,
      told,
      Number(thrown),
      JSON.stringify(settings),
      JSON.stringify(artifacts),
    );
    this.#know(row);
  }

  noteReported(report: string): void {
    const row = this.row();
    this.#sql.exec("UPDATE task SET told = ?", report);
    if (row !== null) this.#know({ ...row, told: report });
  }

  noteThrown(): void {
    const row = this.row();
    this.#sql.exec("UPDATE task SET thrown = 1");
    if (row !== null) this.#know({ ...row, thrown: true });
  }

  /** Notes an action after the first one, after `put`. */
  addCycle({ at, action, run, task }: Cycle): void {
    this.#store.tables.need("task_cycle");
    const next = "(SELECT coalesce(max(seq), 0) + 1 FROM task_cycle)";
    this.#sql.exec(
      `INSERT INTO task_cycle (seq, at, action, run, task) VALUES (${next}, ?, ?, ?, ?)`,
      at,
      action,
      run,
      task,
    );
  }

  /** Oldest first. */
  cycles(): Cycle[] {
    const stored = this.#storedCycles();
    const row = stored.length === 0 ? this.row() : null;
    return row === null ? stored : [firstCycle(row)];
  }

  #storedCycles(): Cycle[] {
    if (!this.#store.tables.has("task_cycle")) return [];
    const query = "SELECT at, action, run, task FROM task_cycle ORDER BY seq";
    return this.#sql.exec<Cycle & Record<string, SqlStorageValue>>(query).toArray();
  }
}

/** The beginning of a task that nothing else has happened to. */
const firstCycle = ({ created_at, run, settings }: TaskRow): Cycle => ({
  at: created_at,
  action: "spawn",
  run,
  task: settings.task,
});
