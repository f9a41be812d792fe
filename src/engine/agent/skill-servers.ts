/** When skills bind MCP servers while they are active or loaded, and which tools these provide. Pure. */
import type { Warning } from "../messages.ts";
import type { AgentRecord } from "./records.ts";
import { effects, isInForce, type RunState } from "./state.ts";
import type { AgentStep } from "./step.ts";

/** The step that binds the servers of the next skill; `null`: none is due. */
export function dueBinding(run: RunState): AgentStep | null {
  const { spec, bound = [] } = run;
  const due = spec.skills.find(
    ({ name, mcp = [] }) =>
      mcp.length > 0 && isInForce(run, name) && bound.every(({ skill }) => skill !== name),
  );
  if (due === undefined) return null;
  const effect = effects.bind(run.iterations - 1, due.name);
  return { type: "bind_servers", effect, skill: due.name, servers: due.mcp ?? [] };
}

export function afterBinding(
  { bound = [] }: RunState,
  { skill, servers, tools }: AgentRecord & { type: "skill_mcp_bound" },
): Pick<RunState, "bound"> {
  const others = bound.filter((binding) => binding.skill !== skill);
  return { bound: [...others, { skill, servers, tools }] };
}

/** The bindings that stay when other skills become active. */
export const keptBindings = (
  { bound, loaded }: RunState,
  active: readonly string[],
): Pick<RunState, "bound"> =>
  bound === undefined ? {} : { bound: bound.filter(({ skill }) => isInForce({ active, loaded }, skill)) };

/** Warnings about servers that provided no tools. */
export function bindingWarnings({ skill, failed }: AgentRecord & { type: "skill_mcp_bound" }): Warning[] {
  return failed.map(({ server, message }) =>
    serverWarning("skills", `The skill ${skill} could not bind its MCP server ${server}. ${message}`),
  );
}

export const serverWarning = (option: string, message: string): Warning => ({
  code: "mcp_server_unavailable",
  message,
  option,
});
