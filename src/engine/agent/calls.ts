/** Decides what happens to the tool calls of a turn, one check after the other. Pure. */

import { firstWords } from "../../cut.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import { objectOf, textsIn } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { numericArguments } from "../arguments.ts";
import { least } from "../least.ts";
import { refusedCall } from "../tool-result.ts";
import { confirmed, judged, waiting } from "./call-permission.ts";
import { denied, plainResult, settle } from "./call-results.ts";
import { skipped } from "./loop-detection.ts";
import { keepsOrder, outsideCeiling } from "./policy.ts";
import type { AgentToolResult } from "./records.ts";
import { delegates, isRuntimeCall, runtimeStep, runtimeTools, shareOf } from "./runtime-calls.ts";
import { scopedTools, toolOf } from "./skills.ts";
import type { AgentTool } from "./spec.ts";
import type { AgentState, OpenCall, RunState } from "./state.ts";
import { type AgentStep, type CallStep, type PlannedCall, recorded, type WaitStep } from "./step.ts";
import { interruptedCall, missingParameters, unavailableTool } from "./texts.ts";
import { afterCall, beforeCall } from "./tool-hooks.ts";

/** Tells whether a call of this name goes to the run's search tool, whose name is configurable. */
export interface SearchTool {
  owns(name: string, run: RunState): boolean;
}

/** The most effects of one turn's calls that are under way together. */
const MAX_AT_ONCE = 6;
/**
 * The most open calls of a turn for which Hull decides something; later ones come when these have results. So each step
 * costs the same, however many calls a turn has.
 */
const MAX_LOOKED_AT = 64;

/**
 * The next step for the open calls; `null`: all have results. Calls run in parallel. Calls that must keep their order
 * run one after the other: each begins when the previous one has its result. The same holds for searches for tools among
 * themselves, since each adds to what the previous one found.
 * @param inFlight effects that this run attempt has begun and that have no result yet
 */
export function nextCallStep(
  state: AgentState,
  run: RunState,
  search: SearchTool | null,
  now: number,
  inFlight: ReadonlySet<string>,
): AgentStep | null {
  const open = openCalls(run);
  if (open.length === 0) return null;
  const begun: PlannedCall[] = [];
  const fresh: PlannedCall[] = [];
  const waits: WaitStep[] = [];
  const asks: AskStep[] = [];
  for (const call of withoutHeldUp(run, open, search)) {
    if (inFlight.has(call.effect)) continue;
    const step = call.stage === "executed" ? afterHooks(run, call) : stepOf(state, run, call, search, now);
    switch (step.type) {
      case "ready":
        (call.stage === "started" ? begun : fresh).push(step.planned);
        break;
      case "wait":
        waits.push(step);
        break;
      case "call_hook":
      case "search_tools":
        asks.push(step);
        break;
      default:
        return step;
    }
  }
  const room = MAX_AT_ONCE - inFlight.size;
  const ask = dueAsk(asks, inFlight);
  if (room > 0) {
    if (begun.length > 0) return { type: "run_tools", calls: begun.slice(0, room) };
    if (fresh.length > 0) {
      // Hull records calls before it makes them.
      const calls = fresh.slice(0, room).map(({ effect, call }) => ({ effect, call }));
      return recorded({ type: "tools_started", run: run.spec.run_id, calls });
    }
    if (ask !== undefined) return ask;
  }
  return inFlight.size > 0 ? { type: "busy" } : together(waits);
}

/** The first open calls of the turn. */
function openCalls({ calls }: RunState): OpenCall[] {
  const open: OpenCall[] = [];
  for (const call of calls) {
    if (call.stage !== "settled") open.push(call);
    if (open.length === MAX_LOOKED_AT) break;
  }
  return open;
}

/** The open calls that need not wait for an earlier open call of the turn. */
function withoutHeldUp(run: RunState, open: readonly OpenCall[], search: SearchTool | null): OpenCall[] {
  const { parallel_tool_calls, policies } = run.spec;
  let inOrder = false;
  let searching = false;
  return open.filter(({ call: { name }, stage }, index) => {
    const tool = toolOf(run, name);
    const ordered = parallel_tool_calls === false || keepsOrder(tool, policies.policy);
    const searches = search?.owns(name, run) === true;
    const heldUp = (ordered && inOrder) || (searches && searching);
    inOrder ||= ordered;
    searching ||= searches;
    // An earlier call may still load the missing tool.
    if (tool === null && index > 0 && !searches && !isRuntimeCall(name)) return false;
    return stage === "started" || stage === "executed" || !heldUp;
  });
}

type AskStep = Extract<AgentStep, { type: "call_hook" | "search_tools" }>;

/**
 * The question to ask next. If the answer to the same question about another call is under way, a question waits for it:
 * the answer may hold for the whole session.
 */
function dueAsk(asks: readonly AskStep[], inFlight: ReadonlySet<string>): AskStep | undefined {
  const asked = asks.filter(({ effect }) => inFlight.has(effect)).map(questionOf);
  return asks.find((step) => !inFlight.has(step.effect) && !asked.includes(questionOf(step)));
}

/** What a step asks: the same text for the same question about calls with the same arguments. */
function questionOf(step: AskStep): string {
  // The answers of these hooks may hold for the whole session.
  if (step.type === "search_tools" || !["escalation", "host_permission"].includes(step.purpose))
    return step.effect;
  const { tool = null, args = null } = objectOf(step.payload);
  return canonicalJson([step.purpose, tool, args]);
}

