/** Which model a session remembers as one whose provider refused to search tools. */
import { expect, it } from "vitest";
import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import type { AgentRecordBody } from "../../../../src/engine/agent/records.ts";
import { EMPTY_SESSION } from "../../../../src/engine/agent/state.ts";
import { NO_USAGE } from "../../../../src/engine/messages.ts";
import { SPEC } from "./harness.ts";

const MODEL = { ...SPEC.model, provider: "first", model: "m" };
const at = { run: SPEC.run_id, effect: "model-0" };
const refused = { type: "search_refused" as const, ...at, warnings: [] };
const answeredBy = (provider: string): AgentRecordBody => ({
  type: "model_call_settled",
  ...at,
  turn: { blocks: [], stop_reason: "end_turn", raw_stop_reason: null, usage: NO_USAGE, provider, model: "m" },
  cost_usd: 0,
  warnings: [],
});
const remembered = (...records: AgentRecordBody[]): string[] | undefined => {
  const started: AgentRecordBody = { type: "run_started", run: SPEC.run_id, spec: { ...SPEC, model: MODEL } };
  return [started, ...records].reduce(
    (state, record) => applyAgentRecord(state, { v: 1, at: 0, ...record }),
    EMPTY_SESSION,
  ).refusedSearches;
};

it("a session remembers the models of refusing providers, each once", () => {
  const by = (...models: string[]) => ({ ...refused, models });
  expect(remembered(by("second/m"))).toEqual(["second/m"]);
  expect(remembered(by("second/m"), by("first/m", "second/m"))).toEqual(["second/m", "first/m"]);
  const outside: AgentRecordBody = { type: "searches_refused", models: ["second/m"] };
  expect(remembered(outside, by("second/m"))).toEqual(["second/m"]);
});

it("a session of an earlier version of Hull remembers the run's model, unless a fallback has answered before", () => {
  expect(remembered(refused)).toEqual(["first/m"]);
  expect(remembered(answeredBy("first"), refused)).toEqual(["first/m"]);
  expect(remembered(answeredBy("second"), refused)).toBeUndefined();
});
