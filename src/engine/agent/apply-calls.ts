/** What records of tool calls do to the state of a run. */

import { withArtifacts } from "../artifact.ts";
import { plainResult } from "./call-results.ts";
import { calledAs } from "./calls.ts";
import { afterActivation, knownSkill } from "./known-skills.ts";
import type { AgentRecord } from "./records.ts";
import { changedTools } from "./session-tools.ts";
import { clientResult, settleCall } from "./settle-call.ts";
import type { AgentState, OpenCall, RunState } from "./state.ts";
import { goesThroughHooks } from "./tool-hooks.ts";

type CallRecord = Extract<
  AgentRecord,
  {
    type:
      | "tools_started"
      | "tool_executed"
      | "tool_settled"
      | "tool_searched"
      | "ledger_updated"
      | "skill_loaded"
      | "approval_requested"
      | "approval_decided"
      | "client_tool_answered";
  }
>;

/** Applies a record of tool calls: their start, their results, and the decisions about them. */
export function applyToCalls(state: AgentState, run: RunState, record: CallRecord): AgentState {
  const next = (changes: Partial<RunState>): AgentState => ({ ...state, run: { ...run, ...changes } });
  switch (record.type) {
    case "tools_started": {
      // Hooks may have replaced the arguments; the record has the final ones.
      const begun = new Map(record.calls.map(({ effect, call }) => [effect, call]));
      return next({
        status: "running",
        calls: run.calls.map((open) => {
          const call = begun.get(open.effect);
          return call === undefined ? open : { ...open, call, stage: "started", started_at: record.at };
        }),
      });
    }
    case "tool_executed": {
      const { artifacts = [], ...result } = record.result;
      const calls = withCall(run.calls, record.effect, { stage: "executed", result });
      return next({ calls, ...withArtifacts(run.artifacts, artifacts) });
    }
    case "tool_settled": {
      const changed = changedTools(state, record.result);
      return settleCall({ ...state, ...changed }, { ...run, ...changed }, record.effect, record.result);
    }
    case "tool_searched": {
      const result = plainResult("ok", record.result, null);
      return settleCall(state, { ...run, vault: record.state }, record.effect, result, true);
    }
    case "ledger_updated": {
      const { ledger, effect, result } = record;
      return settleCall(state, { ...run, ledger }, effect, result, true);
    }
    case "skill_loaded": {
      const given = record.arguments ?? knownSkill(state, record.name)?.arguments ?? "";
      const changed = afterActivation(state, run, record.name, given);
      return settleCall(changed.state, changed.run, record.effect, record.result, true);
    }
    case "approval_requested":
      return next({
        // The run counts as running while other calls of the turn are under way.
        ...(run.calls.some(({ stage }) => stage === "started") ? {} : { status: "awaiting_approval" }),
        calls: withCall(run.calls, record.effect, {
          stage: "approval",
          approval: { ...record.request, decision: null, reason: null },
        }),
      });
    case "approval_decided": {
      const { decision, reason, scope } = record;
      const open = run.calls.find(({ approval }) => approval?.id === record.approval);
      if (open?.approval == null) return next({ status: "running" });
      const approval = { ...open.approval, decision, reason };
      const granted = scope === "session" && decision === "approve" ? [approval.arguments_digest] : [];
      const calls = withCall(run.calls, open.effect, { approval });
      return { ...next({ calls, status: "running" }), grants: [...state.grants, ...granted] };
    }
    case "client_tool_answered": {
      const open = run.calls.find(({ call, stage }) => call.id === record.call_id && stage !== "settled");
      if (open === undefined) return state;
      const result = clientResult(record);
      const { call } = calledAs(run, open);
      const calls = withCall(run.calls, open.effect, { call, stage: "executed", result });
      const answered = { ...run, status: "running" as const, calls };
      return goesThroughHooks(run, open, result)
        ? { ...state, run: answered }
        : settleCall(state, answered, open.effect, result);
    }
  }
}

const withCall = (calls: readonly OpenCall[], effect: string, changes: Partial<OpenCall>): OpenCall[] =>
  calls.map((open) => (open.effect === effect ? { ...open, ...changes } : open));