/** All that the run now waits for. Decisions of people come before answers of clients. */
function together(waits: readonly WaitStep[]): WaitStep | null {
  const [first] = [...waits.filter((step) => step.for === "approval"), ...waits];
  if (first === undefined) return null;
  const until = least(...waits.map((step) => step.until));
  return { ...first, until, approvals: waits.flatMap(({ approvals }) => approvals) };
}

/** The calls that the client may answer now: calls of its own tools that every check has allowed. */
export function clientCalls(state: AgentState, now: number): OpenCall[] {
  const { run } = state;
  if (run === null || run.stage !== "tools") return [];
  const awaited = run.calls.filter((open) => {
    if (open.stage === "settled" || open.stage === "executed") return false;
    const step = stepOf(state, run, open, null, now);
    return step.type === "wait" && step.for === "tool";
  });
  return awaited.map((open) => calledAs(run, open));
}

/** A call with its final arguments: numbers in text form become numbers, and hooks may have changed them. */
export function calledAs(run: RunState, open: OpenCall): OpenCall {
  const before = beforeCall(run, open, judgedArguments(run, open));
  return "args" in before ? { ...open, call: { ...open.call, arguments: before.args } } : open;
}

/** The arguments of a call for the first check: the model's, where numbers in text form become numbers. */
export function judgedArguments(run: RunState, { call }: OpenCall): JsonObject {
  return numericArguments(call.arguments ?? {}, toolOf(run, call.name)?.definition.parameters ?? {});
}

/** The step after a result has arrived: hooks may still rewrite it. */
function afterHooks(run: RunState, open: OpenCall): AgentStep {
  const after = afterCall(run, open, open.result ?? plainResult("error", interruptedCall(true), "cancelled"));
  if ("ask" in after) return after.ask;
  return settle(run, open, after.result);
}

function stepOf(
  state: AgentState,
  run: RunState,
  open: OpenCall,
  search: SearchTool | null,
  now: number,
): CallStep {
  const { call, effect } = open;
  if (search?.owns(call.name, run) === true) {
    const scope = scopedTools(run).map(({ definition }) => definition.name);
    return { type: "search_tools", effect, call, state: run.vault, scope };
  }
  const answered = runtimeStep(state, run, open);
  if (answered !== null) return answered;
  const tool = toolOf(run, call.name);
  const { served } = run.spec;
  if (call.arguments === null && (served === undefined || tool === null)) {
    const text = `The arguments are not a JSON object: ${firstWords(call.raw, 200)}`;
    return settle(run, open, plainResult("error", errorText(tool, text), "parse_aborted"));
  }
  if (tool === null) return settle(run, open, refusedName(run, call.name));
  const given = numericArguments(call.arguments ?? {}, tool.definition.parameters);
  if (open.stage === "started") return { type: "ready", planned: plannedCall(run, open, tool, given) };
  const refusal = judged(state, run, open, tool, given, now, null);
  if (refusal !== null) return refusal;
  const before = beforeCall(run, open, given);
  if ("ask" in before) return before.ask;
  if ("deny" in before) return settle(run, open, denied(call.name, before.deny));
  const { args, changedBy, confirm } = before;
  const changed = changedBy === null ? null : judged(state, run, open, tool, args, now, changedBy);
  if (changed !== null) return changed;
  const unconfirmed = confirm === null ? null : confirmed(state, run, open, tool, args, now, confirm);
  if (unconfirmed !== null) return unconfirmed;
  const missing = served === undefined ? missingOf(tool, args) : [];
  if (missing.length > 0) {
    const text = errorText(tool, missingParameters(call.name, missing));
    return settle(run, open, plainResult("error", text, "schema_validation"));
  }
  const skip = skipped(run.loop, run.spec.loop_detect, call.name, args);
  if (skip !== null) return settle(run, open, plainResult("error", skip, "rejected_loop"));
  if (tool.executor === "client") return waiting("tool", null, []);
  return { type: "ready", planned: plannedCall(run, open, tool, args) };
}

function plannedCall(run: RunState, open: OpenCall, tool: AgentTool, args: JsonObject): PlannedCall {
  const { cwd = "", active, loaded } = run;
  const { call, effect, stage, started_at } = open;
  return {
    effect,
    // If the call is one of a served skill, the code that executes it reports wrong arguments in its own words.
    call: run.spec.served === undefined ? { ...call, arguments: args } : call,
    tool,
    again: stage === "started",
    ...(started_at === undefined ? {} : { started_at }),
    ...(delegates(tool) ? { above: shareOf(run) } : {}),
    ...(tool.executor === "workspace" ? { from: { cwd, active: [...new Set([...active, ...loaded])] } } : {}),
  };
}

/** The answer to a call of a tool that the run does not have. */
function refusedName(run: RunState, name: string): AgentToolResult {
  const definitions = [...scopedTools(run).map(({ definition }) => definition), ...runtimeTools(run)];
  const listed = definitions.map((definition) => definition.name);
  if (run.spec.served !== undefined) {
    const text = `There is no tool "${name}". Use one of: ${listed.join(", ")}.`;
    const { content } = refusedCall("unknown_tool", text);
    return { ...plainResult("error", content, "permission_denied"), code: "unknown_tool" };
  }
  const outside = outsideCeiling(run.spec.policies, name);
  if (outside !== null) return denied(name, outside);
  return plainResult("rejected", unavailableTool(name, listed), "permission_denied");
}

/** The text that a model gets for a call that was not made. Tools of Skill Tools always answer JSON. */
function errorText(tool: AgentTool | null, text: string): string {
  return tool?.executor === "isolate" ? JSON.stringify({ error: text }) : text;
}

function missingOf(tool: AgentTool, args: JsonObject): string[] {
  const { required } = tool.definition.parameters;
  return (textsIn(required) ?? []).filter((name) => args[name] === undefined);
}
