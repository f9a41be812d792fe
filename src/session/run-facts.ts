/** What the list of runs says of a run, from the run itself. */
import * as z from "zod/mini";
import { spentBy } from "../engine/agent/spent.ts";
import { askedModel, type RunState } from "../engine/agent/state.ts";
import { endCode } from "../engine/agent/status.ts";
import type { LogFields } from "../run/context.ts";
import { type RunFacts, runFacts } from "./run-entry.ts";

/** Of an agent run. @param state the status to show */
export function agentFacts(run: RunState, state: string): RunFacts {
  const { spec, totals } = run;
  const { cost_usd, price_known = true } = spentBy(run);
  return {
    kind: spec.daemon === null ? "run" : "daemon",
    name: spec.agent ?? null,
    model: askedModel(run),
    state,
    input_tokens: totals.input_tokens,
    output_tokens: totals.output_tokens,
    cost_usd,
    price_known,
    code: endCode(run.error?.code, run.refused),
  };
}

/** Of a call that has ended, from its log line. @param code of its error; `null`: it has an answer */
export function callFacts(
  { model = null, usage, cost_usd, price_known, refused }: LogFields,
  { name, state, code }: Pick<RunFacts, "name" | "state" | "code">,
): RunFacts {
  return {
    kind: "call",
    name,
    model,
    state,
    input_tokens: usage?.input_tokens ?? 0,
    output_tokens: usage?.output_tokens ?? 0,
    cost_usd: cost_usd ?? usage?.cost_usd ?? 0,
    price_known: price_known ?? usage?.price_known ?? true,
    code: endCode(code, refused),
  };
}

const stored = z.lazy(runFacts);

/** Whether they are of the end of a run. An earlier version of Hull leaves those of its beginning. */
export const hasEnded = (facts: RunFacts | null): facts is RunFacts =>
  facts !== null && facts.state !== "running";

/** What is stored with a run; `null`: nothing, since an earlier version of Hull began the run. */
export const storedFacts = (text: string | null): RunFacts | null =>
  text === null ? null : (stored.safeParse(JSON.parse(text)).data ?? null);
