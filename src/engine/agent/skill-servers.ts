/** When skills bind MCP servers while they are active or loaded, and which tools these provide. Pure. */
import { objectOf } from "../../skill/json.ts";
import type { Warning } from "../messages.ts";
import type { AgentRecord } from "./records.ts";
import { type BoundServers, effects, isInForce, type RunState } from "./state.ts";
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

/** The bindings that end when other skills become active. */
function droppedBindings({ bound = [], loaded }: RunState, active: readonly string[]): BoundServers[] {
  return bound.filter(({ skill }) => !active.includes(skill) && !loaded.includes(skill));
}

/** The servers that a skill loses when other skills become active. */
export function unboundServers(run: RunState, active: readonly string[], name: string): string[] {
  return droppedBindings(run, active).flatMap(({ skill, servers }) => (skill === name ? servers : []));
}

/** What a skill's servers provided, and which of them failed. */
export function bindingsOf({
  skill: name,
  servers,
  tools,
  failed,
}: AgentRecord & { type: "skill_mcp_bound" }): {
  bound: { name: string; server: string; tools: string[] }[];
  lost: { name: string; server: string; error: string }[];
} {
  const bound = servers.map((server) => {
    const own = tools.filter(({ handler }) => objectOf(handler).server === server);
    return { name, server, tools: own.map(({ definition }) => definition.name) };
  });
  return { bound, lost: failed.map(({ server, message }) => ({ name, server, error: message })) };
}

/** The bindings that stay. */
export function keptBindings(run: RunState, active: readonly string[]): Pick<RunState, "bound"> {
  const { bound } = run;
  if (bound === undefined) return {};
  const dropped = droppedBindings(run, active);
  return { bound: bound.filter((binding) => !dropped.includes(binding)) };
}

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
