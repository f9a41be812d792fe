/** Decides what becomes of the tool calls of a turn, one check after the other. Pure. */
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { SUB_AGENT } from "../../skill/tool-names.ts";
import { numericArguments } from "../arguments.ts";
import { firstOf } from "../cut.ts";
import type { ToolCallBlock } from "../messages.ts";
import type { FaultCategory } from "../tool-fault.ts";
import { refusedCall } from "../tool-result.ts";
import { approvedBeforehand } from "../workspace-tools/approved.ts";
import { ceilingsOf } from "./delegation.ts";
import { skipped } from "./loop-detection.ts";
import {
  callDigest,
  type GrantScope,
  grantOf,
  judgeApproval,
  judgeCall,
  keepsOrder,
  outsideCeiling,
} from "./policy.ts";
import type { AgentRecordBody, AgentToolResult, ApprovalRequest, ToolStatus } from "./records.ts";
import { runtimeTools } from "./runtime-tools.ts";
import { dueCommands } from "./skill-commands.ts";
import {
  READ_SKILL_RESOURCE,
  resourceArguments,
  resourceDefinition,
  resourceFault,
  resourceTool,
} from "./skill-resource.ts";
import {
  forkedTask,
  isForked,
  LOAD_SKILL,
  loadSkill,
  loadSkillTool,
  loadsSkills,
  outsideScope,
  SEARCH_SKILLS,
  scopedTools,
  searchesSkills,
  searchSkills,
  skillsInForce,
  skillToLoad,
} from "./skills.ts";
import type { AgentSkill, AgentSpec, AgentTool, Ceilings } from "./spec.ts";
import type { AgentState, OpenCall, RunState } from "./state.ts";
import { effects } from "./state.ts";
import type { AgentStep, PlannedCall } from "./step.ts";
import { keepsLedger, LEDGER_TOOL, updatedLedger } from "./task-ledger.ts";
import { interruptedCall, missingParameters, unavailableTool } from "./texts.ts";
import { afterCall, beforeCall, type ChangedBy } from "./tool-hooks.ts";

/** Tells whether a call of this name goes to the run's search tool, whose name is configurable. */
export interface SearchTool {
  owns(name: string, run: RunState): boolean;
}

/** The most effects of one turn's calls that are under way together. */
const MAX_AT_ONCE = 6;

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
  const begun: PlannedCall[] = [];
  const fresh: PlannedCall[] = [];
  const waits: WaitStep[] = [];
  let ask: AgentStep | null = null;
  let open = false;
  let inOrder = false;
  let searching = false;
  for (const call of run.calls) {
    if (call.stage === "settled") continue;
    const tool = toolOf(run, call.call.name);
    const ordered = run.spec.parallel_tool_calls === false || keepsOrder(tool, run.spec.policies.policy);
    const searches = search?.owns(call.call.name, run) === true;
    const waitsForOther = (ordered && inOrder) || (searches && searching);
    const mayBegin = call.stage === "started" || call.stage === "executed" || !waitsForOther;
    // An earlier call of the turn may still load the missing tool.
    const known = tool !== null || !open || isOwn(call.call.name, run, search);
    inOrder ||= ordered;
    searching ||= searches;
    open = true;
    if (inFlight.has(call.effect) || !mayBegin || !known) continue;
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
        if (!inFlight.has(step.effect)) ask ??= step;
        break;
      default:
        return step;
    }
  }
  if (!open) return null;
  const room = MAX_AT_ONCE - inFlight.size;
  if (room > 0) {
    if (begun.length > 0) return { type: "run_tools", calls: begun.slice(0, room) };
    if (fresh.length > 0) return startOf(run, fresh.slice(0, room));
    if (ask !== null) return ask;
  }
  return inFlight.size > 0 ? { type: "busy" } : together(waits);
}

type WaitStep = Extract<AgentStep, { type: "wait" }>;

/** The step that records calls before they are made. */
function startOf({ spec }: RunState, planned: readonly PlannedCall[]): AgentStep {
  const calls = planned.map(({ effect, call }) => ({ effect, call }));
  return { type: "record", records: [{ type: "tools_started", run: spec.run_id, calls }] };
}

