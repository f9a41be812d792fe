/** What the records of a run say to watchers (contract.md "Events", agent-runtime.md §7.11). Pure. */
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import { parseErrorArguments } from "../../llm/blocks.ts";
import type { RunEvent } from "../events.ts";

/** Events of a record. @param state as it was before the record */
export function eventsOf(record: AgentRecord, state: AgentState): RunEvent[] {
  const { run } = state;
  const iteration = run === null ? 0 : run.iterations - 1;
  switch (record.type) {
    case "run_started": {
      const { run_id, session_id } = record.spec;
      return [{ event: "start", data: { run_id, session_id } }];
    }
    case "model_call_settled": {
      const { turn } = record;
      return [
        { event: "round", data: { round: iteration, finish_reason: turn.stop_reason, usage: turn.usage } },
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
    case "tool_settled":
    case "skill_loaded":
    case "ledger_updated":
      return toolResult(record.effect, record.result, state);
    case "tool_searched":
      return record.events.map((data) => ({
        event: data.type === "tool_search_query" ? "tool_search_query" : "tool_search_result",
        data,
      }));
    case "client_tool_answered":
      return [
        { event: "tool_result", data: { round: iteration, call_id: record.call_id, ok: !record.is_error } },
      ];
    case "approval_requested":
      return [{ event: "approval_request", data: { ...record.request } }];
    case "feedback_added":
      return [{ event: "feedback_injected", data: { ...record.feedback } }];
    case "skills_matched":
      return skillEvents(record, state);
    case "compacted": {
      const { summary: _, ...data } = record.compacted;
      return [{ event: "transcript_compacted", data }];
    }
    case "woke": {
      const { reason, watch_paths, resumed, feedback } = record.wake;
      const told: RunEvent[] =
        feedback === null ? [] : [{ event: "feedback_injected", data: { ...feedback } }];
      return [{ event: "daemon_wake", data: { reason, watch_paths, resumed } }, ...told];
    }
    default:
      return [];
  }
}

function toolResult(
  effect: string,
  result: Extract<AgentRecord, { type: "tool_settled" }>["result"],
  { run }: AgentState,
): RunEvent[] {
  const open = run?.calls.find((call) => call.effect === effect);
  if (run === null || open === undefined) return [];
  const { status, exit_code, duration_ms, error_category, content } = result;
  const data = {
    round: run.iterations - 1,
    call_id: open.call.id,
    name: open.call.name,
    ok: status === "ok",
    status,
    ...(error_category === null ? {} : { code: error_category }),
    exit_code,
    duration_ms,
    bytes: new TextEncoder().encode(content).length,
  };
  return [{ event: "tool_result", data }];
}

function skillEvents(
  record: Extract<AgentRecord, { type: "skills_matched" }>,
  { run }: AgentState,
): RunEvent[] {
  if (run === null) return [];
  const { iteration, strategy, reassess, candidates, active } = record;
  const { working_files, skills } = run.spec;
  const matched: RunEvent = {
    event: "skill_matched",
    data: { strategy, iteration, reassess, candidates, working_files },
  };
  const dropped = run.active.filter((name) => !active.includes(name));
  const begun = skills.filter(({ name }) => active.includes(name) && !run.active.includes(name));
  const activated = begun.flatMap(({ name, description, allowed_tools }): RunEvent[] => {
    const { score = 0, reason = "" } = candidates.find((candidate) => candidate.name === name) ?? {};
    const scoped: RunEvent[] =
      allowed_tools.length === 0 ? [] : [{ event: "skill_scope_tools", data: { name, allowed_tools } }];
    const data = { name, description, iteration, score, reason, allowed_tools };
    return [{ event: "skill_activated", data }, ...scoped];
  });
  const gone = dropped.map((name): RunEvent => ({ event: "skill_deactivated", data: { name, iteration } }));
  return [matched, ...gone, ...activated];
}
