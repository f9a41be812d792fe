/** The skills and tools of a run: those of its options, of its skills, of the runtime, and of MCP servers. */

import { firstWords } from "../../cut.ts";
import { isAtLeast, onlyReads, rankOf } from "../../engine/agent/policy.ts";
import type { AgentSkill, AgentTool, ToolAnnotations } from "../../engine/agent/spec.ts";
import { LEDGER_TOOL } from "../../engine/agent/task-ledger.ts";
import type { Warning } from "../../engine/messages.ts";
import { closedObject, text, texts } from "../../engine/parameters.ts";
import { definitionOf, type Tool } from "../../engine/tools.ts";
import type { Settings } from "../../env.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import type { CallOptions } from "../../llm/options.ts";
import { givenTools } from "../../llm/prepare.ts";
import { nameMatches } from "../../skill/glob.ts";
import type { McpServer, SkillRecord } from "../../skill/manifest.ts";
import { TOOL_KINDS } from "../../skill/manifest-fields.ts";
import { wantsSubAgents } from "../../skill/named-agents.ts";
import { SUB_AGENT } from "../../skill/tool-names.ts";
import type { RunContext } from "../context.ts";
import { withRemoteTools } from "../mcp/agent-tools.ts";
import { agentsNamedBy, workingAs } from "./agents.ts";
import { morePaths } from "./command-annotations.ts";
import { dynamicTools } from "./define-tool.ts";
import { ignored } from "./ignored-options.ts";
import { readServersOption } from "./mcp-option.ts";
import type { RunOptions } from "./option-shapes.ts";
import { toolsOfSkill, withSkillTools } from "./skill-tools.ts";
import { type RunSkills, readSkills, type SkillVersion, skillOf, toolsOf } from "./skills.ts";
import { workspaceToolsOf } from "./workspace-option.ts";

/** A skill that is available although the options do not name it. */
export interface NamedSkill extends SkillVersion {
  /** The model does not load it: it reads the skill in the system text, or through the shell. Absent: it loads it. */
  hidden?: "in the system text" | "in its folder";
}

interface ToolSources {
  options: RunOptions;
  call: CallOptions;
  /** The skill that the run executes; `null`: none. */
  served: SkillRecord | null;
  named: readonly NamedSkill[];
  /** See `RunInput`. */
  offered: readonly AgentTool[];
  /** Whether the caller may store skills. */
  publishes: boolean;
  /** Whether a client can answer calls of its own tools. */
  answers: boolean;
}

export interface RunTools {
  /** The skills that the model may use, without the run's own. */
  skills: AgentSkill[];
  /** Those to which it may only hand work. */
  agents: AgentSkill[];
  /** The records of the served skills, each once, the run's own first. */
  records: SkillRecord[];
  tools: AgentTool[];
  /** MCP servers that the request defines. */
  servers: readonly McpServer[];
  warnings: Warning[];
  /** Whether the run has workspace tools, not counting those that `offered` names. */
  files: boolean;
}

/** @throws InputInvalid with a path per finding, InvalidRequest, SkillNotFound */
export async function collectTools(context: RunContext, sources: ToolSources): Promise<RunTools> {
  const { options, served, named, offered: own, publishes, answers } = sources;
  const { settings } = context;
  const asked = await readSkills(context, options.skills);
  const listed = options.sub_agents === false ? asked : await withAgents(context, asked, served);
  const { agents } = listed;
  const records = distinct(served === null ? listed.records : [served, ...listed.records]);
  const registered = withSkillTools(
    ownTools(settings, sources, listed.tools),
    toolsOfSkills(settings, sources, records),
  );
  const delegates = options.sub_agents ?? (agents.length > 0 || records.some(wantsSubAgents));
  const offered = runtimeTools(options, publishes, delegates ? agents : null);
  const names = new Set(registered.map(({ definition }) => definition.name));
  const replaced = offered.filter(({ definition }) => names.has(definition.name));
  const defined = [...registered, ...offered.filter((tool) => !replaced.includes(tool))];
  const local = [...defined, ...workspaceToolsOf(context, options.workspace_tools, records, defined)];
  const servers = readServersOption(context, options.mcp_servers ?? []);
  const { tools, warnings } = await withRemoteTools(context, local, {
    asked: [servers.deployed, servers.brought],
    records,
    served,
  });
  checkTools(tools, { answers, daemon: options.daemon === true, hosted: settings.host !== undefined });
  const naming = records.filter(({ manifest }) => manifest.activation?.agent !== undefined);
  const skills = [...listed.skills, ...named.map((skill) => namedSkill(context, skill))].map((skill) => {
    const record = naming.find(({ manifest }) => manifest.slug === skill.name);
    return record === undefined ? skill : workingAs(skill, record, agents, records);
  });
  const taken = [
    ...replaced.flatMap(({ definition: { name } }) => {
      const option = name === SUB_AGENT ? "sub_agents" : "dynamic_tools";
      return options[option] === true ? [ownTool(option, name)] : [];
    }),
    ...(tools.some(({ definition }) => definition.name === LEDGER_TOOL)
      ? LEDGER_OPTIONS.flatMap((name) => (options[name] === undefined ? [] : [ownTool(name, LEDGER_TOOL)]))
      : []),
  ];
  const lost = own.filter((tool) => tools.some((one) => one.executor === "client" && isNamesake(one, tool)));
  const won = own.filter((tool) => !lost.includes(tool));
  return {
    skills,
    agents,
    records,
    tools: [...tools.filter((tool) => won.every((one) => !isNamesake(one, tool))), ...won],
    servers: servers.brought.servers,
    warnings: [...lost.map(replacedTool), ...taken, ...warnings],
    files: tools.some(({ executor }) => executor === "workspace"),
  };
}

