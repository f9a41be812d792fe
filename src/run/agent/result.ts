/** The result of an agent run (agent-runtime.md §7.2). */
import { wakeSources } from "../../engine/agent/next.ts";
import { serverWarnings } from "../../engine/agent/skill-servers.ts";
import type { AgentState, RunState } from "../../engine/agent/state.ts";
import { visibleText } from "../../engine/visible-text.ts";
import { messageJson } from "../../llm/messages.ts";
import type { Transcript } from "../../llm/transcript.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { answerData } from "./structured-turn.ts";

/** What a run came to so far; complete once it is settled. @param transcript what this run added */
export function runResult(
  state: AgentState,
  run: RunState,
  { transcript, durationMs }: { transcript: Transcript; durationMs: number },
): JsonObject {
  const { spec, totals, status } = run;
  const markers = [spec.done_sentinel, "DONE", "PLAN_READY"];
  const shown = run.texts.map((text) => visibleText(text, { markers })).filter((text) => text !== "");
  const full = { ...transcript, state: status === "done" ? "active" : "paused" };
  const { input_tokens, output_tokens, cost_usd } = totals;
  const data =
    spec.structured === true ? answerData(run.texts, spec.persistent ? spec.done_sentinel : null) : undefined;
  const warnings = serverWarnings(run);
  const result = {
    run_id: spec.run_id,
    session_id: spec.session_id,
    status,
    text: run.texts.join(""),
    visible_text: shown.join("\n\n"),
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
    daemon_state: spec.daemon === null ? null : status,
    daemon_snapshot_path: spec.daemon?.persist_path ?? spec.daemon?.resume_path ?? null,
    task_ledger: run.ledger,
    ledger_done_rejections: run.feedback.filter(({ kind }) => kind === "ledger_not_satisfied").length,
    ...(spec.daemon === null ? {} : { wake_sources: run.stage === "ended" ? [] : wakeSources(spec) }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(spec.policies.dropped === undefined ? {} : { policy_dropped: spec.policies.dropped }),
    ...(data === undefined ? {} : { data }),
    ...(state.summary === null ? {} : { summary: state.summary }),
    ...(run.artifacts === undefined ? {} : { artifacts: run.artifacts }),
    transcript: full,
  };
  const json: JsonObject = JSON.parse(JSON.stringify(result));
  return json;
}
