/** The stored state of a session's task. It makes no decisions. */

import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { TaskSettings } from "../../run/task/handle.ts";
import type { ConversationStore } from "../conversation/store.ts";

/** Times are Unix ms. */
export interface TaskRow {
  /** Id of its last run. */
  run: string;
  created_at: number;
  /** When it was closed; `null`: it accepts input. */
  closed_at: number | null;
  /** The status that was last reported to watchers. */
  reported: string | null;
  /** Whether a caller that waited has received its error. */
  thrown: boolean;
  settings: TaskSettings;
  /** The artifacts that its last run received. */
  artifacts: WorkflowArtifact[];
}

/** An action on the task. */
export interface Cycle {
  at: number;
  action: "spawn" | "input" | "trigger" | "resume" | "close";
  /** Id of the run that it began; `null`: none. */
  run: string | null;
  /** The action's input; `""`: it had none. */
  task: string;
}

type Raw = Omit<TaskRow, "reported" | "thrown" | "settings" | "artifacts"> & {
  told: string | null;
  thrown: number;
  settings: string;
  artifacts: string;
};

/** Names in `content` of texts that are too long for the row. */
const SETTINGS = "task settings";
const ARTIFACTS = "task artifacts";

export class TaskStore {
  readonly #store: ConversationStore;
  /**
   * The row that was read or written last, and the value of `ConversationStore.forgotten` then. Only this class writes
   * the table.
   */
  #known: { at: number; row: TaskRow | null } | null = null;

  constructor(store: ConversationStore) {
    this.#store = store;
  }

  /** `null`: the session is not a task. */
  row(): TaskRow | null {
    if (this.#known?.at !== this.#store.forgotten) this.#know(this.#read());
    return this.#known?.row ?? null;
  }

  #know(row: TaskRow | null): void {
    this.#known = { at: this.#store.forgotten, row };
  }

  #read(): TaskRow | null {
    const [raw] = this.#store.tables.exec<Raw>("task", "SELECT * FROM task");
    if (raw === undefined) return null;
    const { told, thrown, settings, artifacts, ...row } = raw;
    const { long } = this.#store;
    return {
      ...row,
      reported: told,
      thrown: thrown === 1,
      settings: JSON.parse(long.whole(SETTINGS, settings)),
      artifacts: JSON.parse(long.whole(ARTIFACTS, artifacts)),
    };
  }

  put(row: TaskRow): void {
    const { tables, long } = this.#store;
    const before = this.row();
    // The first action can no longer be derived from the row, so it is stored.
    if (before !== null && this.#lastCycle() === 0) this.addCycle(firstCycle(before));
    tables.exec("task", "DELETE FROM task");
    const { reported, thrown, settings, artifacts, ...plain } = row;
    tables.insert("task", {
      ...plain,
      told: reported,
      thrown: Number(thrown),
      settings: long.column(SETTINGS, JSON.stringify(settings)),
      artifacts: long.column(ARTIFACTS, JSON.stringify(artifacts)),
    });
    this.#know(row);
  }

  note(told: Partial<Pick<TaskRow, "reported" | "thrown">>): void {
    const before = this.row();
    if (before === null) return;
    const row = { ...before, ...told };
    this.#store.tables.exec("task", "UPDATE task SET told = ?, thrown = ?", row.reported, Number(row.thrown));
    this.#know(row);
  }

  /** Stores an action after the first one. Call it after `put`. */
  addCycle(cycle: Cycle): void {
    this.#store.tables.insert("task_cycle", { seq: this.#lastCycle() + 1, ...cycle });
  }

  /** Oldest first. */
  cycles(): Cycle[] {
    const stored = this.#storedCycles();
    const row = stored.length === 0 ? this.row() : null;
    return row === null ? stored : [firstCycle(row)];
  }

  /** Number of the last stored action; 0: none is stored. */
  #lastCycle(): number {
    const query = "SELECT coalesce(max(seq), 0) AS n FROM task_cycle";
    return this.#store.tables.exec<{ n: number }>("task_cycle", query)[0]?.n ?? 0;
  }

  #storedCycles(): Cycle[] {
    const query = "SELECT at, action, run, task FROM task_cycle ORDER BY seq";
    return this.#store.tables.exec("task_cycle", query);
  }
}

/** The first action of a task, derived from its row. */
const firstCycle = ({ created_at, run, settings }: TaskRow): Cycle => ({
  at: created_at,
  action: "spawn",
  run,
  task: settings.task,
});
