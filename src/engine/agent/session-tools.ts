/** The tools of a run and those that its session defined. Pure. */
import { memo } from "../../memo.ts";
import type { AgentToolResult } from "./records.ts";
import { boundTools } from "./skill-servers.ts";
import type { AgentTool } from "./spec.ts";
import type { AgentState, RunState } from "./state.ts";

/** Whether any of them appears only when its skill becomes active. */
const somePending = memo((tools: readonly AgentTool[]) =>
  tools.some(({ on_activation }) => on_activation === true),
);

/** All tools of a run: its own, those of the session, and those of servers that skills have bound. */
export function allTools(run: RunState): AgentTool[] {
  const { spec, active, loaded } = run;
  if (run.tools === undefined && run.bound === undefined && !somePending(spec.tools)) return spec.tools;
  const own = spec.tools.filter(
    ({ on_activation, skill }) =>
      on_activation !== true || (skill !== null && (active.includes(skill) || loaded.includes(skill))),
  );
  const further = laterTools(run).filter(({ definition }) =>
    spec.tools.every((tool) => tool.definition.name !== definition.name),
  );
  return [...own, ...further];
}

/** Tools that came while the run was under way. If two have the same name, the first wins. */
export function laterTools(run: RunState): AgentTool[] {
  const { tools = [] } = run;
  const names = new Set(tools.map(({ definition }) => definition.name));
  return [...tools, ...boundTools(run).filter(({ definition }) => !names.has(definition.name))];
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