/** All that the run now waits for. Decisions of people come before answers of clients. */
function together(waits: readonly WaitStep[]): WaitStep | null {
  const [first] = [...waits.filter((step) => step.for === "approval"), ...waits];
  if (first === undefined) return null;
  const times = waits.flatMap(({ until }) => until ?? []);
  const until = times.length === 0 ? null : Math.min(...times);
  return { ...first, until, approvals: waits.flatMap(({ approvals }) => approvals) };
}

/** Whether the loop itself answers calls of this name. */
function isOwn(name: string, run: RunState, search: SearchTool | null): boolean {
  return (
    search?.owns(name, run) === true ||
    [LOAD_SKILL, SEARCH_SKILLS, LEDGER_TOOL, READ_SKILL_RESOURCE].includes(name)
  );
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
  const { effect, result } = open;
  const after = afterCall(run, open, result ?? plainResult("error", interruptedCall(true), "cancelled"));
  if ("ask" in after) return after.ask;
  const record = { type: "tool_settled" as const, run: run.spec.run_id, effect, result: after.result };
  return { type: "record", records: [record] };
}

type CallStep = AgentStep | { type: "ready"; planned: PlannedCall };

function stepOf(
  state: AgentState,
  run: RunState,
  open: OpenCall,
  search: SearchTool | null,
  now: number,
): CallStep {
  const { call, effect } = open;
  const at = { run: run.spec.run_id, effect };
  const settle = (result: AgentToolResult): AgentStep => ({
    type: "record",
    records: [{ type: "tool_settled", ...at, result }],
  });
  if (search?.owns(call.name, run) === true) {
    return { type: "search_tools", effect, call, state: run.vault };
  }
  if (call.name === LEDGER_TOOL && keepsLedger(run)) {
    const updated = updatedLedger(run.ledger, call.arguments);
    if ("error" in updated) return settle(plainResult("error", updated.error, "schema_validation"));
    const { ledger, content } = updated;
    const result = plainResult("ok", content, null);
    return { type: "record", records: [{ type: "ledger_updated", ...at, ledger, result }] };
  }
  if (call.name === LOAD_SKILL && loadsSkills(run.spec)) {
    const called = skillToLoad(run.spec, call.arguments);
    const forked = forkedBy(run, call);
    if (forked !== null) return startFork(state, run, open, forked);
    const commands = called === null ? null : dueCommands(state, run, called);
    if (commands !== null) return commands;
    const loaded = loadSkill(state, run, call.arguments);
    const result = plainResult(loaded.name === null ? "error" : "ok", loaded.content, null);
    if (loaded.name === null) return settle(result);
    return { type: "record", records: [{ type: "skill_loaded", ...at, name: loaded.name, result }] };
  }
  if (call.name === SEARCH_SKILLS && searchesSkills(run.spec)) {
    const { ok, content } = searchSkills(run.spec, call.arguments);
    return settle(plainResult(ok ? "ok" : "error", content, ok ? null : "schema_validation"));
  }
  const resource = call.name === READ_SKILL_RESOURCE ? resourceDefinition(run.spec) : null;
  if (resource !== null) {
    const args = resourceArguments(run.spec, call.arguments);
    const fault = resourceFault(state, run, args);
    if (fault !== null) return settle(plainResult("error", JSON.stringify({ error: fault }), "tool_error"));
    return {
      type: "ready",
      planned: {
        effect,
        call: { ...call, arguments: args },
        tool: resourceTool(resource),
        again: open.stage === "started",
      },
    };
  }
  const tool = toolOf(run, call.name);
  const { served } = run.spec;
  if (call.arguments === null && (served === undefined || tool === null)) {
    const text = `The arguments are not a JSON object: ${firstOf(call.raw, 200)}`;
    return settle(plainResult("error", errorText(tool, text), "parse_aborted"));
  }
  if (tool === null) {
    const listed = [...scopedTools(run), ...runtimeTools(run).map((definition) => ({ definition }))].map(
      ({ definition }) => definition.name,
    );
    if (served !== undefined) return settle(unknownTool(call.name, listed));
    const outside = outsideCeiling(run.spec.policies, call.name);
    if (outside !== null) return settle(denied(call.name, outside));
    return settle(plainResult("rejected", unavailableTool(call.name, listed), "permission_denied"));
  }
  const given = numericArguments(call.arguments ?? {}, tool.definition.parameters);
  const { cwd = "", active, loaded } = run;
  const planned = (args: JsonObject): PlannedCall => ({
    effect,
    // If the call is one of a served skill, the code that executes it reports wrong arguments in its own words.
    call: served === undefined ? { ...call, arguments: args } : call,
    tool,
    again: open.stage === "started",
    ...(delegates(tool) ? { above: shareOf(run) } : {}),
    ...(tool.executor === "workspace" ? { from: { cwd, active: [...new Set([...active, ...loaded])] } } : {}),
  });
  if (open.stage === "started") return { type: "ready", planned: planned(given) };
  const refusal = judged(state, run, open, tool, given, now, null);
  if (refusal !== null) return refusal;
  const before = beforeCall(run, open, given);
  if ("ask" in before) return before.ask;
  if ("deny" in before) return settle(denied(call.name, before.deny));
  const { args, changedBy } = before;
  const changed = changedBy === null ? null : judged(state, run, open, tool, args, now, changedBy);
  if (changed !== null) return changed;
  const missing = served === undefined ? missingOf(tool, args) : [];
  if (missing.length > 0) {
    return settle(
      plainResult("error", errorText(tool, missingParameters(call.name, missing)), "schema_validation"),
    );
  }
  const skip = skipped(run.loop, run.spec.loop_detect, call.name, args);
  if (skip !== null) return settle(plainResult("error", skip, "rejected_loop"));
  if (tool.executor === "client") return waiting(run, "tool", null, []);
  return { type: "ready", planned: planned(args) };
}

