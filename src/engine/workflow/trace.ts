/** What the attempts of a workflow run did and when, as spans, and the results of its tools. Pure. */
import type { AttemptKey, ToolRecording, TraceSpan } from "./answers.ts";
import type { Outcome, WorkflowSpec } from "./records.ts";

/** What attempts have left, in the order in which they ended. */
export interface TraceParts {
  spans: TraceSpan[];
  recordings: ToolRecording[];
  /** How many of either are left out. */
  left_out: { spans: number; recordings: number };
}

/** The most of either that a run keeps. The sessions of its stages have all. */
const MOST_SPANS = 1000;
const MOST_RECORDINGS = 200;

export const visitId = (run: string, { node, visit }: { node: string; visit: number }): string =>
  `${run}:${node}:${visit}`;

/** The id of an attempt, or of its item of a map. */
export const attemptId = (run: string, key: AttemptKey): string =>
  `${visitId(run, key)}:${key.attempt}${key.item === undefined ? "" : `:${key.item}`}`;

/** Adds an attempt that has ended, or an item of a map, and its calls. Changes the parts in place. @param from Unix ms */
export function addAttempt(
  {
    spec: { run_id },
    began,
    ahead,
    trace,
  }: { spec: WorkflowSpec; began: number; ahead: number; trace: TraceParts },
  key: AttemptKey,
  outcome: Outcome,
  { from, until }: { from: number; until: number },
): void {
  const stage_id = visitId(run_id, key);
  const span_id = attemptId(run_id, key);
  const { status, outcome: how, child_run_id, child_session_id, recorded } = outcome;
  addSpan(trace, {
    span_id,
    parent_id: stage_id,
    kind: "attempt",
    name: key.node,
    start_ms: from - began,
    duration_ms: until - from,
    metadata: { attempt: key.attempt, status, outcome: how, child_run_id, child_session_id },
  });
  if (recorded === undefined) return;
  // The clock gave the times of calls; the run's own time may be ahead of it.
  for (const [n, { at, ...call }] of recorded.spans.entries()) {
    const start_ms = at + ahead - began;
    addSpan(trace, { ...call, span_id: `${span_id}/${n + 1}`, parent_id: span_id, start_ms });
  }
  for (const tool of recorded.tools) {
    if (trace.recordings.length < MOST_RECORDINGS) trace.recordings.push({ ...tool, stage_id });
    else trace.left_out.recordings += 1;
  }
  trace.left_out.spans += recorded.left_out.spans;
  trace.left_out.recordings += recorded.left_out.tools;
}

function addSpan({ spans, left_out }: TraceParts, span: TraceSpan): void {
  if (spans.length < MOST_SPANS) spans.push(span);
  else left_out.spans += 1;
}
