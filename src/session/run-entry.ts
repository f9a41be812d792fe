/** A run as the index of a tenant's runs stores it. */
import * as z from "zod/mini";
import { RUN_STATUSES, type RunStatus } from "../engine/run-status.ts";
import type { WorkflowStatus } from "../engine/workflow/status.ts";

/** `run`: in a session; `daemon`: of a daemon; `call`: of a skill, or without a session; `workflow`: of a graph. */
export const RUN_KINDS = ["run", "daemon", "call", "workflow"] as const;

/** The states of all kinds of runs; the last ones are of workflows only. */
export const RUN_STATES = [...RUN_STATUSES, "waiting", "paused", "completed"] as const satisfies readonly (
  | RunStatus
  | WorkflowStatus
)[];

/** A run as a list entry, read from storage or from an answer. Times are RFC 3339. */
export const runEntry = () =>
  z.object({
    id: z.string(),
    /** One of `RUN_KINDS`, unless a later version of Hull wrote it; so is `state`. */
    kind: z.string(),
    /** Slug of the called skill, name of the operation, or name of the workflow; `null`: none. */
    name: z.nullable(z.string()),
    session: z.nullable(z.string()),
    /**
     * The model that it asks, as `provider/model`; that of the fallback if a fallback answered last; `null`: none, or an
     * earlier version of Hull listed it.
     */
    model: z.nullable(z.string()),
    state: z.string(),
    created_at: z.string(),
    settled_at: z.nullable(z.string()),
    /** From its beginning to its end, in ms. */
    duration_ms: z.nullable(z.number()),
    input_tokens: z.number(),
    output_tokens: z.number(),
    cost_usd: z.number(),
    /** Whether the price of every call in `cost_usd` is known; others count as 0. */
    price_known: z.boolean(),
    /** Code of the error that ended it, or of the budget that refused its next model call. */
    code: z.nullable(z.string()),
  });

export type RunEntry = z.output<typeof runEntryShape>;
export const runEntryShape = z.lazy(runEntry);

/** Sums over the runs of a skill, or of an operation. */
export type RunFigures = z.output<typeof figuresShape>;
export const figuresShape = z.lazy(() =>
  z.object({
    name: z.string(),
    calls: z.number(),
    failures: z.number(),
    /** Median duration of those that ended. */
    p50_ms: z.nullable(z.number()),
    cost_usd: z.number(),
  }),
);

/** What the list says of a run besides its place and its times. A run's object stores it with the run. */
export const runFacts = () =>
  z.omit(runEntry(), { id: true, session: true, created_at: true, settled_at: true, duration_ms: true });
export type RunFacts = z.output<ReturnType<typeof runFacts>>;

/** The entry of a run. @param times Unix ms */
export function entryOf(
  { id, session }: Pick<RunEntry, "id" | "session">,
  { created_at, settled_at }: { created_at: number; settled_at: number | null },
  { kind, name, model, state, code, ...used }: RunFacts,
): RunEntry {
  const time = (ms: number): string => new Date(ms).toISOString();
  const { input_tokens, output_tokens, cost_usd, price_known } = used;
  return {
    id,
    kind,
    name,
    session,
    model,
    state,
    created_at: time(created_at),
    settled_at: settled_at === null ? null : time(settled_at),
    duration_ms: settled_at === null ? null : Math.max(0, settled_at - created_at),
    input_tokens,
    output_tokens,
    cost_usd,
    price_known,
    code,
  };
}

/** What is known of a run when it begins. */
export function beginningFacts(about: Pick<RunFacts, "kind" | "name" | "model">): RunFacts {
  const none = { input_tokens: 0, output_tokens: 0, cost_usd: 0, price_known: true };
  return { ...about, state: "running", ...none, code: null };
}

/** The entry of a call that has just begun. @param now Unix ms */
export function beginningCall(id: string, name: string | null, now: number): RunEntry {
  const times = { created_at: now, settled_at: null };
  return entryOf({ id, session: null }, times, beginningFacts({ kind: "call", name, model: null }));
}