/** The answer to a call of a tool that a served skill does not have. */
function unknownTool(name: string, listed: readonly string[]): AgentToolResult {
  const { content } = refusedCall(
    "unknown_tool",
    `There is no tool "${name}". Use one of: ${listed.join(", ")}.`,
  );
  return { ...plainResult("error", content, "permission_denied"), code: "unknown_tool" };
}

/** Starts a sub-agent that executes a skill. */
function startFork(state: AgentState, run: RunState, open: OpenCall, skill: AgentSkill): CallStep {
  const { effect, call } = open;
  const loaded = loadSkill(state, run, call.arguments);
  if (loaded.name === null) {
    const result = plainResult("error", loaded.content, null);
    return { type: "record", records: [{ type: "tool_settled", run: run.spec.run_id, effect, result }] };
  }
  const planned: PlannedCall = {
    effect,
    call,
    tool: {
      definition: loadSkillTool(run.spec.skills),
      executor: "builtin",
      annotations: {},
      handler: null,
      skill: skill.name,
    },
    again: open.stage === "started",
    above: shareOf(run),
    forked: { skill, task: forkedTask(state, call.arguments) },
  };
  return { type: "ready", planned };
}

/** The skill that a sub-agent carries out for a call of `load_skill`; `null`: the call starts no sub-agent. */
function forkedBy({ spec }: RunState, { name, arguments: args }: ToolCallBlock): AgentSkill | null {
  const skill = name === LOAD_SKILL && loadsSkills(spec) ? skillToLoad(spec, args) : null;
  return skill !== null && isForked(spec, skill) ? skill : null;
}

const delegates = (tool: AgentTool | null): boolean =>
  tool?.executor === "builtin" && tool.definition.name === SUB_AGENT;

/**
 * What is left for one delegating call of the turn. Those without a result may be under way side by side, so they share
 * the rest of the budgets; what one of them does not use is left to those that begin later.
 */
function shareOf(run: RunState): Ceilings {
  const sharers = run.calls.filter(
    ({ stage, call }) =>
      stage !== "settled" && (forkedBy(run, call) !== null || delegates(toolOf(run, call.name))),
  );
  return ceilingsOf(run, true, run.spec.parallel_tool_calls === false ? 1 : sharers.length);
}

/** The text that a model gets for a call that was not made. Tools of Skill Tools always answer JSON. */
function errorText(tool: AgentTool | null, text: string): string {
  return tool?.executor === "isolate" ? JSON.stringify({ error: text }) : text;
}

