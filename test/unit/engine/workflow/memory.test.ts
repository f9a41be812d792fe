/** What a run keeps in memory while a map has many items. */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { decide, openAttempts } from "../../../../src/engine/workflow/next.ts";
import { completed } from "../../../../src/engine/workflow/outcomes.ts";
import type { Outcome, WorkflowRecord } from "../../../../src/engine/workflow/records.ts";
import { applyRecord, type WorkflowState } from "../../../../src/engine/workflow/state.ts";
import { specOf } from "../../../support/workflow-graphs.ts";

const ITEMS = 1000;
const MOST_MB = 32;
const TEXT = 8 * 1024;
const TRANSCRIPT = 64 * 1024;

/** The memory that V8 holds after a garbage collection. */
function heldMb(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return getHeapStatistics().used_heap_size / 1024 / 1024;
}

/** The events of an attempt whose agent said much. */
function outcomeOf(item: number): Outcome {
  const text = `${item} `.padEnd(TEXT, "x");
  return completed("success", "success", {
    text,
    reasoning: text,
    transcript: { messages: [{ role: "assistant", content: `${item} `.padEnd(TRANSCRIPT, "y") }] },
    artifacts: [
      {
        _type: "artifact",
        id: `a${item}`,
        kind: "artifact",
        title: "map",
        text,
        data: null,
        source: `run_${item}`,
        created_at: "2026-01-01T00:00:00.000Z",
        freshness: null,
        priority: 40,
        lineage: [],
        relevance: null,
        estimated_tokens: TEXT / 4,
        stage: "map",
        metadata: {},
      },
    ],
  });
}

it(`at most ${MOST_MB} MB for a map of ${ITEMS} items, while it runs and when it ends`, () => {
  const items = Array.from({ length: ITEMS }, (_, n) => `item ${n}`);
  const graph = { nodes: { map: { kind: "map", prompt: "go", map_policy: { items } } } };
  let state: WorkflowState | null = null;
  let ids = 0;
  const apply = (record: WorkflowRecord): void => {
    // Its texts are its own, as those of an answer and of a row are.
    state = applyRecord(state, JSON.parse(JSON.stringify(record)));
  };
  const before = heldMb();
  let most = 0;
  apply({ type: "begun", at: 0, spec: specOf("r", graph) });
  const whole = (): WorkflowState => state ?? expect.fail("no run");
  for (let done = 0; whole().finished === null; ) {
    for (const record of decide(whole(), done, () => `i${++ids}`).records) apply(record);
    const [open] = openAttempts(whole());
    if (open === undefined) continue;
    apply({ type: "ended", at: done, ...open, outcome: outcomeOf(open.item ?? 0) });
    done += 1;
    if (done % 250 === 0) most = Math.max(most, heldMb() - before);
  }
  most = Math.max(most, heldMb() - before);
  const { stages, artifacts } = whole();
  expect(stages).toMatchObject([{ status: "completed", metadata: { items: ITEMS, completed: ITEMS } }]);
  expect(artifacts).toHaveLength(ITEMS);
  expect(most).toBeGreaterThan(TEXT / 1024);
  expect(most).toBeLessThan(MOST_MB);
});
