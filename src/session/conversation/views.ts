/** A session and its runs as their routes return them. */
import * as z from "zod/mini";
import type { AgentState } from "../../engine/agent/state.ts";
import { RunLost } from "../../errors/session.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { beginningFacts, entryOf, type RunEntry, type RunFacts } from "../run-entry.ts";
import { agentFacts, hasEnded, storedFacts } from "../run-facts.ts";
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

/** A run for the tenant's index. */
export const indexEntry = (log: SessionLog, row: RunRow): RunEntry =>
  entryOf({ id: row.id, session: log.store.identity().id }, row, factsOf(log, row));

function factsOf(log: SessionLog, row: RunRow): RunFacts {
  const known = storedFacts(row.listed);
  const isOver = row.settled_at !== null;
  if (isOver && hasEnded(known)) return known;
  // An earlier version of Hull ended the run.
  const { result, error } = isOver ? readEnd(log.store, row) : {};
  const code = codeIn(error);
  // Reading the records of a run that was given up could kill the process.
  const isLost = row.status === "error" && code === RunLost.code;
  const run = isLost && !log.loaded ? null : log.state().run;
  if (run?.spec.run_id === row.id) return agentFacts(run, row.status);
  const begun = known ?? beginningFacts({ kind: "run", name: null, model: null });
  return { ...begun, state: row.status, ...usedIn(result), code };
}

const codeIn = (error: JsonObject | undefined): string | null =>
  typeof error?.code === "string" ? error.code : null;

const usedShape = z.lazy(() =>
  z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    cost_usd: z.number(),
    price_known: z._default(z.boolean(), false),
  }),
);

/** The usage in a run's result. Earlier versions of Hull did not say whether its price is known. */
const usedIn = (result: unknown) => usedShape.safeParse(result).data;

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
