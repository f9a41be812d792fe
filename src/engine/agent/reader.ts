/** What a record adds to the transcript, to the trace and to the warnings. Pure. */

import { lastWords } from "../../cut.ts";
import { objectOf } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { Warning } from "../messages.ts";
import type { SearchEvent } from "../tool-vault/events.ts";
import type { Applied } from "./apply.ts";
import { isGrant, isSessionGrant } from "./call-permission.ts";
import { type Entry, messagesOf, settledBy } from "./entries.ts";
import type { AgentRecord, SessionState } from "./records.ts";
import { skillChanges } from "./skill-changes.ts";
import { bindingWarnings } from "./skill-servers.ts";
import { type AgentState, effects, entersNextCall, type RunState } from "./state.ts";
import { reachedLimit } from "./status.ts";
import { otherPhase, turnEnd } from "./turn.ts";

/** `iteration` counts from 1. */
export type TraceEntry = { kind: string; iteration: number } & { [member: string]: Json };

type Notes = [kind: string, members: JsonObject][];

/** The name of a state change in transcripts. */
const STATE_NOTES: Record<SessionState, string> = {
  active: "transcript_resume",
  archived: "transcript_archive",
  abandoned: "transcript_abandon",
  closed: "transcript_close",
};

/** The most names of earlier tools that the end of a turn repeats. */
const MAX_NAMES = 200;

interface Reading {
  entries: Entry[];
  trace: TraceEntry[];
  warnings: readonly Warning[];
}

export function readingOf(applied: Applied): Reading {
  const { before, after } = applied;
  const { entries = messagesOf(applied), notes = [], warnings = [] } = additionsOf(applied);
  const run = after.run ?? before.run;
  if (run === null) return { entries, trace: [], warnings };
  const iteration = Math.max(1, run.iterations);
  const all = [...notes, ...turnNotes(before, after)];
  return { entries, trace: all.map(([kind, members]) => ({ ...members, kind, iteration })), warnings };
}

interface Additions {
  /** Absent: the messages that the record added to the visible history. */
  entries?: Entry[];
  /** Notes for the trace of the run under way. */
  notes?: Notes;
  warnings?: readonly Warning[];
}

function additionsOf(applied: Applied): Additions {
  const { record, before, after } = applied;
  const run = after.run ?? before.run;
  switch (record.type) {
    case "session_state_changed":
      return { entries: [note(STATE_NOTES[record.state], {})] };
    case "session_reset":
      return { entries: [note("transcript_reset", {})] };
    case "session_trimmed":
      return { entries: [note("trim", { keep_last: record.keep_last })] };
    case "compacted": {
      const { summary: _, ...metadata } = record.compacted;
      return { entries: [note("compaction", metadata)], warnings: record.warnings ?? [] };
    }
    case "run_started": {
      const { routing, warnings = [] } = record.spec;
      const chosen = routing === undefined ? [] : [note("routing_decision", routing)];
      return { entries: [...chosen, ...messagesOf(applied)], warnings };
    }
    case "run_settled":
      return { notes: ended(before.run ?? run, record) };
    case "iteration_started":
      return { notes: takenIn(before) };
    case "woke": {
      const { reason, watch_paths, resumed } = record.wake;
      const woke = note("daemon_wake", { reason, watch_paths, resumed });
      return { entries: [woke, ...messagesOf(applied)], notes: takenIn(before) };
    }
    case "skills_matched": {
      const { strategy, iteration, reassess, candidates, warnings } = record;
      const working_files = before.run?.spec.working_files ?? [];
      const named = candidates.map(({ name, score, reason }) => ({ name, score, reason }));
      const match = { strategy, iteration: iteration + 1, reassess, candidates: named, working_files };
      return { entries: [note("skill_matched", match)], notes: skillNotes(applied), warnings };
    }
    case "skill_invoked":
      return { entries: [], notes: skillNotes(applied) };
    case "skill_mcp_bound":
      return { notes: skillNotes(applied), warnings: bindingWarnings(record) };
    case "model_call_settled": {
      const { turn, searches = [], retries = [], warnings } = record;
      const notes: Notes = retries.map((retry) => ["SchemaRetry", retry]);
      return { entries: [{ type: "turn", turn }, ...searchNotes(searches)], notes, warnings };
    }
    case "search_refused":
      return { warnings: record.warnings };
    case "turn_taken":
      return { notes: phaseChange(run, record) };
    case "tool_searched":
      return { entries: [...searchNotes(record.events), ...messagesOf(applied)] };
    case "tool_settled":
    case "ledger_updated":
      return { notes: refused(applied) };
    case "skill_loaded":
      return { notes: [["skill.loaded", { name: record.name }], ...refused(applied)] };
    case "approval_requested": {
      const { id: approval, tool, tool_call_id: call_id, risk } = record.request;
      return { notes: [["PermissionEscalation", { tool, call_id, approval, risk }]] };
    }
    case "approval_decided":
      return { notes: granted(run, record) };
    case "hook_settled":
      return { notes: escalated(run, record) };
    case "message_added":
    case "message_received":
    case "session_imported":
    case "artifacts_imported":
    case "feedback_received":
    case "feedback_added":
    case "tools_started":
    case "tool_executed":
    case "client_tool_answered":
    case "searches_refused":
    case "share_taken":
    case "share_returned":
    case "went_idle":
      return {};
  }
}