const isNamesake = (one: AgentTool, other: AgentTool): boolean =>
  one.definition.name === other.definition.name;

/** It names no option: no member of the request is left out. */
const replacedTool = ({ definition: { name } }: AgentTool): Warning => ({
  code: "option_ignored",
  message: `Hull's tool ${name} has no effect: the request has a tool of this name.`,
});

function namedSkill(context: RunContext, { record, digest, hidden }: NamedSkill): AgentSkill {
  const skill = skillOf(context, record, digest);
  return hidden === undefined ? skill : { ...skill, disable_model_invocation: true };
}

/** The options of which each makes the tool `task_ledger`. */
const LEDGER_OPTIONS = ["task_ledger", "deliverables"] as const;

const ownTool = (option: string, tool: string): Warning =>
  ignored(option, `the run or one of its skills has a tool ${tool} of its own`);

/** The tools of skills' tools.json. */
function toolsOfSkills(
  settings: Settings,
  { options, served, named }: ToolSources,
  records: readonly SkillRecord[],
): AgentTool[] {
  const onActivation = options.skill_tools === "on_activation";
  return [
    // The run's own skill is active from the start.
    ...records.flatMap((record) => toolsOfSkill(settings, record, onActivation && record !== served)),
    ...named.flatMap(({ record }) => [...toolsOf(record), ...toolsOfSkill(settings, record, false)]),
  ];
}

/** The skills with the agents that their texts name, and those that the text of the run's own skill names. */
async function withAgents(
  context: RunContext,
  listed: RunSkills,
  served: SkillRecord | null,
): Promise<RunSkills> {
  const records = served === null ? listed.records : [served, ...listed.records];
  const taken = [...listed.skills, ...listed.agents].map(({ name }) => name);
  const slugs = (await agentsNamedBy(context, records)).filter((slug) => !taken.includes(slug));
  if (slugs.length === 0) return listed;
  const found = await readSkills(context, slugs);
  return {
    skills: listed.skills,
    agents: [...listed.agents, ...found.agents],
    tools: [...listed.tools, ...found.tools],
    records: [...listed.records, ...found.records],
  };
}

/** Tools that the runtime executes itself. @param agents to which the model may hand work; `null`: it may not do so at all */
function runtimeTools(
  options: RunOptions,
  publishes: boolean,
  agents: readonly AgentSkill[] | null,
): AgentTool[] {
  return [
    ...(options.dynamic_tools === true ? dynamicTools(publishes) : []),
    ...(agents === null ? [] : [subAgentTool(agents)]),
  ];
}

/** The records without duplicates: a skill may be both the run's own and in its list. */
function distinct(records: readonly SkillRecord[]): SkillRecord[] {
  return [...new Map(records.map((record) => [record.manifest.slug, record])).values()];
}

