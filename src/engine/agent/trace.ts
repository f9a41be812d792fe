/** The loop's actions that no message shows: the `trace` of a result, in the words of the typed events. Pure. */
import { objectOf } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { lastOf } from "../cut.ts";
import type { Applied } from "./apply.ts";
import { isGrant, isSessionGrant } from "./calls.ts";
import type { AgentRecord, AgentToolResult } from "./records.ts";
import type { AgentSkill } from "./spec.ts";
import { type AgentState, effects, type RunState } from "./state.ts";
import { otherPhase } from "./turn.ts";

/** `iteration` counts from 1. */
export type TraceEntry = { kind: string; iteration: number } & { [member: string]: Json };

type Notes = [kind: string, members: JsonObject][];

/** The most names that a turn's end repeats of the run's earlier tools. */
const MAX_NAMES = 200;

/** The entries that a record adds. */
export function traceEntries(applied: Applied): TraceEntry[] {
  const { record, before, after } = applied;
  const run = after.run ?? before.run;
  if (run === null) return [];
  const iteration = Math.max(1, run.iterations);
  const notes = [...notesOn(record, before, run), ...turnEnd(before, after)];
  return notes.map(([kind, members]) => ({ ...members, kind, iteration }));
}

/** @param run after the record was applied */
function notesOn(record: AgentRecord, { run: before, waiting }: AgentState, run: RunState): Notes {
  switch (record.type) {
    case "iteration_started":
    case "woke": {
      const messages = waiting.filter(({ delivery }) => delivery !== "wait_for_completion").length;
      return messages === 0 ? [] : [["host_input", { messages }]];
    }
    case "model_call_settled":
      return (record.retries ?? []).map((retry) => ["SchemaRetry", retry]);
    case "turn_taken": {
      const phase = record.finished ? otherPhase(run.spec, record.text) : null;
      return phase === null ? [] : [["PhaseChange", { from: run.spec.break_unless_phase, to: phase }]];
    }
    case "skills_matched":
      return matched(record, before?.active ?? [], run);
    case "skill_invoked":
      return activated(run.spec.skills, record.name, 0, "named by the message");
    case "skill_loaded":
      return [["skill.loaded", { name: record.name }], ...refused(run, record.effect, record.result)];
    case "tool_settled":
    case "ledger_updated":
      return refused(run, record.effect, record.result);
    case "approval_requested": {
      const { id, tool, tool_call_id: call_id, risk } = record.request;
      return [["PermissionEscalation", { tool, call_id, approval: id, risk }]];
    }
    case "approval_decided": {
      if (record.decision === "deny") return [];
      const { approval, scope, reason } = record;
      const open = run.calls.find((call) => call.approval?.id === approval);
      const call = open === undefined ? {} : { tool: open.call.name, call_id: open.call.id };
      const why = reason === null ? {} : { reason };
      return [["PermissionGrant", { ...call, approval, scope, by: "approval", ...why }]];
    }
    case "hook_settled":
      return escalated(record, run);
    case "run_settled":
      return ended(record, before ?? run);
    default:
      return [];
  }
}

function refused(run: RunState, effect: string, result: AgentToolResult): Notes {
  const open = run.calls.find((call) => call.effect === effect);
  if (open === undefined || result.status !== "rejected") return [];
  const { id: call_id, name: tool } = open.call;
  const { content, error_category } = result;
  return [
    ["PermissionDeny", { tool, call_id, reason: String(objectOf(parsedJson(content)).reason ?? content) }],
    ["tool_execution", { tool, call_id, rejected: true, error_category }],
  ];
}

/** A turn ends when all of its calls have ended. */
function turnEnd({ run: before }: AgentState, { run }: AgentState): Notes {
  if (run === null || before?.stage !== "tools" || run.stage !== "after") return [];
  const tool_results = run.calls.flatMap(({ call, result }) => {
    // Skipped and incomplete calls are not results.
    const counts =
      result?.error_category !== "rejected_loop" && result?.error_category !== "schema_validation";
    if (result === null || !counts) return [];
    return [{ tool_name: call.name, status: result.status, rejected: result.status === "rejected" }];
  });
  const successful = tool_results.filter(({ status }) => status === "ok");
  const payload = {
    tool_names: run.calls.map(({ call }) => call.name),
    tool_results,
    successful_tool_names: successful.map(({ tool_name }) => tool_name),
    tool_count: run.calls.length,
    consecutive_single_tool_turns: run.singleToolTurns,
    session_tools_used: run.tools_used.slice(-MAX_NAMES),
    session_successful_tools: run.successful_tools.slice(-MAX_NAMES),
    failed: tool_results.some(({ status }) => status !== "ok"),
  };
  return [["TurnEnd", payload]];
}

function escalated({ effect, result }: AgentRecord & { type: "hook_settled" }, { calls }: RunState): Notes {
  const open = calls.find(({ effect: call }) =>
    [effects.escalation(call), effects.escalation(effects.changed(call))].includes(effect),
  );
  if (open === undefined) return [];
  const of = { tool: open.call.name, call_id: open.call.id };
  const { reason, approver } = objectOf(result);
  const said = {
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof approver === "string" ? { approver } : {}),
  };
  const scope = isSessionGrant(result) ? "session" : "once";
  const granted: Notes = isGrant(result) ? [["PermissionGrant", { ...of, scope, by: "hook", ...said }]] : [];
  return [["PermissionEscalation", of], ...granted];
}

function matched(
  { candidates, active }: AgentRecord & { type: "skills_matched" },
  before: readonly string[],
  { spec }: RunState,
): Notes {
  const dropped = before.filter((name) => !active.includes(name));
  const begun = active.filter((name) => !before.includes(name));
  return [
    ...dropped.map((name): Notes[number] => ["skill_deactivated", { name }]),
    ...begun.flatMap((name) => {
      const { score = 0, reason = "" } = candidates.find((each) => each.name === name) ?? {};
      return activated(spec.skills, name, score, reason);
    }),
  ];
}

function activated(skills: readonly AgentSkill[], name: string, score: number, reason: string): Notes {
  const skill = skills.find((each) => each.name === name);
  if (skill === undefined) return [];
  const { description, allowed_tools } = skill;
  const scoped: Notes = allowed_tools.length === 0 ? [] : [["skill_scope_tools", { name, allowed_tools }]];
  return [["skill_activated", { name, description, score, reason, allowed_tools }], ...scoped];
}

/** @param run before it ended */
function ended({ status, at }: AgentRecord & { type: "run_settled" }, run: RunState): Notes {
  const { spec, taken, idleSince } = run;
  switch (status) {
    case "stuck":
      return [["LoopStuck", { text: lastOf(taken?.text ?? "", 240) }]];
    case "budget_exhausted":
      return [["BudgetExhausted", { max_iterations: spec.max_iterations }]];
    case "watchdog": {
      const attempts = spec.daemon?.idle_watchdog_attempts ?? null;
      const elapsed_ms = idleSince === undefined ? null : at - idleSince;
      return [["DaemonWatchdogTripped", { attempts, elapsed_ms }]];
    }
    default:
      return [];
  }
}
