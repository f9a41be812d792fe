/** Plays a workflow run without a process: the engine decides, the test says what comes of each attempt and how late it is. */
import { expect } from "vitest";
import type { AttemptKey } from "../../../../src/engine/workflow/answers.ts";
import { decide, openAttempts } from "../../../../src/engine/workflow/next.ts";
import { completed, failed } from "../../../../src/engine/workflow/outcomes.ts";
import type { Outcome, WorkflowRecord, WorkflowSpec } from "../../../../src/engine/workflow/records.ts";
import { advanced, applyRecord, type WorkflowState } from "../../../../src/engine/workflow/state.ts";
import type { Json } from "../../../../src/skill/manifest.ts";
import { specOf } from "../../../support/workflow-graphs.ts";

const nameOf = ({ node, attempt, item }: AttemptKey): string =>
  `${node}${item === undefined ? "" : `[${item}]`}${attempt === 1 ? "" : `#${attempt}`}`;

export class Play {
  now = 0;
  /** When the run has to decide again even if nothing happens. */
  wake: number | null = null;
  state: WorkflowState;
  /** As a later run attempt folds it from what is stored. */
  #read: WorkflowState | null = null;
  #ids = 0;

  constructor(graph: Json, more: Partial<WorkflowSpec> = {}) {
    const spec = specOf("r", graph, more);
    const begun: WorkflowRecord = { type: "begun", at: 0, spec };
    const state = applyRecord(null, begun);
    this.#read = advanced(null, structuredClone(begun));
    if (state === null) throw new TypeError("nothing began");
    this.state = state;
    this.#decide();
  }

  /** Names of the attempts that run: `node`, `map[item]`, `node#2`. */
  get open(): string[] {
    return openAttempts(this.state).map(nameOf);
  }

  get status(): string | null {
    return this.state.finished?.status ?? null;
  }

  /** Nodes of the stages that have ended, with their branches. */
  get stages(): string[] {
    return this.state.stages.map(({ node_id, branch }) => `${node_id} ${branch}`);
  }

  /** The result of an attempt that runs. */
  end(name: string, outcome: Outcome = completed("success", "success")): this {
    const key = openAttempts(this.state).find((open) => nameOf(open) === name);
    if (key === undefined) throw new RangeError(`${name} does not run: ${this.open.join(", ")}`);
    return this.note({ type: "ended", at: this.now, ...key, outcome });
  }

  fail(name: string, code = "broken"): this {
    return this.end(name, failed("failed", code, "It broke."));
  }

  note(record: WorkflowRecord): this {
    this.#apply(record);
    this.#decide();
    return this;
  }

  /** Time passes. */
  at(ms: number): this {
    this.now = ms;
    this.#decide();
    return this;
  }

  #decide(): void {
    for (;;) {
      const { records, wake } = decide(this.state, this.now, () => `a${++this.#ids}`);
      this.wake = wake;
      expect(this.#read).toEqual(this.state);
      if (records.length === 0) return;
      for (const record of records) this.#apply(record);
    }
  }

  #apply(record: WorkflowRecord): void {
    this.state = applyRecord(this.state, record) ?? this.state;
    this.#read = advanced(this.#read, structuredClone(record));
  }
}
