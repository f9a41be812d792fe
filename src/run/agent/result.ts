/** The result of an agent run (agent-runtime.md §7.2). */
import type { AgentRecord } from "../../engine/agent/records.ts";
import { bindingWarnings } from "../../engine/agent/skill-servers.ts";
import type { AgentState, RunState } from "../../engine/agent/state.ts";
import { type TraceEntry, Tracer } from "../../engine/agent/trace.ts";
import { wakeSources } from "../../engine/agent/wake.ts";
import type { Warning } from "../../engine/messages.ts";
import { visibleText } from "../../engine/visible-text.ts";
import { messageJson } from "../../llm/messages.ts";
import type { Transcript } from "../../llm/transcript.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { answerData } from "./structured-turn.ts";

/** Of a long run the last ones are told. */
const MAX_TRACED = 1000;

/** What a run came to so far; complete once it is settled. @param transcript what this run added, of the records that the notes have read */
export function runResult(
  state: AgentState,
  run: RunState,
  { transcript, durationMs, notes }: { transcript: Transcript; durationMs: number; notes: RunNotes },
): JsonObject {
  const { spec, totals, status } = run;
  const markers = [spec.done_sentinel, "DONE", "PLAN_READY"];
  const shown = run.texts.map((text) => visibleText(text, { markers })).filter((text) => text !== "");
  const full = { ...transcript, state: status === "done" ? "active" : "paused" };
  const { input_tokens, output_tokens, cost_usd } = totals;
  const data =
    spec.structured === true ? answerData(run.texts, spec.persistent ? spec.done_sentinel : null) : undefined;
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
    ...(spec.policies.dropped === undefined ? {} : { policy_dropped: spec.policies.dropped }),
    ...(data === undefined ? {} : { data }),
    ...(state.summary === null ? {} : { summary: state.summary }),
    ...(run.artifacts === undefined ? {} : { artifacts: run.artifacts }),
    ...notes.members,
    transcript: full,
  };
  const json: JsonObject = JSON.parse(JSON.stringify(result));
  return json;
}

/** Reads a run's records on their way into its transcript: what the loop did beside messages, and warnings, each once. */
export class RunNotes {
  readonly #tracer = new Tracer();
  readonly #trace: TraceEntry[] = [];
  readonly #warnings = new Map<string, Warning>();
  #exceeded = false;

  *reading(records: Iterable<AgentRecord>): Generator<AgentRecord> {
    for (const record of records) {
      this.#trace.push(...this.#tracer.entries(record));
      for (const warning of warningsOf(record)) this.#warnings.set(warning.message, warning);
      if (record.type === "model_call_settled") this.#exceeded ||= record.budget_exceeded === true;
      yield record;
    }
  }

  get members() {
    const warnings = [...this.#warnings.values()];
    return {
      trace: this.#trace.slice(-MAX_TRACED),
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(this.#exceeded ? { budget_exceeded: true as const } : {}),
    };
  }
}

function warningsOf(record: AgentRecord): readonly Warning[] {
  switch (record.type) {
    case "run_started":
      return record.spec.warnings ?? [];
    case "model_call_settled":
    case "skills_matched":
      return record.warnings;
    case "skill_mcp_bound":
      return bindingWarnings(record);
    default:
      return [];
  }
}
