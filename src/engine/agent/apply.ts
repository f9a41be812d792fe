/** The fold: computes a session's state from its records. Pure and total; a record never fails to apply. */

import { asJson } from "../../skill/json.ts";
import { type Message, totalUsage } from "../messages.ts";
import { addCost, afterShare, costIn } from "../shares.ts";
import { afterSearches, vaultState } from "../tool-vault/promotion.ts";
import { applyToCalls } from "./apply-calls.ts";
import { isSessionGrant } from "./call-permission.ts";
import { calledAs, judgedArguments } from "./calls.ts";
import { runsOnce } from "./command-hooks.ts";
import { joinedSummary, withoutArchived } from "./compaction.ts";
import { afterInvocation } from "./known-skills.ts";
import { grantOf } from "./policy.ts";
import type { AgentRecord, Feedback, ModelCost, Wake } from "./records.ts";
import { brokenOff, toolLists } from "./settle-call.ts";
import { withCommandOutputs } from "./skill-commands.ts";
import { afterBinding, keptBindings } from "./skill-servers.ts";
import { skillHooks } from "./skills.ts";
import {
  type AgentState,
  EMPTY_SESSION,
  effects,
  entersNextCall,
  modelName,
  newRun,
  type OpenCall,
  type RunState,
} from "./state.ts";
import { feedbackMessage } from "./texts.ts";
import { wokenRun } from "./wake.ts";

/** A record with the states before and after it, so that no reader has to fold it again. */
export interface Applied {
  record: AgentRecord;
  before: AgentState;
  after: AgentState;
}

/** Applies records in order; returns each with its states. */
export function applyAll(state: AgentState, records: readonly AgentRecord[]): Applied[] {
  let before = state;
  return records.map((record) => {
    const applied = { record, before, after: applyAgentRecord(before, record) };
    before = applied.after;
    return applied;
  });
}

/**
 * Folds a log. The states that it returns lack the messages of earlier records, so a log may exceed the memory.
 * @param start the state where the records begin
 */
export function* fold(records: Iterable<AgentRecord>, start = EMPTY_SESSION): Generator<Applied> {
  let before = start;
  for (const record of records) {
    const after = applyAgentRecord(before, record);
    yield { record, before, after };
    before = { ...after, visible: [] };
  }
}

/** Applies one record. States are values: the given one never changes. */
export function applyAgentRecord(state: AgentState, record: AgentRecord): AgentState {
  switch (record.type) {
    case "message_added":
      return { ...state, visible: [...state.visible, record.message] };
    case "session_imported": {
      const { messages, summary, skills, known } = record;
      const imported = { ...state, visible: [...state.visible, ...messages], summary, skills };
      return known === undefined ? imported : { ...imported, known };
    }
    case "artifacts_imported":
    case "session_state_changed":
      return state;
    case "session_reset":
      return { ...EMPTY_SESSION, run: state.run };
    case "session_trimmed":
      return { ...state, visible: state.visible.slice(Math.max(0, state.visible.length - record.keep_last)) };
    case "message_received": {
      const { message, delivery, at_rest } = record;
      const came = at_rest === undefined ? { message, delivery } : { message, delivery, at_rest };
      return { ...state, waiting: [...state.waiting, came] };
    }
    case "feedback_received":
      return { ...state, feedback: [...state.feedback, record.feedback] };
    case "searches_refused":
      return { ...state, ...withRefused(state, record.models) };
    case "compacted":
      return {
        ...state,
        visible: withoutArchived(state.visible, record.compacted),
        summary: joinedSummary(state.summary, record.compacted.summary),
        run: state.run === null || record.run === null ? state.run : afterCompaction(state.run, record),
      };
    case "run_started": {
      const { spec } = record;
      const { outputs: _, ...session } = state;
      const { skills = state.skills } = record;
      const kept = skills.filter((name) => spec.skills.some((skill) => skill.name === name));
      const before = state.waiting.map(({ message }) => message);
      return {
        ...session,
        visible: [...state.visible, ...before, ...spec.prompt],
        waiting: [],
        run: {
          ...newRun(spec, kept),
          ...(state.tools === undefined ? {} : { tools: state.tools }),
          ...(state.refusedSearches?.includes(modelName(spec.model)) ? { searchRefused: true } : {}),
        },
      };
    }
    default:
      return state.run === null ? state : applyToRun(state, state.run, record);
  }
}

