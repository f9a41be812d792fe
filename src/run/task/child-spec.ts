/** The specification of a run that a run delegates. Pure. */
import { narrowed } from "../../engine/agent/delegation.ts";
import { RUNTIME_TOOLS } from "../../engine/agent/runtime-calls.ts";
import type { AgentSkill, AgentSpec, AgentTool, Ceilings } from "../../engine/agent/spec.ts";
import { ToolsRejected } from "../../errors/llm.ts";
import { defined } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { DEFINE_TOOL } from "../../skill/tool-names.ts";
import { profileOf, specOf } from "../agent/spec-of.ts";

/** What a parent asks of a child. */
export interface ChildTask {
  task: string;
  system: string;
  /** Names of its tools; `null`: all that the parent has. */
  allowed: readonly string[] | null;
  /** The skill that the child runs. */
  skill?: AgentSkill;
}

/** Options of the parent's model calls that also hold for the child's. */
const INHERITED =
  "provider model model_tier route_policy fallback_chain max_tokens budget cache temperature top_p top_k seed frequency_penalty presence_penalty thinking reasoning_effort interleaved_thinking anthropic_beta_features llm_retries llm_backoff_ms schema_retries timeout_ms idle_timeout_ms timeout idle_timeout stream".split(
    " ",
  );

/** Leaves out tools that a client answers: a child has no client. */
const toolsBelow = (tools: readonly AgentTool[]): AgentTool[] =>
  tools.filter(({ executor }) => executor !== "client");

/** Whether tools may appear whose names nobody knows when the run begins. */
const gainsTools = ({ skills, tools }: AgentSpec): boolean =>
  skills.some(({ mcp = [] }) => mcp.length > 0) ||
  tools.some(({ definition }) => definition.name === DEFINE_TOOL);

/**
 * Keeps only the tools that the request names; `null`: all. Names without a tool count as dropped.
 * @throws ToolsRejected if the request names tools and the run has none of them
 */
export function withRequested(spec: AgentSpec, names: readonly string[] | null): AgentSpec {
  if (names === null) return spec;
  const tools = spec.tools.filter(({ definition }) => names.includes(definition.name));
  const known = [...spec.tools.map(({ definition }) => definition.name), ...RUNTIME_TOOLS];
  const missing = gainsTools(spec) ? [] : names.filter((name) => !known.includes(name));
  if (missing.length === 0) return { ...spec, tools };
  const { dropped: before = [] } = spec.policies;
  const dropped = [...new Set([...before, ...missing])];
  if (names.every((name) => dropped.includes(name))) {
    const reason = `There is none of these tools: ${names.join(", ")}. There are: ${known.join(", ")}.`;
    throw new ToolsRejected({ tools: names, reason });
  }
  return { ...spec, tools, policies: { ...spec.policies, dropped } };
}

/** If the options name no tools, adds the tools of the session above. */
export function withToolsAbove(spec: AgentSpec, options: JsonObject, above: readonly AgentTool[]): AgentSpec {
  const own = ["tools", "skill", "skills", "workspace_tools", "mcp_servers"];
  if (own.some((name) => options[name] !== undefined && options[name] !== null)) return spec;
  const missing = toolsBelow(above).filter((tool) =>
    spec.tools.every(({ definition }) => definition.name !== tool.definition.name),
  );
  return missing.length === 0 ? spec : { ...spec, tools: [...spec.tools, ...missing] };
}

/** The tools of the skill that the child runs are there from the start. */
function ownTool(tool: AgentTool, skill: AgentSkill | undefined): AgentTool {
  if (skill === undefined || tool.skill !== skill.name) return tool;
  const { on_activation: _, ...own } = tool;
  return own;
}

/** @throws ToolsRejected if none of the requested tools exists or may be used */
export function childSpec(
  parent: AgentSpec,
  above: Ceilings,
  { run_id, session_id }: { run_id: string; session_id: string },
  { task, system, allowed, skill }: ChildTask,
): AgentSpec {
  const { mock, ...given } = parent.call;
  const call: JsonObject = Object.fromEntries(
    Object.entries(given).filter(([name]) => INHERITED.includes(name)),
  );
  const policy = allowed === null ? null : { tools: [...allowed] };
  const { skills_key, own_skill, mcp_servers, tool_configs, bot, models, fallback, hooks, agents } = parent;
  const { max_tool_rounds: rounds } = skill ?? {};
  const spec = specOf(rounds === undefined ? {} : { max_iterations: rounds + 1 }, {
    run_id,
    session_id,
    system,
    prompt: [{ role: "user", content: [{ type: "text", text: task }] }],
    tools: toolsBelow(above.tools).map((tool) => ownTool(tool, skill)),
    tool_format: parent.tool_format,
    skills: parent.skills.filter(({ name }) => name !== skill?.name),
    model: parent.model,
    // The mock answers are the parent's alone. A child of a mocked run calls no provider either.
    call: { ...call, ...(mock === undefined ? {} : { mock: [] }) },
    profile: profileOf(),
    policies: { policy },
  });
  return narrowed(
    {
      ...withRequested(spec, allowed),
      skill_match: parent.skill_match,
      ...defined({ skills_key, mcp_servers, tool_configs, bot, fallback, models, hooks, agents }),
      ...defined({ max_tool_rounds: rounds, own_skill: skill ?? own_skill, watchers: above.watchers }),
    },
    above,
    session_id,
  );
}
