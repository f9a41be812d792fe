/** A session and its runs as their routes return them. */
import * as z from "zod/mini";
import { spentBy } from "../../engine/agent/spent.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import { endCode } from "../../engine/agent/status.ts";
import { BudgetExceeded } from "../../errors/budget.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { figuresOf, type RunEntry, type Used } from "../run-entry.ts";
import type { RunView, SessionView } from "./answers.ts";
import { awaitedCalls, listApprovals } from "./approvals.ts";
import { readEnd } from "./done.ts";
import type { Wait } from "./rpc.ts";
import type { RunRow } from "./run-rows.ts";
import type { SessionLog } from "./session-log.ts";
import { resultOf } from "./settle.ts";
import type { SessionRow } from "./store.ts";
import { countListed } from "./visible.ts";

const time = (ms: number): string => new Date(ms).toISOString();

/** Without secrets: a summary quotes the conversation, and metadata is the client's own. */
export function sessionView(log: SessionLog, row: SessionRow): SessionView {
  const { id, state, created_at, updated_at, parent_id, branched_at, metadata } = row;
  const { visible, summary } = log.state();
  const live = log.store.runs.live();
  return log.answered({
    id,
    state: state === "deleted" ? "closed" : state,
    created_at: time(created_at),
    // A run updates the session's row only when it ends.
    updated_at: time(Math.max(updated_at, live?.created_at ?? 0)),
    length: countListed(visible),
    summary,
    parent_id,
    child_ids: log.store.children(),
    branched_at_event_index: branched_at,
    last_event: log.store.lastEvent(),
    metadata,
    run: live === null ? null : { run_id: live.id, status: live.status },
  });
}

/**
 * How long an answer waits by default. A run with tools of the client cannot end without its client, so the answer waits
 * until the run is idle.
 */
export function usualWait({ run }: AgentState): Wait {
  if (run === null) return "terminal";
  const { daemon, tools } = run.spec;
  return daemon !== null || tools.some(({ executor }) => executor === "client") ? "idle" : "terminal";
}

/** A run as a list entry, without its result. */
export function runEntry(log: SessionLog, row: RunRow): RunView {
  const { id, status, created_at, settled_at } = row;
  return {
    run_id: id,
    session_id: log.store.identity().id,
    status,
    created_at: time(created_at),
    settled_at: settled_at === null ? null : time(settled_at),
  };
}

/** A run for the tenant's index: from the session's state if that is about this run, else from the run's stored end. */
export function indexEntry(log: SessionLog, row: RunRow): RunEntry {
  const { id } = row;
  const session = log.store.identity().id;
  const run = isLost(log, row) ? null : log.state().run;
  if (run?.spec.run_id === id) {
    const { spec, totals } = run;
    const { cost_usd, price_known = true } = spentBy(run);
    const kind = spec.daemon === null ? "run" : "daemon";
    const about = { id, kind, name: spec.agent ?? null, session } as const;
    return { ...about, ...figuresOf(row, { ...totals, cost_usd, price_known }), code: endCode(run) };
  }
  const { result, error } = readEnd(log.store, row);
  const about = { id, kind: "run", name: null, session } as const;
  return { ...about, ...figuresOf(row, usedIn(result)), code: codeIn(error) ?? refusedCode(log, row) };
}

/** `budget_exceeded` if a budget refused the run's next call, which only its records say; else `null`. */
function refusedCode({ store }: SessionLog, row: RunRow): string | null {
  if (row.status !== "budget_exhausted") return null;
  let refused = false;
  for (const record of store.runRecords(row))
    if (record.type === "run_settled") refused = record.refused_by !== undefined;
  return refused ? BudgetExceeded.code : null;
}

const codeIn = (error: JsonObject | undefined): string | null =>
  typeof error?.code === "string" ? error.code : null;

/** Whether a run was given up. Reading its records could then kill the process, unless the loaded state has read them. */
const isLost = (log: SessionLog, row: RunRow): boolean =>
  !log.loaded && row.status === "error" && codeIn(readEnd(log.store, row).error) === "run_lost";

const usedShape = z.lazy(() =>
  z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    cost_usd: z.number(),
    price_known: z._default(z.boolean(), false),
  }),
);

/**
 * The usage in a run's result, or in the log line of a model call. Earlier versions of Hull did not say whether its
 * price is known.
 */
export const usedIn = (value: unknown): Used | undefined => usedShape.safeParse(value).data;

/** An ended or resting run with its present result. */
export function runAnswer(log: SessionLog, row: RunRow): RunView {
  const view = runView(log, row);
  if (row.settled_at !== null || row.status === "running") return view;
  const result = resultOf(log, log.state(), row, Date.now());
  const { status } = row;
  return { ...view, result: log.answered({ ...result, status }) };
}

export function runView(log: SessionLog, row: RunRow): RunView {
  const entry = runEntry(log, row);
  if (row.status === "awaiting_tool") return { ...entry, awaiting: awaitedCalls(log) };
  if (row.status === "awaiting_approval") {
    // The client may answer its calls of the same turn meanwhile.
    const awaiting = awaitedCalls(log);
    return { ...entry, approvals: listApprovals(log), ...(awaiting.length === 0 ? {} : { awaiting }) };
  }
  return { ...entry, ...readEnd(log.store, row) };
}
