/** The result of an agent run. */
import { spentBy } from "../../engine/agent/spent.ts";
import type { AgentState, RunState } from "../../engine/agent/state.ts";
import { wakeSources } from "../../engine/agent/wake.ts";
import { visibleText } from "../../engine/visible-text.ts";
import type { Recorded } from "../../llm/history.ts";
import { messageJson } from "../../llm/messages.ts";
import { shownReason } from "../../llm/result.ts";
import type { Transcript } from "../../llm/transcript.ts";
import type { RunResult } from "../../session/conversation/answers.ts";
import { defined } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { withAnswering } from "./run-model.ts";
import { answerData } from "./structured-turn.ts";

/** The most entries of a trace; a long run keeps the last ones. */
const MAX_TRACED = 1000;

/** The result of a run so far. It is complete once the run is settled. @param recorded what the run's records say */
export function runResult(
  state: AgentState,
  run: RunState,
  { recorded, durationMs }: { recorded: Recorded; durationMs: number },
): RunResult {
  const { spec, totals, status, answered } = run;
  const markers = [spec.done_sentinel, "DONE", "PLAN_READY"];
  const shown = run.texts.map((text) => visibleText(text, { markers })).filter((text) => text !== "");
  const { transcript, trace, warnings } = recorded;
  const full: Transcript = { ...transcript, state: status === "done" ? "active" : "paused" };
  const { input_tokens, output_tokens, cost_usd: own_cost_usd } = totals;
  const { cost_usd, price_known = true } = spentBy(run);
  const data =
    spec.structured === true ? answerData(run.texts, spec.persistent ? spec.done_sentinel : null) : undefined;
  return {
    run_id: spec.run_id,
    session_id: spec.session_id,
    status,
    text: run.texts.join(""),
    visible_text: shown.join("\n\n"),
    stop_reason: answered === undefined ? null : shownReason(answered),
    raw_stop_reason: answered?.raw_stop_reason ?? null,
    iterations: run.iterations,
    duration_ms: durationMs,
    tools_used: run.tools_used,
    successful_tools: run.successful_tools,
    rejected_tools: run.rejected_tools,
    deferred_user_messages: run.deferred.flatMap(messageJson),
    tool_calling_mode: spec.tool_format,
    input_tokens,
    output_tokens,
    cost_usd,
    own_cost_usd,
    price_known,
    daemon_state: spec.daemon === null ? null : status,
    daemon_snapshot_path: spec.daemon?.persist_path ?? spec.daemon?.resume_path ?? null,
    task_ledger: run.ledger,
    ledger_done_rejections: run.feedback.filter(({ kind }) => kind === "ledger_not_satisfied").length,
    ...(spec.daemon === null ? {} : { wake_sources: run.stage === "ended" ? [] : wakeSources(spec) }),
    ...defined({ policy_dropped: spec.policies.dropped, routing: shownRouting(run), data }),
    ...(state.summary === null ? {} : { summary: state.summary }),
    ...(run.artifacts === undefined ? {} : { artifacts: run.artifacts }),
    trace: trace.slice(-MAX_TRACED),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(run.budgetExceeded === true ? { budget_exceeded: true as const } : {}),
    transcript: full,
  };
}

const shownRouting = ({ spec: { routing }, answered }: RunState): JsonObject | undefined =>
  routing === undefined || answered === undefined ? routing : withAnswering(routing, answered);
