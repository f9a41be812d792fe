/** The definition of the tool `sub_agent`; its work is in `sub-agent.ts`. */
import type { AgentTool } from "../../engine/agent/spec.ts";
import { SUB_AGENT } from "../../skill/tool-names.ts";

/** Declares no side effects of its own: the sub-agent's tools have them, each within the run's ceiling. */
export function subAgentTool(): AgentTool {
  return {
    definition: {
      name: SUB_AGENT,
      description:
        "Hands a task to another agent, which starts without this conversation and answers once. Several calls in one turn run side by side.",
      parameters: {
        type: "object",
        properties: {
          task: { type: "string", description: "What to do, with everything that the agent has to know" },
          name: { type: "string", description: "A short name of the task" },
          instructions: { type: "string", description: "How the agent is to work" },
          tools: {
            type: "array",
            items: { type: "string" },
            description: "Names of the tools that it may use; without it, all of this run's",
          },
        },
        required: ["task"],
        additionalProperties: false,
      },
    },
    executor: "builtin",
    annotations: { kind: "think", side_effect_level: "none" },
    handler: null,
    skill: null,
  };
}
