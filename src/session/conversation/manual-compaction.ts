/** A compaction on request. */
import {
  type CompactionPlan,
  compactionRecord,
  estimateTokens,
  planCompaction,
  summaryFrom,
  summaryInstructions,
} from "../../engine/agent/compaction.ts";
import type { Compacted, ModelCost } from "../../engine/agent/records.ts";
import type { Message, Warning } from "../../engine/messages.ts";
import { RunInProgress } from "../../errors/session.ts";
import { toHullError } from "../../errors.ts";
import { eachOnce } from "../../llm/result.ts";
import { summarize } from "../../run/agent/effects.ts";
import type { PreparedRun } from "../../run/agent/runtime.ts";
import { llmError } from "../../run/llm-problem.ts";
import type { CompactCall } from "./rpc.ts";
import type { SessionLog } from "./session-log.ts";

interface CompactionOptions {
  /** The prepared model call that writes the summary; `null`: no model is asked. */
  prepared: PreparedRun | null;
  /** Aborts when the session is removed. Its reason is thrown. */
  removed: AbortSignal;
}

/**
 * Prepares a compaction of the present conversation.
 * @returns a function that stores the compaction and returns what it did, with the warnings of the model call; `null`:
 * there is nothing to archive
 * @throws HullError if the model fails to write the summary: the conversation stays unchanged; CallNotFound if the
 * session is removed meanwhile; from the function RunInProgress if a daemon that woke meanwhile changed the messages
 */
export async function compaction(
  log: SessionLog,
  { strategy, keep_first, keep_last, summary }: CompactCall,
  { prepared, removed }: CompactionOptions,
): Promise<() => { compacted: Compacted | null; warnings?: readonly Warning[] }> {
  const state = log.state();
  const before = estimateTokens(state.visible, "");
  const kept = { keep_first, keep_last };
  const plan = planCompaction(state.visible, kept, { mode: "manual", before, strategy });
  if (plan === null) return () => ({ compacted: null });
  const written = summary ?? plan.summary;
  const asks = written === null && prepared !== null && strategy === "llm";
  const { text, warnings } = asks ? await asked(log, prepared, plan, removed) : { text: "", warnings: [] };
  const made = written === null ? summaryFrom(text, plan) : { plan, summary: written };
  return () => {
    const now = log.state();
    if (!beginsWith(now.visible, state.visible))
      throw new RunInProgress({ session: log.store.identity().id, run: null });
    const body = compactionRecord(now.visible, null, made.plan, made.summary);
    log.add([body]);
    return { compacted: body.compacted, ...eachOnce(warnings) };
  };
}

/** Whether messages only followed those of an earlier time. */
const beginsWith = (now: readonly Message[], before: readonly Message[]): boolean =>
  now === before || JSON.stringify(now.slice(0, before.length)) === JSON.stringify(before);

/** Asks the model, and logs what that took: no run's line does. */
async function asked(
  log: SessionLog,
  { host, model, context }: PreparedRun,
  { archived }: CompactionPlan,
  signal: AbortSignal,
): Promise<{ text: string; warnings: readonly Warning[] }> {
  let spent: ModelCost | null = null;
  const noteEnd = (code: string | null): void => {
    if (code === null && !context.settings.logsAll) return;
    const { id: session_id, tenant } = log.store.identity();
    const { requestId: request_id, durationMs: duration_ms, spans } = context;
    log.note({
      event: "compaction",
      session_id,
      tenant,
      request_id,
      duration_ms,
      ...(spent === null ? {} : { usage: spent, cost_usd: spent.cost_usd }),
      ...(code === null ? {} : { code }),
      ...(spans === undefined ? {} : { spans }),
    });
  };
  try {
    const answer = await summarize({ context, host }, model, summaryInstructions(archived), signal);
    const { text, fault, warnings } = answer;
    spent = answer.spent;
    if (fault !== null) throw fault;
    noteEnd(null);
    return { text, warnings };
  } catch (error) {
    signal.throwIfAborted();
    const shown = llmError(error, context);
    noteEnd(toHullError(shown).code);
    throw shown;
  }
}
