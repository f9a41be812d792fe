/** The loop's own tools, and how it answers their calls: of the task ledger, of skills and their files. Pure. */
import { textOf } from "../../skill/json.ts";
import { SUB_AGENT } from "../../skill/tool-names.ts";
import type { ToolCallBlock, ToolDefinition } from "../messages.ts";
import { plainResult, settle } from "./call-results.ts";
import { ceilingsOf } from "./delegation.ts";
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
  SEARCH_SKILLS,
  searchesSkills,
  searchSkills,
  searchSkillsTool,
  skillToLoad,
  toolOf,
} from "./skills.ts";
import type { AgentSkill, AgentTool, Ceilings } from "./spec.ts";
import type { AgentState, OpenCall, RunState } from "./state.ts";
import { type AgentStep, type CallStep, type PlannedCall, recorded } from "./step.ts";
import { keepsLedger, LEDGER_TOOL, ledgerTool, type TaskLedger, updatedLedger } from "./task-ledger.ts";

/** The loop's own tools: it answers their calls itself, and the system text always describes them. */
export const RUNTIME_TOOLS: readonly string[] = [LOAD_SKILL, SEARCH_SKILLS, LEDGER_TOOL, READ_SKILL_RESOURCE];
export const isRuntimeCall = (name: string): boolean => RUNTIME_TOOLS.includes(name);

/** The tools on offer in every call of the run's model. */
export function runtimeTools(run: RunState): ToolDefinition[] {
  const { skills } = run.spec;
  const loads = loadsSkills(run.spec) && skills.some((skill) => !skill.disable_model_invocation);
  const reads = resourceDefinition(run.spec);
  return [
    ...(loads ? [loadSkillTool(skills)] : []),
    ...(searchesSkills(run.spec) ? [searchSkillsTool()] : []),
    ...(reads === null ? [] : [reads]),
    ...(keepsLedger(run) ? [ledgerTool()] : []),
  ];
}

/** The step for a call of a runtime tool; `null`: the call is of another tool. */
export function runtimeStep(state: AgentState, run: RunState, open: OpenCall): CallStep | null {
  switch (open.call.name) {
    case LEDGER_TOOL:
      return keepsLedger(run) ? ledgerStep(run, open) : null;
    case LOAD_SKILL:
      return loadsSkills(run.spec) ? loadStep(state, run, open) : null;
    case SEARCH_SKILLS:
      return searchesSkills(run.spec) ? searchStep(run, open) : null;
    case READ_SKILL_RESOURCE:
      return resourceStep(state, run, open);
    default:
      return null;
  }
}

function ledgerStep(run: RunState & { ledger: TaskLedger }, open: OpenCall): AgentStep {
  const updated = updatedLedger(run.ledger, open.call.arguments);
  if ("error" in updated) return settle(run, open, plainResult("error", updated.error, "schema_validation"));
  const { ledger, content } = updated;
  const result = plainResult("ok", content, null);
  return recorded({ type: "ledger_updated", run: run.spec.run_id, effect: open.effect, ledger, result });
}

function loadStep(state: AgentState, run: RunState, open: OpenCall): CallStep {
  const { call, effect } = open;
  const forked = forkedBy(run, call);
  if (forked !== null) return startFork(state, run, open, forked);
  const called = skillToLoad(run.spec, call.arguments);
  const given = textOf(call.arguments?.args);
  const commands = called === null ? null : dueCommands(state, run, called, given || undefined);
  if (commands !== null) return commands;
  const { name, content } = loadSkill(state, run, call.arguments);
  if (name === null) return settle(run, open, plainResult("error", content, null));
  const result = plainResult("ok", content, null);
  const more = given === "" ? {} : { arguments: given };
  return recorded({ type: "skill_loaded", run: run.spec.run_id, effect, name, ...more, result });
}

function searchStep(run: RunState, open: OpenCall): AgentStep {
  const { ok, content } = searchSkills(run.spec, open.call.arguments);
  return settle(run, open, plainResult(ok ? "ok" : "error", content, ok ? null : "schema_validation"));
}

/** @returns `null` if the run has no files of skills to read */
function resourceStep(state: AgentState, run: RunState, open: OpenCall): CallStep | null {
  const resource = resourceDefinition(run.spec);
  if (resource === null) return null;
  const { call, effect } = open;
  const args = resourceArguments(run.spec, call.arguments);
  const fault = resourceFault(state, run, args);
  if (fault !== null)
    return settle(run, open, plainResult("error", JSON.stringify({ error: fault }), "tool_error"));
  const planned: PlannedCall = {
    effect,
    call: { ...call, arguments: args },
    tool: resourceTool(resource),
    again: open.stage === "started",
  };
  return { type: "ready", planned };
}

/** Starts a sub-agent that executes a skill. */
function startFork(state: AgentState, run: RunState, open: OpenCall, skill: AgentSkill): CallStep {
  const { effect, call } = open;
  const loaded = loadSkill(state, run, call.arguments);
  if (loaded.name === null) return settle(run, open, plainResult("error", loaded.content, null));
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

/** Whether a tool starts a sub-agent. */
export const delegates = (tool: AgentTool | null): boolean =>
  tool?.executor === "builtin" && tool.definition.name === SUB_AGENT;

/**
 * What is left for one delegating call of the turn. The calls without a result may run in parallel, so they share the
 * rest of the budgets equally. Calls that begin later get what earlier ones did not use.
 */
export function shareOf(run: RunState): Ceilings {
  const sharers = run.calls.filter(
    ({ stage, call }) =>
      stage !== "settled" && (forkedBy(run, call) !== null || delegates(toolOf(run, call.name))),
  );
  return ceilingsOf(run, true, run.spec.parallel_tool_calls === false ? 1 : sharers.length);
}