/** The tools of the options, and the command tools of skills. */
function ownTools(
  settings: Settings,
  { call, served }: ToolSources,
  ofSkills: readonly AgentTool[],
): AgentTool[] {
  const tools = [
    ...givenTools(call).map((tool) => agentTool(settings, tool)),
    ...(served === null ? [] : toolsOf(served)),
    ...ofSkills,
  ];
  const names = tools.map(({ definition }) => definition.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return tools;
  throw new InvalidRequest({ option: "tools", detail: `Two tools of the run are called "${twice}".` });
}

function agentTool(settings: Settings, tool: Tool): AgentTool {
  const executor =
    tool.handler !== undefined ? "hook" : tool.executor === undefined ? "client" : executorOf(tool);
  const { kind, ...annotations } = tool.annotations ?? {};
  const known = TOOL_KINDS.find((name) => name === kind);
  const said = { ...annotations, ...(known === undefined ? {} : { kind: known }) };
  return {
    definition: definitionOf(tool),
    executor,
    handler: tool.handler ?? null,
    skill: null,
    ...(executor === "webhook" ? webhookPolicy(settings, tool.name, said) : { annotations: said }),
  };
}

function executorOf({ name, executor }: Tool): AgentTool["executor"] {
  if (executor === "webhook") return "webhook";
  throw new InvalidRequest({
    option: "tools",
    detail: `The tool ${name} has the executor ${executor}, which this deployment does not have.`,
  });
}

/** Refuses tools that a client must answer if no client can: anonymous runs and daemons have none. */
function checkTools(
  tools: readonly AgentTool[],
  { answers, daemon, hosted }: { answers: boolean; daemon: boolean; hosted: boolean },
): void {
  const client = tools.find(({ executor }) => executor === "client");
  if (client !== undefined && (!answers || daemon)) {
    const where = daemon ? "a daemon" : "an anonymous run";
    throw new InvalidRequest({
      option: "tools",
      detail: `The tool ${client.definition.name} has no handler, and ${where} has no client to answer it.`,
    });
  }
  const web = tools.find(({ executor }) => executor === "webhook");
  if (web !== undefined && !hosted) {
    throw new InvalidRequest({
      option: "tools",
      detail: `The tool ${web.definition.name} needs a host delegate, and none is configured.`,
    });
  }
}

/** The most characters of an agent's description that its callers read. */
const MAX_DESCRIPTION = 300;

/** What the model reads of an agent: its description without the examples that many have. */
function describedAgent({ name, description }: AgentSkill): string {
  const said = (description.split(/\\n|<example>|\bExamples?:/, 1)[0] ?? "").trim();
  const cut = firstWords(said, MAX_DESCRIPTION);
  return `- ${name}: ${cut}${cut.length < said.length ? "…" : ""}`;
}

/**
 * Declares no side effects of its own: the sub-agent's tools have them, each within the run's ceiling.
 * @param agents to choose from
 */
function subAgentTool(agents: readonly AgentSkill[]): AgentTool {
  const choice =
    agents.length === 0
      ? {}
      : {
          agent: {
            type: "string",
            enum: agents.map(({ name }) => name),
            description: `The agent; without it, one that knows nothing but the task. There are:\n${agents.map(describedAgent).join("\n")}`,
          },
        };
  const properties = {
    task: text("What to do, with everything that the agent has to know"),
    ...choice,
    name: text("A short name of the task"),
    instructions: text("How the agent is to work"),
    tools: texts("Names of the tools that it may use; without it, all of this run's"),
  };
  return {
    definition: {
      name: SUB_AGENT,
      description:
        "Hands a task to another agent, which starts without this conversation and answers once. Several calls in one turn run side by side.",
      parameters: closedObject(properties, ["task"]),
    },
    executor: "builtin",
    annotations: { kind: "think", side_effect_level: "none" },
    handler: null,
    skill: null,
  };
}

type Known = Required<Pick<AgentTool, "annotations" | "risk" | "needs_approval">>;

/**
 * The policies' annotations of a tool that the host delegate executes. The caller describes the tool, and the deployer's
 * server executes it. So the caller's description may make the tool riskier, but never safer.
 * @param said the caller's description
 */
function webhookPolicy({ host, approvals }: Settings, name: string, said: ToolAnnotations): Known {
  const reads = host?.read_only_tools?.some((glob) => nameMatches(glob, name)) === true;
  const least = reads ? "read_only" : "network";
  const { kind, side_effect_level, arg_schema, ...rest } = said;
  const annotations: ToolAnnotations = {
    ...rest,
    ...(reads || !onlyReads({ annotations: said }) ? { kind: kind ?? (reads ? "fetch" : "other") } : {}),
    side_effect_level:
      side_effect_level !== undefined && rankOf(side_effect_level) > rankOf(least)
        ? side_effect_level
        : least,
    arg_schema: morePaths(arg_schema),
  };
  const risk = annotations.side_effect_level === "read_only" ? "safe" : "dangerous";
  return { annotations, risk, needs_approval: isAtLeast(risk, approvals.require_risk) };
}
