/** What happens to the skills of a run, as its events and its trace tell it. Pure. */
import { objectOf } from "../../skill/json.ts";
import type { Applied } from "./apply.ts";
import type { AgentRecord } from "./records.ts";
import type { AgentSkill } from "./spec.ts";
import type { RunState } from "./state.ts";

interface Change {
  name: string;
  /** Counts from 1. */
  iteration: number;
}
interface Why {
  score: number;
  reason: string;
}
interface Changes {
  skill_activated: Change & Why & Pick<AgentSkill, "description" | "allowed_tools">;
  skill_scope_tools: Pick<AgentSkill, "name" | "allowed_tools">;
  skill_deactivated: Change;
  skill_mcp_unbound: Change & { server: string };
  skill_mcp_bound: Change & { server: string; tools: string[] };
  skill_mcp_bind_failed: Change & { server: string; error: string };
}
type SkillChange = { [Event in keyof Changes]: { event: Event; data: Changes[Event] } }[keyof Changes];

/** The changes with a record; those of dropped skills come first. */
export function skillChanges({ record, before: { run } }: Applied): SkillChange[] {
  if (run === null) return [];
  switch (record.type) {
    case "skill_invoked":
      return activated(run, [record.name], () => ({ score: 0, reason: "named by the message" }));
    case "skills_matched": {
      const { active, candidates } = record;
      const dropped = run.active.filter((name) => !active.includes(name));
      const begun = active.filter((name) => !run.active.includes(name));
      return [
        ...dropped.flatMap((name) => deactivated(run, name)),
        ...activated(run, begun, (name) => {
          const { score = 0, reason = "" } = candidates.find((each) => each.name === name) ?? {};
          return { score, reason };
        }),
      ];
    }
    case "skill_mcp_bound":
      return bindings(run, record);
    default:
      return [];
  }
}

function activated(run: RunState, names: readonly string[], why: (name: string) => Why): SkillChange[] {
  const { iterations: iteration, spec } = run;
  return spec.skills.flatMap(({ name, description, allowed_tools }): SkillChange[] => {
    if (!names.includes(name)) return [];
    const data = { name, description, iteration, ...why(name), allowed_tools };
    const scope: SkillChange = { event: "skill_scope_tools", data: { name, allowed_tools } };
    return [{ event: "skill_activated", data }, ...(allowed_tools.length === 0 ? [] : [scope])];
  });
}

/** A skill that is also loaded keeps its servers. */
function deactivated({ iterations: iteration, bound = [], loaded }: RunState, name: string): SkillChange[] {
  const lost = bound.filter(({ skill }) => skill === name && !loaded.includes(name));
  const servers = lost.flatMap((binding) => binding.servers);
  return [
    { event: "skill_deactivated", data: { name, iteration } },
    ...servers.map(
      (server): SkillChange => ({ event: "skill_mcp_unbound", data: { name, server, iteration } }),
    ),
  ];
}

/** What a skill's servers provided, and which of them failed. */
function bindings(
  { iterations: iteration }: RunState,
  { skill: name, servers, tools, failed }: AgentRecord & { type: "skill_mcp_bound" },
): SkillChange[] {
  const bound = servers.map((server): SkillChange => {
    const own = tools.filter(({ handler }) => objectOf(handler).server === server);
    const names = own.map(({ definition }) => definition.name);
    return { event: "skill_mcp_bound", data: { name, server, tools: names, iteration } };
  });
  const lost = failed.map(({ server, message: error }): SkillChange => {
    return { event: "skill_mcp_bind_failed", data: { name, server, error, iteration } };
  });
  return [...bound, ...lost];
}