/**
 * The tool with this name, if it may be called: on offer, or deferred, since the model may guess a name and deferral is
 * no access control.
 */
function toolOf(run: RunState, name: string): AgentTool | null {
  return scopedTools(run).find(({ definition }) => definition.name === name) ?? null;
}

/**
 * Checks the skills' own bounds, policy, permissions and approvals; `null`: the call may be made.
 * @param changedBy who changed the arguments after the model's own were judged; `null`: nobody. Nothing bypasses a
 *   bound, but the deployment's own hooks may change an approved call.
 */
function judged(
  state: AgentState,
  run: RunState,
  open: OpenCall,
  tool: AgentTool,
  args: JsonObject,
  now: number,
  changedBy: ChangedBy | null,
): AgentStep | null {
  const { call, effect } = open;
  const at = { run: run.spec.run_id, effect };
  // Changed arguments are a new question, with an effect id of its own.
  const question = changedBy === null ? effect : effects.changed(effect);
  const deny = (reason: string): AgentStep => ({
    type: "record",
    records: [{ type: "tool_settled", ...at, result: denied(call.name, reason) }],
  });
  const outside = outsideScope(run, tool, args);
  if (outside !== null) return deny(outside);
  const granted = (scope: GrantScope): boolean =>
    state.grants.length > 0 && state.grants.includes(grantOf(scope, call.name, args));
  const asked = (hook: string): Json | undefined => run.hookResults[effects.permission(question, hook)];
  let verdict = judgeCall(run.spec.policies, tool, args, asked);
  if (verdict.verdict === "escalate") {
    const refused = escalated(run, open, args, { ...verdict, question, deny }, granted("permission"));
    if (refused !== null) return refused;
    verdict = judgeApproval(run.spec.policies, tool, args);
  }
  switch (verdict.verdict) {
    case "deny":
      return deny(verdict.reason);
    case "consult": {
      const { hook } = verdict;
      const consulted = effects.permission(question, hook);
      return { type: "call_hook", effect: consulted, hook, purpose: "permission", payload: args };
    }
    case "ask":
      // Active skills approve calls that need approval only because of their risk, not calls that the run itself wants
      // to be asked about.
      if (verdict.attended && changedBy === null && approvedBeforehand(skillsInForce(run), tool, args))
        return null;
      if (granted("approval") || changedBy === "deployment") return null;
      if (changedBy === "upload") return deny("A hook of an uploaded skill changed what was approved.");
      return approval(run, open, tool, args, now, { ...verdict, deny });
    default:
      return null;
  }
}

/** A hook may permit what the permissions refuse; `null`: it has. A permitted call may still need an approval. */
function escalated(
  { spec, hookResults }: RunState,
  { call }: OpenCall,
  args: JsonObject,
  how: { reason: string; hook: string; question: string; deny: (reason: string) => AgentStep },
  granted: boolean,
): AgentStep | null {
  if (granted) return null;
  const { reason, hook, question, deny } = how;
  const effect = effects.escalation(question);
  const answer = hookResults[effect];
  if (answer === undefined) {
    const payload: JsonObject = {
      _type: "PermissionRequest",
      tool: call.name,
      args,
      session_id: spec.session_id,
      reason,
    };
    return { type: "call_hook", effect, hook, purpose: "escalation", payload };
  }
  if (isGrant(answer)) return null;
  const why = objectOf(answer).reason;
  return deny(typeof why === "string" && why !== "" ? `${reason} ${why}` : reason);
}

/** Why nobody can give an approval; `null`: a person can. */
function approverMissing({ session_id, daemon, served }: AgentSpec, attended: boolean): string | null {
  if (served !== undefined) return "Nobody attends this call to give it.";
  if (session_id === null) return "An anonymous run has no approver.";
  if (daemon === null || !attended) return null;
  return "A daemon has no approver, unless approval_policy.auto_approve names the tool.";
}