/**
 * The run after a compaction. A compaction before a model call, or after the tools of a turn, moves the run to its next
 * stage; others do not.
 */
function afterCompaction(run: RunState, { compacted, spent }: AgentRecord & { type: "compacted" }): RunState {
  const paid = spent === undefined ? run : { ...run, totals: withSpent(run.totals, spent) };
  if (compacted.mode === "idle") return { ...paid, consolidated: true };
  const followsTools = run.stage === "tools" || run.stage === "after";
  return { ...paid, stage: followsTools ? "shortened" : "context" };
}

type RunRecord = Exclude<Extract<AgentRecord, { run: string }>, { type: "run_started" }>;

function applyToRun(state: AgentState, run: RunState, record: RunRecord): AgentState {
  const next = (changes: Partial<RunState>, session: Partial<AgentState> = {}): AgentState => ({
    ...state,
    ...session,
    run: { ...run, ...changes },
  });
  switch (record.type) {
    case "feedback_added":
      return addFeedback(state, record.feedback);
    case "iteration_started": {
      const { visible, waiting, taken } = takeIn(state, entersNextCall);
      const iterations = record.iteration + 1;
      const begun = next(
        {
          iterations,
          wakeIterations: run.wakeIterations + 1,
          stage: "match",
          status: "running",
          hookResults: {},
          ...(taken.length > 0 ? { textOnly: 0 } : {}),
        },
        { visible, waiting, feedback: [] },
      );
      return state.feedback.reduce((changed, feedback) => addFeedback(changed, feedback), begun);
    }
    case "skills_matched": {
      const hooks = skillHooks(run, record.active);
      return next(
        {
          active: record.active,
          skillHooks: [...run.skillHooks, ...hooks],
          stage: "skill_hooks",
          ...keptBindings(run, record.active),
        },
        { skills: record.active },
      );
    }
    case "skill_mcp_bound":
      return next(afterBinding(run, record));
    case "skill_invoked":
      return afterInvocation(state, run, record);
    case "hook_settled":
      return applyHook(state, run, record);
    case "model_call_settled": {
      const { turn, searches } = record;
      const { provider, model, stop_reason, raw_stop_reason } = turn;
      return next({
        turn,
        answered: { provider, model, stop_reason, raw_stop_reason },
        stage: "turn",
        prefill: null,
        totals: withSpent(run.totals, { ...turn.usage, ...costIn(record) }),
        ...(record.budget_exceeded === true ? { budgetExceeded: true } : {}),
        ...(searches === undefined ? {} : { vault: asJson(afterSearches(vaultState(run.vault), searches)) }),
      });
    }
    case "search_refused": {
      const { models = refusedBefore(run) } = record;
      return next({ searchRefused: true }, withRefused(state, models));
    }
    case "turn_taken": {
      const { message, calls, text, finished, remarks } = record;
      const open = calls.map(
        (call, index): OpenCall => ({
          effect: effects.tool(run.iterations - 1, index),
          call,
          stage: "planned",
          approval: null,
          result: null,
          shown: "",
        }),
      );
      const visible = message === null ? state.visible : [...state.visible, message];
      return next(
        {
          turn: null,
          taken: {
            calls,
            text,
            finished,
            before: {
              used: run.tools_used.length,
              successful: run.successful_tools.length,
              rejected: run.rejected_tools.length,
            },
            ...(remarks === undefined ? {} : { remarks }),
          },
          calls: open,
          stage: open.length > 0 ? "tools" : "open",
          texts: text === "" ? run.texts : [...run.texts, text],
          textOnly: record.text_only,
          singleToolTurns: calls.length === 1 ? run.singleToolTurns + 1 : 0,
          fallbackUsed: run.fallbackUsed || record.fallback,
        },
        { visible },
      );
    }
    case "share_taken":
    case "share_returned":
      return record.run === run.spec.run_id ? next(afterShare(run, record)) : state;
    case "went_idle": {
      const { visible, waiting } = takeIn(state, ({ at_rest = false }) => at_rest);
      return next(
        {
          stage: "idle",
          status: "idle",
          consolidated: false,
          idleSince: record.at,
          taken: null,
          calls: [],
          ...(record.reached === undefined ? {} : { wakeReached: record.reached }),
        },
        { visible, waiting },
      );
    }
    case "woke":
      return wake(state, run, record.wake);
    case "run_settled": {
      const answered = { ...state, visible: [...state.visible, ...brokenOff(run)] };
      const { visible, waiting, taken } = takeIn(answered, (one) => !entersNextCall(one));
      const deferred = taken.filter(({ at_rest }) => at_rest === undefined).map(({ message }) => message);
      return next(
        {
          ...toolLists(run),
          status: record.status,
          error: record.error,
          iterations: record.uncalled === true ? run.iterations - 1 : run.iterations,
          stage: "ended",
          turn: null,
          calls: [],
          deferred: [...run.deferred, ...deferred],
          ...(record.refused_by === undefined ? {} : { refused: true }),
          ...(record.spent === undefined ? {} : { totals: withSpent(run.totals, record.spent) }),
        },
        { visible, waiting, skills: run.active },
      );
    }
    default:
      return applyToCalls(state, run, record);
  }
}

