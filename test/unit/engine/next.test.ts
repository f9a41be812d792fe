/** What a run asks a model for, and what it makes of the answer (serving.md §4.4). */
import { expect, test } from "vitest";
import type { ModelTurn } from "../../../src/engine/messages.ts";
import { nextStep } from "../../../src/engine/next.ts";
import type { RunRecord, RunSpec } from "../../../src/engine/records.ts";
import { applyRecord, startState } from "../../../src/engine/state.ts";

const SPEC: RunSpec = {
  system: "",
  tools: [],
  max_tokens: 9,
  max_tool_rounds: 1,
  json: false,
  deadline_ms: 1000,
  deadline_at: 1000,
};
const started = (spec: RunSpec) => startState({ v: 1, at: 0, type: "run_started", spec, input: [] });

test("a skill reads text: its JSON may not come as the call of a tool", () => {
  const step = nextStep(started({ ...SPEC, json: true }), 0);
  expect(step).toMatchObject({ type: "call_model", request: { json: true, json_as_text: true } });
  expect(nextStep(started(SPEC), 0)).not.toHaveProperty("request.json_as_text");
});

test.each<[Partial<ModelTurn>, string, object]>([
  [
    { stop_reason: "refusal", raw_stop_reason: "content_filter" },
    "part",
    { ok: true, finish_reason: "content_filter" },
  ],
  [{ stop_reason: "refusal", raw_stop_reason: "refusal" }, "part", { ok: true, finish_reason: "refusal" }],
  [
    { stop_reason: "refusal", raw_stop_reason: "refusal" },
    "",
    { ok: false, error: { code: "model_refused" } },
  ],
  [
    { stop_reason: "refusal", raw_stop_reason: "content_filter" },
    "",
    { ok: false, error: { code: "provider_empty_answer", members: { finish_reason: "content_filter" } } },
  ],
])("%j with the text %j", (more, text, outcome) => {
  const turn: ModelTurn = {
    blocks: text === "" ? [] : [{ type: "output_text", text }],
    stop_reason: "end_turn",
    raw_stop_reason: null,
    usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
    provider: "p",
    model: "m",
    ...more,
  };
  const records: RunRecord[] = [
    { v: 1, at: 0, type: "model_call_started", effect: "model-1", round: 1 },
    { v: 1, at: 0, type: "model_call_settled", effect: "model-1", round: 1, turn },
  ];
  const step = nextStep(records.reduce(applyRecord, started(SPEC)), 0);
  expect(step).toMatchObject({ type: "settle", outcome });
});