function approval(
  run: RunState,
  open: OpenCall,
  tool: AgentTool,
  args: JsonObject,
  now: number,
  { reason, attended, deny }: { reason: string; attended: boolean; deny: (reason: string) => AgentStep },
): AgentStep | null {
  const { spec } = run;
  const host = spec.policies.host === true ? hostSays(run, open, tool, args) : null;
  if (host !== null && "ask" in host) return host.ask;
  if (host?.decision === "approve") return null;
  if (host?.decision === "deny") return deny(host.reason ?? "The host denied it.");
  const missing = approverMissing(spec, attended);
  if (missing !== null) return deny(`${reason} ${missing}`);
  const asked = open.approval;
  if (asked === null) {
    const request: ApprovalRequest = {
      id: `apr_${spec.run_id}_${open.effect}`,
      tool_call_id: open.call.id,
      tool: open.call.name,
      arguments: args,
      arguments_digest: callDigest(open.call.name, args),
      risk: tool.risk ?? tool.annotations.side_effect_level ?? "unknown",
      requested_at: now,
      expires_at: now + spec.policies.approval_timeout_s * 1000,
    };
    const record: AgentRecordBody = {
      type: "approval_requested",
      run: spec.run_id,
      effect: open.effect,
      request,
    };
    return { type: "record", records: [record] };
  }
  if (asked.decision === "approve") return null;
  if (asked.decision === "deny") return deny(asked.reason ?? "It was denied.");
  if (now >= asked.expires_at) return deny("Nobody approved it in time.");
  return waiting(run, "approval", asked.expires_at, [asked]);
}

/**
 * The host delegate's decision on a call, or the question that Hull must still ask it; `null`: the host leaves the
 * decision to a person.
 */
function hostSays(
  { spec, hookResults }: RunState,
  { call, effect }: OpenCall,
  tool: AgentTool,
  args: JsonObject,
): { ask: AgentStep } | { decision: "approve" | "deny"; reason: string | null } | null {
  const asked = effects.hostPermission(effect);
  const answer = hookResults[asked];
  if (answer === undefined) {
    const payload: JsonObject = {
      tool: call.name,
      args,
      tool_call_id: call.id,
      arguments_digest: callDigest(call.name, args),
      session_id: spec.session_id,
      run_id: spec.run_id,
      risk: tool.risk ?? tool.annotations.side_effect_level ?? "unknown",
    };
    return { ask: { type: "call_hook", effect: asked, hook: "", purpose: "host_permission", payload } };
  }
  if (!isObject(answer)) return null;
  const { decision, reason } = answer;
  if (decision !== "approve" && decision !== "deny") return null;
  return { decision, reason: typeof reason === "string" ? reason : null };
}

function waiting(
  _run: RunState,
  reason: "approval" | "tool",
  until: number | null,
  approvals: ApprovalRequest[],
): WaitStep {
  const status = reason === "approval" ? "awaiting_approval" : "awaiting_tool";
  return { type: "wait", for: reason, status, until, approvals };
}

/** Whether a value is a valid answer of an escalation hook. */
export function isGrant(answer: Json): boolean {
  if (answer === true || answer === "once" || answer === "session") return true;
  return isObject(answer) && (answer.grant === true || answer.grant === "once" || answer.grant === "session");
}

/** Whether the answer of an escalation, or of the host, holds for the whole session. */
export function isSessionGrant(answer: Json): boolean {
  if (!isObject(answer)) return answer === "session";
  return answer.grant === "session" || (answer.decision === "approve" && answer.scope === "session");
}

function missingOf(tool: AgentTool, args: JsonObject): string[] {
  const { required } = tool.definition.parameters;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  return names.filter((name) => args[name] === undefined);
}

export function denied(tool: string, reason: string): AgentToolResult {
  const content = JSON.stringify({ error: "permission_denied", tool, reason });
  return plainResult("rejected", content, "permission_denied");
}

export function plainResult(
  status: ToolStatus,
  content: string,
  error_category: FaultCategory | null,
): AgentToolResult {
  return { status, content, value: null, error_category, exit_code: null, duration_ms: 0 };
}

/** The result of a call that an earlier run attempt began, and whose outcome nobody knows. */
export const interrupted = (): AgentToolResult =>
  plainResult("error", "The call was interrupted. It may or may not have taken effect.", "cancelled");