/**
 * The models that refused, for a record of an earlier version of Hull, which did not name them: the run's own model;
 * none if a fallback had answered, since the fallback then was the one that refused.
 */
const refusedBefore = ({ answered, spec: { model } }: RunState): string[] =>
  (answered?.provider ?? model.provider) === model.provider ? [modelName(model)] : [];

function withRefused(
  { refusedSearches: known = [] }: AgentState,
  models: readonly string[],
): Pick<AgentState, "refusedSearches"> {
  const all = [...new Set([...known, ...models])];
  return all.length === 0 ? {} : { refusedSearches: all };
}

const withSpent = (totals: ModelCost, spent: ModelCost): ModelCost => ({
  ...totalUsage(totals, spent),
  ...addCost(totals, spent),
});

function wake(state: AgentState, run: RunState, { messages, feedback }: Wake): AgentState {
  const { visible, waiting } = takeIn(state, entersNextCall);
  const next = { ...state, visible: [...visible, ...messages], waiting, run: wokenRun(run) };
  return feedback === null ? next : addFeedback(next, feedback);
}

type Waiting = AgentState["waiting"];

function takeIn(
  { visible, waiting }: AgentState,
  takes: (one: Waiting[number]) => boolean,
): { visible: Message[]; waiting: Waiting; taken: Waiting } {
  const taken = waiting.filter(takes);
  if (taken.length === 0) return { visible, waiting, taken };
  return {
    visible: [...visible, ...taken.map(({ message }) => message)],
    waiting: waiting.filter((one) => !takes(one)),
    taken,
  };
}

function addFeedback(state: AgentState, feedback: Feedback): AgentState {
  const { run } = state;
  const { kind, content } = feedback;
  if (run === null) return state;
  if (kind === "prefill_assistant") return { ...state, run: { ...run, prefill: content } };
  const text = kind === "nudge" ? content : feedbackMessage(kind, content);
  const message: Message = { role: "user", content: [{ type: "text", text }] };
  return {
    ...state,
    visible: [...state.visible, message],
    run: { ...run, feedback: [...run.feedback, feedback] },
  };
}

function applyHook(
  state: AgentState,
  run: RunState,
  record: AgentRecord & { type: "hook_settled" },
): AgentState {
  const outputs = withCommandOutputs(state, record.hook, record.result);
  if (outputs !== null) return { ...state, ...outputs };
  // Hooks of skills come first. The run's own hook follows in the same stage.
  if (run.skillHooks.length > 0) return { ...state, run: { ...run, skillHooks: run.skillHooks.slice(1) } };
  const hookResults = { ...run.hookResults, [record.effect]: record.result };
  const granted = isSessionGrant(record.result)
    ? run.calls.flatMap((open) => grantIn(run, open, record.effect))
    : [];
  const { hooked = [] } = run;
  const once = runsOnce(run.spec, record.hook) ? { hooked: [...hooked, record.hook] } : {};
  return { ...state, grants: [...state.grants, ...granted], run: { ...run, hookResults, ...once } };
}

/** The grant that an answer for the whole session gives a call, with the arguments that the answerer saw. */
function grantIn(run: RunState, open: OpenCall, effect: string): string[] {
  const { name } = open.call;
  switch (effect) {
    case effects.hostPermission(open.effect):
      return [grantOf("approval", name, judgedArguments(run, open))];
    case effects.escalation(open.effect):
      return [grantOf("permission", name, judgedArguments(run, open))];
    case effects.escalation(effects.changed(open.effect)):
      return [grantOf("permission", name, calledAs(run, open).call.arguments ?? {})];
    default:
      return [];
  }
}
