/** Tools that a skill needs and nothing provides, and what the skill cannot do without them. Pure. */
import type { Findings } from "./findings.ts";
import type { Manifest, SkillTool } from "./manifest.ts";
import { allowedTools, SUB_AGENT, toolsNamed, WORKSPACE_TOOLS } from "./tool-names.ts";

/** The tools that a deployment gives skills in addition to their own. */
export interface ProvidedTools {
  /** Names of its MCP servers. */
  mcp_servers: readonly string[];
  /** Whether a run may have the workspace tools at all. */
  workspace_tools: boolean;
  /** Whether a skill that names the tool gets `sub_agent`. */
  sub_agents: boolean;
}

/** Hull's own tools, which a run may have. */
export const BUILT_IN_TOOLS = [
  "load_skill",
  "read_skill_resource",
  "task_ledger",
  "define_tool",
  "remove_tool",
];

/** What other clients' tools do, as the end of a sentence that begins "The skill cannot". */
const LOSSES: readonly (readonly [pattern: RegExp, loss: string])[] = [
  [new RegExp(`^${SUB_AGENT}$`), "hand work to sub-agents without the run option sub_agents"],
  [/^webfetch$/i, "fetch web pages"],
  [/^web_?search$/i, "search the web"],
  [/^notebook(?:edit|read)$/i, "work on notebooks cell by cell"],
  [/^askuserquestion$/i, "ask the user multiple-choice questions"],
  [/^(?:bashoutput|killshell|killbash)$/i, "manage background commands"],
  [/^(?:enter|exit)planmode$/i, "plan before it acts"],
  [/^(?:lsp|.*diagnostics)$/i, "ask a language server"],
];

/**
 * One warning that names all tools of `allowed-tools` and `tool_scope` that nothing provides; none if each is provided.
 * @param own those of its tools.json
 */
export function checkNamedTools(
  findings: Findings,
  manifest: Manifest,
  own: readonly Pick<SkillTool, "name">[],
  { mcp_servers, workspace_tools, sub_agents }: ProvidedTools,
): void {
  const { allowed_tools, tool_scope, llm, activation = {}, workspace_tools: declared = true } = manifest;
  if (llm === undefined) return;
  const workspace =
    !workspace_tools || declared === false ? [] : declared === true ? WORKSPACE_TOOLS : declared;
  const delegates = sub_agents ? [SUB_AGENT] : [];
  const offered = [
    ...BUILT_IN_TOOLS,
    ...delegates,
    ...workspace,
    ...[...llm.tools, ...own].map(({ name }) => name),
  ];
  const servers = [
    ...(llm.mcp_servers ?? []).map(({ name }) => name),
    ...(activation.mcp ?? []),
    ...mcp_servers,
  ].map((name) => name.replaceAll("-", "_"));
  const provided = (tool: string): boolean =>
    tool.startsWith("namespace:") ||
    servers.some((server) => tool.startsWith(`${server}__`)) ||
    toolsNamed(tool, offered).length > 0;
  const named = new Set([...(allowed_tools ?? []), ...(tool_scope ?? [])]);
  const missing = [...named].filter((entry) => allowedTools([entry]).some(({ tool }) => !provided(tool)));
  if (missing.length === 0) return;
  const losses = new Set(missing.map((entry) => lossOf(allowedTools([entry])[0]?.tool ?? entry)));
  const field = missing.some((entry) => allowed_tools?.includes(entry)) ? "allowed-tools" : "tool_scope";
  findings.warning(
    "tool_not_provided",
    findings.field(field),
    `Nothing provides ${missing.join(", ")}: the skill cannot ${[...losses].join(", or ")}.`,
    "Remove what it does not need, write a tool of that name (letter case does not count), or name the tool of an MCP server as <server>__<tool>.",
  );
}

function lossOf(tool: string): string {
  const remote = /^(.+?)__/.exec(tool)?.[1];
  const known = LOSSES.find(([pattern]) => pattern.test(tool))?.[1];
  if (known !== undefined) return known;
  if (remote !== undefined) return `use the MCP server ${remote}, which the deployment does not have`;
  return WORKSPACE_TOOLS.some((name) => name === tool)
    ? `use ${tool}, since it has no workspace tools`
    : `use ${tool}`;
}
