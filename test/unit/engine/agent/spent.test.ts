/** What a daemon's wake has used, including one that an earlier version of Hull began. */
import { expect, test } from "vitest";
import { spentInWake } from "../../../../src/engine/agent/spent.ts";
import { newRun, type RunState } from "../../../../src/engine/agent/state.ts";
import { NO_USAGE } from "../../../../src/engine/messages.ts";
import { SPEC } from "./harness.ts";

const totals = { ...NO_USAGE, input_tokens: 100, output_tokens: 10, cost_usd: 0.5 };
const delegated = { tokens: 1000, cost_usd: 0.2 };
const own = { tokens: 30, cost_usd: 0.1 };

test.each<[string, Partial<RunState>, [tokens: number, cost_usd: number]]>([
  ["the first wake", { delegated }, [1110, 0.7]],
  ["without sub-agents", { wakeFrom: { ...own, delegated: { tokens: 0, cost_usd: 0 } } }, [80, 0.4]],
  [
    "with sub-agents",
    { delegated, wakeFrom: { ...own, delegated: { tokens: 400, cost_usd: 0.05 } } },
    [680, 0.55],
  ],
  ["of an earlier version", { delegated, wakeFrom: own }, [80, 0.4]],
])("a wake, %s", (_, state, [tokens, cost_usd]) => {
  expect(spentInWake({ ...newRun(SPEC, []), totals, ...state })).toEqual({ tokens, cost_usd });
});
