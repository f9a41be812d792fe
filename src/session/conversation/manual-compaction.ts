/** A compaction on request. */
import {
  type CompactionPlan,
  estimateTokens,
  planCompaction,
  summaryFrom,
  summaryInstructions,
} from "../../engine/agent/compaction.ts";
import { compactionRecord } from "../../engine/agent/next.ts";
import type { Compacted } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import type { PreparedRun } from "../../run/agent/runtime.ts";
import { llmError } from "../../run/llm-problem.ts";
import type { Conversation } from "./conversation.ts";
import type { CompactCall, SessionCaller } from "./rpc.ts";
import type { SessionLog } from "./session-log.ts";
import type { SessionRow } from "./store.ts";

/** Session and caller of a compaction, and the model call that writes the summary, if one is needed. */
interface CompactionOptions {
  session: SessionRow;
  caller: SessionCaller;
  /** Id of the model call that writes the summary. */
  run_id: string;
  /** The prepared call; `null`: no model is asked. */
  prepared: PreparedRun | null;
  /** Aborts when the session is removed, since another session may then take its place. Its reason is thrown. */
  removed: AbortSignal;
}

/**
 * Prepares a compaction of the present conversation.
 * @returns a function that stores the compaction and returns what it did; `null`: there is nothing to archive
 * @throws HullError if the model fails to write the summary: the conversation stays unchanged; CallNotFound if the
 * session is removed meanwhile
 */
export async function compaction(
  conversation: Conversation,
  call: CompactCall,
  options: CompactionOptions,
): Promise<() => Compacted | null> {
  const { log } = conversation;
  const state = log.state();
  const { strategy, keep_first, keep_last } = call;
  const before = estimateTokens(state.visible, "");
  const kept = { keep_first, keep_last };
  const plan = planCompaction(state.visible, kept, { mode: "manual", before, strategy });
  if (plan === null) return () => null;
  const made =
    call.summary === null
      ? await summaryOf(plan, call, conversation, options)
      : { plan, summary: call.summary };
  return () => {
    options.removed.throwIfAborted();
    return record(log, state, made.plan, made.summary);
  };
}

function record(log: SessionLog, state: AgentState, plan: CompactionPlan, summary: string): Compacted | null {
  const body = compactionRecord(state, null, plan, summary);
  if (body.type !== "compacted") return null;
  log.add([body]);
  return body.compacted;
}

async function summaryOf(
  plan: CompactionPlan,
  { strategy }: CompactCall,
  conversation: Conversation,
  options: CompactionOptions,
): Promise<{ plan: CompactionPlan; summary: string }> {
  const { runtime, log, files } = conversation;
  const { session, run_id, prepared, removed: signal } = options;
  if (plan.summary !== null) return { plan, summary: plan.summary };
  return summaryFrom(prepared === null || strategy !== "llm" ? "" : await asked(prepared.spec), plan);

  async function asked(spec: AgentSpec): Promise<string> {
    const { store } = log;
    const environment = {
      context: prepared?.context ?? conversation.context(options.caller),
      workspace: files,
      session_id: session.id,
      run_id,
      records: store,
      known: store.submitted,
      artifact: (id: string) => store.artifacts.latest(id),
      emit: () => {},
      memo: null,
      remember: () => {},
      prepared,
    };
    const context = {
      run: run_id,
      effect: "summary",
      attempt: 0,
      signal,
      tools: [],
      provider: null,
    };
    try {
      const { effects, close } = await runtime.begin(spec, environment, signal);
      const { text, fault } = await effects
        .summarize(summaryInstructions(plan.archived), plan.archived, context)
        .finally(close);
      if (fault !== null) throw fault;
      return text;
    } catch (error) {
      signal.throwIfAborted();
      throw llmError(error, environment.context);
    }
  }
}
