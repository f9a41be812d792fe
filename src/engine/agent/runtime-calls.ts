/** Calls that the loop itself answers: of the task ledger, of skills and their files, and of sub-agents. Pure. */
import { SUB_AGENT } from "../../skill/tool-names.ts";
import type { ToolCallBlock } from "../messages.ts";
import { plainResult } from "./call-results.ts";
import { ceilingsOf } from "./delegation.ts";
import type { AgentToolResult } from "./records.ts";
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
  skillToLoad,
  toolOf,
} from "./skills.ts";
import type { AgentSkill, AgentTool, Ceilings } from "./spec.ts";
import type { AgentState, OpenCall, RunState } from "./state.ts";
import type { AgentStep, CallStep, PlannedCall } from "./step.ts";
import { keepsLedger, LEDGER_TOOL, updatedLedger } from "./task-ledger.ts";

/** Names of calls that the loop itself answers. */
const OWN_NAMES = [LOAD_SKILL, SEARCH_SKILLS, LEDGER_TOOL, READ_SKILL_RESOURCE];
export const isRuntimeCall = (name: string): boolean => OWN_NAMES.includes(name);

/** The step for a call of a runtime tool; `null`: the call is of another tool. */
export function runtimeStep(state: AgentState, run: RunState, open: OpenCall): CallStep | null {
  const { call, effect } = open;
  const at = { run: run.spec.run_id, effect };
  const settle = (result: AgentToolResult): AgentStep => ({
    type: "record",
    records: [{ type: "tool_settled", ...at, result }],
  });
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
  return null;
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

/** Whether a tool starts a sub-agent. */
export const delegates = (tool: AgentTool | null): boolean =>
  tool?.executor === "builtin" && tool.definition.name === SUB_AGENT;

/**
 * What is left for one delegating call of the turn. Those without a result may be under way side by side, so they share
 * the rest of the budgets; what one of them does not use is left to those that begin later.
 */
export function shareOf(run: RunState): Ceilings {
  const sharers = run.calls.filter(
    ({ stage, call }) =>
      stage !== "settled" && (forkedBy(run, call) !== null || delegates(toolOf(run, call.name))),
  );
  return ceilingsOf(run, true, run.spec.parallel_tool_calls === false ? 1 : sharers.length);
}