const note = (kind: string, metadata: JsonObject): Entry => ({ type: "note", kind, metadata });

const searchNotes = (events: readonly SearchEvent[]): Entry[] =>
  events.map((event) => ({
    type: "note",
    kind: event.type,
    role: event.type === "tool_search_query" ? "assistant" : "tool",
    metadata: { ...event },
  }));

const skillNotes = (applied: Applied): Notes =>
  skillChanges(applied).map(({ event, data }) => [event, { ...data }]);

/** The messages from outside that an iteration takes in. */
function takenIn({ waiting }: AgentState): Notes {
  const messages = waiting.filter(entersNextCall).length;
  return messages === 0 ? [] : [["host_input", { messages }]];
}

/** Notes that a turn names another phase. */
function phaseChange(run: RunState | null, { finished, text }: AgentRecord & { type: "turn_taken" }): Notes {
  if (run === null || !finished) return [];
  const phase = otherPhase(run.spec, text);
  return phase === null ? [] : [["PhaseChange", { from: run.spec.break_unless_phase, to: phase }]];
}

/** Notes that a call was refused. */
function refused(applied: Applied): Notes {
  const settled = settledBy(applied);
  if (settled?.result.status !== "rejected") return [];
  const { id: call_id, name: tool } = settled.call;
  const { content, error_category } = settled.result;
  const reason = String(objectOf(parsedJson(content)).reason ?? content);
  const approver = refuserOf(applied.before.run, call_id);
  return [
    ["PermissionDeny", { tool, call_id, reason, ...(approver === null ? {} : { approver }) }],
    ["tool_execution", { tool, call_id, rejected: true, error_category }],
  ];
}

/** Who refused a permission, as the hook that was asked for it said; `null`: it did not say, or did not refuse. */
function refuserOf(run: RunState | null, call_id: string): string | null {
  const open = run?.calls.find(({ call }) => call.id === call_id);
  if (open === undefined) return null;
  const answers = escalationsOf(open.effect).map((effect) => run?.hookResults[effect] ?? null);
  const refusal = answers.find((answer) => answer !== null && !isGrant(answer));
  const { approver } = objectOf(refusal);
  return typeof approver === "string" ? approver : null;
}

/** The effects by which a hook is asked to permit a call: with the model's arguments, and with changed ones. */
const escalationsOf = (call: string): string[] =>
  [call, effects.changed(call)].map((question) => effects.escalation(question));

/** Notes that a person approved a call. */
function granted(
  run: RunState | null,
  { approval, decision, scope, reason }: AgentRecord & { type: "approval_decided" },
): Notes {
  if (decision === "deny") return [];
  const open = run?.calls.find((call) => call.approval?.id === approval);
  const call = open === undefined ? {} : { tool: open.call.name, call_id: open.call.id };
  const why = reason === null ? {} : { reason };
  return [["PermissionGrant", { ...call, approval, scope, by: "approval", ...why }]];
}

/** Notes the end of a turn, once all of its calls have ended. */
function turnNotes({ run: before }: AgentState, { run }: AgentState): Notes {
  if (run === null || before?.stage !== "tools" || run.stage !== "after") return [];
  const session_tools_used = run.tools_used.slice(-MAX_NAMES);
  const session_successful_tools = run.successful_tools.slice(-MAX_NAMES);
  return [["TurnEnd", { ...turnEnd(run), session_tools_used, session_successful_tools }]];
}

/** Notes that a hook was asked for a missing permission. */
function escalated(run: RunState | null, { effect, result }: AgentRecord & { type: "hook_settled" }): Notes {
  const open = run?.calls.find(({ effect: call }) => escalationsOf(call).includes(effect));
  if (open === undefined) return [];
  const of = { tool: open.call.name, call_id: open.call.id };
  const { reason, approver } = objectOf(result);
  const said = {
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof approver === "string" ? { approver } : {}),
  };
  const scope = isSessionGrant(result) ? "session" : "once";
  const grant: Notes = isGrant(result) ? [["PermissionGrant", { ...of, scope, by: "hook", ...said }]] : [];
  return [["PermissionEscalation", of], ...grant];
}

/** Why a run ended without an answer. @param run before it ended */
function ended(
  run: RunState | null,
  { status, at, refused_by }: AgentRecord & { type: "run_settled" },
): Notes {
  if (run === null) return [];
  const { spec, taken, idleSince } = run;
  switch (status) {
    case "stuck":
      return [["LoopStuck", { text: lastWords(taken?.text ?? "", 240) }]];
    case "budget_exhausted":
      return [["BudgetExhausted", refused_by ?? reachedLimit(run)]];
    case "watchdog": {
      const attempts = spec.daemon?.idle_watchdog_attempts ?? null;
      const elapsed_ms = idleSince === undefined ? null : at - idleSince;
      return [["DaemonWatchdogTripped", { attempts, elapsed_ms }]];
    }
    default:
      return [];
  }
}
