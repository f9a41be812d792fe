/** What a run's record keeps of the calls in its attempts. */
import { expect, it } from "vitest";
import { runDocument } from "../../../../src/engine/workflow/document.ts";
import { completed } from "../../../../src/engine/workflow/outcomes.ts";
import type { RecordedCalls, WorkflowRecord } from "../../../../src/engine/workflow/records.ts";
import { applyRecord, type WorkflowState } from "../../../../src/engine/workflow/state.ts";
import { specOf } from "../../../support/workflow-graphs.ts";

const RECORDED: RecordedCalls = {
  spans: Array.from({ length: 300 }, (_, n) => ({
    kind: "tool",
    name: `t${n}`,
    at: 1000,
    duration_ms: 1,
    metadata: {},
  })),
  tools: Array.from({ length: 50 }, (_, n) => ({
    run_id: "r",
    tool_call_id: `c${n}`,
    name: "t",
    arguments: {},
    arguments_digest: "",
    status: "ok",
    content: "",
    at: "",
    duration_ms: 1,
  })),
  left_out: { spans: 7, tools: 2 },
};

it("keeps at most 1000 spans and 200 tool results, and counts those that it leaves out", () => {
  let state: WorkflowState | null = null;
  const apply = (record: WorkflowRecord): void => {
    state = applyRecord(state, record);
  };
  apply({ type: "begun", at: 1000, spec: specOf("r", { nodes: { a: { prompt: "go" } } }) });
  for (let attempt = 1; attempt <= 5; attempt++) {
    const key = { node: "a", visit: attempt, attempt: 1, at: 1000 + attempt };
    apply({ type: "started", ...key, input_digest: "", consumed: [] });
    apply({ type: "ended", ...key, outcome: completed("success", "success", { recorded: RECORDED }) });
  }
  const record = runDocument(state ?? expect.fail(), new Map());
  // The span of the run and those of its five stages are counted too.
  expect([record.trace_spans, record.tool_recordings]).toMatchObject([{ length: 1006 }, { length: 200 }]);
  expect(record).toMatchObject({ trace_spans_left_out: 5 * 301 - 1000 + 35, tool_recordings_left_out: 60 });
});

it("keeps the calls of an attempt within its span, also where a test has skipped time", () => {
  const key = { node: "a", visit: 1, attempt: 1, at: 6001 };
  const recorded = { ...RECORDED, spans: RECORDED.spans.slice(0, 1), tools: [] };
  const records: WorkflowRecord[] = [
    { type: "begun", at: 1000, spec: specOf("r", { nodes: { a: { prompt: "go" } } }) },
    { type: "skipped", at: 1000, by: 5001 },
    { type: "started", ...key, input_digest: "", consumed: [] },
    { type: "ended", ...key, at: 6003, outcome: completed("success", "success", { recorded }) },
  ];
  const state = records.reduce<WorkflowState | null>(applyRecord, null);
  const { trace_spans } = runDocument(state ?? expect.fail(), new Map());
  const call = { kind: "tool", start_ms: 5001, duration_ms: 1 };
  expect(trace_spans).toMatchObject([{}, {}, { kind: "attempt", start_ms: 5001, duration_ms: 2 }, call]);
});
