/** The tools of a run and those that its session defined. Pure. */
import { memo } from "../../memo.ts";
import type { AgentToolResult } from "./records.ts";
import type { AgentTool } from "./spec.ts";
import { type AgentState, isInForce, type RunState } from "./state.ts";

/** Whether any of them appears only when its skill becomes active. */
const somePending = memo((tools: readonly AgentTool[]) =>
  tools.some(({ on_activation }) => on_activation === true),
);

/** All tools of a run: its own, those of the session, and those of servers that skills have bound. */
export function allTools(run: RunState): AgentTool[] {
  const { spec } = run;
  if (run.tools === undefined && run.bound === undefined && !somePending(spec.tools)) return spec.tools;
  return byName([...spec.tools, ...laterTools(run)]).filter(
    ({ on_activation, skill }) => on_activation !== true || (skill !== null && isInForce(run, skill)),
  );
}

/** Tools that came while the run was under way. */
export const laterTools = ({ tools = [], bound = [] }: RunState): AgentTool[] =>
  byName([...tools, ...bound.flatMap((binding) => binding.tools)]);

/** Of tools with the same name the first. */
function byName(tools: readonly AgentTool[]): AgentTool[] {
  const first = new Map<string, AgentTool>();
  for (const tool of tools) if (!first.has(tool.definition.name)) first.set(tool.definition.name, tool);
  return [...first.values()];
}

/** The session's tools after a call; empty if the call did not change them. */
export function changedTools(
  { tools = [] }: AgentState,
  { tools: change }: AgentToolResult,
): { tools?: AgentTool[] } {
  if (change === undefined) return {};
  const name = "removed" in change ? change.removed : change.defined.definition.name;
  const others = tools.filter(({ definition }) => definition.name !== name);
  return { tools: "removed" in change ? others : [...others, change.defined] };
}
