/** The tools of a run and those that were defined in its session (skill-formats.md §5). Pure. */
import type { AgentToolResult } from "./records.ts";
import type { AgentTool } from "./spec.ts";
import type { AgentState, RunState } from "./state.ts";

/** All tools of a run: its own, and those of the session. */
export function allTools({ spec, tools = [], active, loaded }: RunState): AgentTool[] {
  const own = spec.tools.filter(
    ({ on_activation, skill }) =>
      on_activation !== true || (skill !== null && (active.includes(skill) || loaded.includes(skill))),
  );
  const further = tools.filter(({ definition }) =>
    spec.tools.every((tool) => tool.definition.name !== definition.name),
  );
  return [...own, ...further];
}

/** The session's tools after a call; nothing where it left them alone. */
export function changedTools(
  { tools = [] }: AgentState,
  { tools: change }: AgentToolResult,
): { tools?: AgentTool[] } {
  if (change === undefined) return {};
  const name = "removed" in change ? change.removed : change.defined.definition.name;
  const others = tools.filter(({ definition }) => definition.name !== name);
  return { tools: "removed" in change ? others : [...others, change.defined] };
}
