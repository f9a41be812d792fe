/** The events that watchers get for the records of a run. Pure. */

import type { Applied } from "../../engine/agent/apply.ts";
import { settledBy } from "../../engine/agent/entries.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import { skillChanges } from "../../engine/agent/skill-changes.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import { codeOf } from "../../engine/tool-fault.ts";
import type { SearchEvent } from "../../engine/tool-vault/events.ts";
import { parseErrorArguments } from "../../llm/blocks.ts";
import type { RunEvent } from "../events.ts";

const rfc3339 = (ms: number): string => new Date(ms).toISOString();

/** Events of a record. */
export function eventsOf(applied: Applied): RunEvent[] {
  const { record, before: state } = applied;
  const { run } = state;
  const iteration = run?.iterations ?? 0;
  switch (record.type) {
    case "run_started": {
      const { run_id, session_id } = record.spec;
      return [{ event: "start", data: { run_id, session_id } }];
    }
    case "model_call_settled": {
      const { turn, searches = [] } = record;
      const { stop_reason, raw_stop_reason, usage } = turn;
      const finish_reason = stop_reason === "other" ? (raw_stop_reason ?? stop_reason) : stop_reason;
      return [
        ...searchEvents(searches),
        { event: "round", data: { round: iteration, finish_reason, usage } },
      ];
    }
    case "turn_taken":
      return record.calls.map((call) => ({
        event: "tool_call",
        data: {
          round: iteration,
          call_id: call.id,
          name: call.name,
          arguments: call.arguments ?? parseErrorArguments(call.raw),
        },
      }));
    case "tool_executed":
      return artifactEvents(record.effect, record.result, state);
    case "tool_settled":
    case "skill_loaded":
    case "ledger_updated":
      return [...artifactEvents(record.effect, record.result, state), ...resultEvents(applied)];
    case "tool_searched":
      return [...searchEvents(record.events), ...resultEvents(applied)];
    case "client_tool_answered":
      return resultEvents(applied);
    case "approval_requested": {
      const { requested_at, expires_at, ...request } = record.request;
      const times = { requested_at: rfc3339(requested_at), expires_at: rfc3339(expires_at) };
      return [{ event: "approval_request", data: { ...request, ...times } }];
    }
    case "feedback_added":
      return [{ event: "feedback_injected", data: { ...record.feedback } }];
    case "skill_invoked":
    case "skill_mcp_bound":
      return skillChanges(applied);
    case "skills_matched": {
      if (run === null) return [];
      const { strategy, reassess, candidates } = record;
      const { working_files } = run.spec;
      const data = { strategy, iteration: record.iteration + 1, reassess, candidates, working_files };
      return [{ event: "skill_matched", data }, ...skillChanges(applied)];
    }
    case "compacted": {
      const { summary: _, ...data } = record.compacted;
      return [{ event: "transcript_compacted", data }];
    }
    case "woke": {
      const { reason, watch_paths, resumed, feedback } = record.wake;
      const injected: RunEvent[] =
        feedback === null ? [] : [{ event: "feedback_injected", data: { ...feedback } }];
      return [{ event: "daemon_wake", data: { reason, watch_paths, resumed } }, ...injected];
    }
    default:
      return [];
  }
}

const searchEvents = (events: readonly SearchEvent[]): RunEvent[] =>
  events.map((data) =>
    data.type === "tool_search_query"
      ? { event: "tool_search_query", data }
      : { event: "tool_search_result", data },
  );

function artifactEvents(
  effect: string,
  { artifacts = [] }: AgentToolResult,
  { run }: AgentState,
): RunEvent[] {
  const call_id = run?.calls.find((call) => call.effect === effect)?.call.id;
  const call = call_id === undefined ? {} : { call_id };
  return artifacts.map((artifact) => ({ event: "artifact", data: { ...call, ...artifact } }));
}

/** The event of the call that a record settles. If hooks may still rewrite a result, its event follows after them. */
function resultEvents(applied: Applied): RunEvent[] {
  const { run } = applied.before;
  const settled = settledBy(applied);
  if (run === null || settled === null) return [];
  const { call, result } = settled;
  const { status, exit_code, duration_ms, content } = result;
  const code = shownCode(result, run.spec.served !== undefined);
  const data = {
    round: run.iterations,
    call_id: call.id,
    name: call.name,
    ok: status === "ok",
    status,
    ...(code === null ? {} : { code }),
    exit_code,
    duration_ms,
    bytes: result.bytes ?? new TextEncoder().encode(content).length,
    truncated: result.truncated ?? false,
  };
  return [{ event: "tool_result", data }];
}

/** The code in the event: the exact one for callers of served skills, the category for callers of runs. */
function shownCode({ code, error_category }: AgentToolResult, exact: boolean): string | null {
  if (!exact || error_category === null) return error_category;
  return code ?? codeOf(error_category);
}
