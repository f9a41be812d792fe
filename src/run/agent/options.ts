/** Turns the request of a run into its specification: fills in defaults, collects skills and tools, chooses a model. */
import { droppedTools, intersectPolicies } from "../../engine/agent/policy.ts";
import type {
  AgentSpec,
  AgentTool,
  CompactionOptions,
  RunPolicies,
  ToolHook,
} from "../../engine/agent/spec.ts";
import { readSearchOption } from "../../engine/tool-vault/option.ts";
import { definitionOf, readTools, type Tool } from "../../engine/tools.ts";
import type { Settings } from "../../env.ts";
import { InvalidRequest, ToolsRejected } from "../../errors/llm.ts";
import { compactionOptions } from "../../llm/compaction-options.ts";
import type { LlmHost, ModelChoice } from "../../llm/host.ts";
import { type CallOptions, readOptions } from "../../llm/options.ts";
import { checkConflicts, conversation, refused, tooManyTools } from "../../llm/prepare.ts";
import type { RunRequest } from "../../session/conversation/rpc.ts";
import { usualDeadline } from "../../skill/interface-fields.ts";
import { type JsonObject, type SkillRecord, TOOL_KINDS } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { withRemoteTools } from "../mcp/agent-tools.ts";
import { ownInstructions } from "../own-skill.ts";
import { subAgentTool } from "../task/sub-agent-tool.ts";
import { readToolConfigs } from "../tool-config.ts";
import { daemonOptions } from "./daemon-options.ts";
import { dynamicTools } from "./define-tool.ts";
import { runHooks } from "./hooks.ts";
import { ignoredOptions } from "./ignored-options.ts";
import { taskLedger } from "./ledger-option.ts";
import { readServersOption } from "./mcp-option.ts";
import { divide, listOf, type RunOptions, readRunOptions, runOptionNames } from "./option-shapes.ts";
import { profileOf } from "./profile.ts";
import { resumedFrom } from "./resume.ts";
import { chosenModel, type RunModel } from "./run-model.ts";
import { toolsOfSkill, withSkillTools } from "./skill-tools.ts";
import { ownSkill, readSkills, servedSkill, skillOf, toolsOf } from "./skills.ts";
import { runVault } from "./vault.ts";
import { webhookPolicy } from "./webhook-tool.ts";
import { skillsWithFolders, withheldWorkspaceTools, workspaceToolsOf } from "./workspace-option.ts";

export interface RunInput extends RunRequest {
  /** The result of `readToolConfigs` for the option, if it was read earlier. */
  toolConfigs?: JsonObject;
  /** Skills that are available in addition to those that the options name. Absent: none. */
  named?: readonly { record: SkillRecord; digest: string }[];
  /** The caller takes a call of its own tool as the answer, and asks again with the result. */
  answers?: true;
  /** The choice of `host` for these options, if it was made earlier. */
  choice?: ModelChoice;
}

/** A run's specification, and the model that was chosen and read for it. */
export interface CheckedRun {
  spec: AgentSpec;
  model: RunModel;
}

/** The specification alone, for a run that begins elsewhere. @throws as `checkedRun` */
export async function agentSpec(...asked: Parameters<typeof checkedRun>): Promise<AgentSpec> {
  return (await checkedRun(...asked)).spec;
}

/**
 * Makes the specification of a run.
 * @param session `null`: an anonymous run
 * @throws InputInvalid with a path per finding, InvalidRequest, SkillNotFound, the errors of the model choice
 */
export async function checkedRun(
  context: RunContext,
  host: LlmHost,
  input: RunInput,
  at: { run: string; session: string | null },
): Promise<CheckedRun> {
  const { run: ownOptions, call } = divide(input.options);
  const read = readRunOptions(ownOptions);
  if ("faults" in read) throw refused(read.faults);
  const { options } = read;
  const own = options.skill === undefined ? null : await ownSkill(context, options.skill);
  const served = own?.record ?? null;
  const own_skill = own?.skill ?? null;
  const asked = served === null ? call : withSkill(call, served);
  const model = readOptions(asked, (name) => host.isProvider(name), runOptionNames());
  if ("faults" in model) throw refused(model.faults);
  checkConflicts(model.options);
  checkSession(model.options, at.session);
  const choice = input.choice ?? host.choose(model.options);
  const registry = withNamed(context, await readSkills(context, options.skills), input.named ?? []);
  const records = distinct(served === null ? registry.records : [served, ...registry.records]);
  const onActivation = options.skill_tools === "on_activation";
  const registered = withSkillTools(
    allTools(context.settings, model.options, served, registry.tools),
    // The run's own skill is active from the start.
    [
      ...records.flatMap((record) =>
        toolsOfSkill(context.settings, record, onActivation && record !== served),
      ),
      ...(input.named ?? []).flatMap(({ record }) => [
        ...toolsOf(record),
        ...toolsOfSkill(context.settings, record, false),
      ]),
    ],
  );
  const dynamic = [
    ...(options.dynamic_tools === true ? dynamicTools(input.publishes) : []),
    ...(options.sub_agents === true ? [subAgentTool()] : []),
  ];
  const defined = [...registered, ...dynamic.filter((tool) => !isNamed(registered, tool))];
  const local = [...defined, ...workspaceToolsOf(context, options.workspace_tools, records, defined)];
  const servers = readServersOption(context, options.mcp_servers ?? []);
  const sources = { asked: [servers.deployed, servers.brought], records, served };
  const remote = await withRemoteTools(context, local, sources);
  const { tools } = remote;
  const hosted = context.settings.host !== undefined;
  const alone = at.session === null && input.answers !== true;
  checkTools(tools, { alone, daemon: options.daemon === true, hosted });
  const profile = profileOf(options.profile);
  const search = readSearchOption(model.options.tool_search);
  if (search !== null && "faults" in search) throw refused(search.faults);
  const configs = input.toolConfigs ?? (await readToolConfigs(context, records, options.tool_configs));
  const retries = { llm_retries: profile.llm_retries, schema_retries: profile.schema_retries };
  const fallback = served === null ? {} : fallbackOf(served, call);
  const chosen = chosenModel(
    { options: { ...retries, ...withoutInput(model.options) }, own: model.own },
    choice,
    host,
    fallback.fallback,
  );
  const resumed =
    options.daemon === true && options.resume_path !== undefined
      ? await resumedFrom(context, at.session, options.resume_path)
      : null;
  const given = conversation(input, model.options);
  const warnings = [
    ...choice.warnings,
    ...remote.warnings,
    ...tooManyTools(tools, choice),
    ...ignoredOptions(options, model.options, at.session),
    ...withheldWorkspaceTools(context, options.workspace_tools, records),
  ];
  const { run: run_id, session: session_id } = at;
  const withFolders = skillsWithFolders(context, at.session, {
    skills: registry.skills,
    own: own_skill,
    tools: tools.some(({ executor }) => executor === "workspace"),
  });
  const { own_skill: self, skills } = withFolders;
  const reader = {
    session_id,
    input: input.prompt ?? "",
    skills: self === undefined ? skills : [self, ...skills],
  };
  const instructions = self === undefined ? "" : ownInstructions(self, reader);
  const rounds = roundsOfSkill(options, served);
  const limited = withSkillLimits(options, served, rounds);
  const spec: AgentSpec = {
    ...specOf(limited, {
      run_id,
      session_id,
      system: [given.system, instructions].filter((text) => text.trim() !== "").join("\n\n"),
      prompt: resumed?.prompt ?? given.added,
      tools,
      tool_format: model.options.tool_format ?? choice.tool_format,
      skills: withFolders.skills,
      profile,
      policies: {
        ...(hosted ? { host: true as const } : {}),
        ...ceiling(context.settings.policy ?? null, options.policy ?? null),
      },
      model: specModel(choice),
      call: { ...retries, ...withoutInput(asked) },
    }),
    ...(rounds === undefined ? {} : { max_tool_rounds: rounds }),
    ...toolOptions(model.options),
    ...(model.options.prefill === undefined ? {} : { prefill: model.options.prefill }),
    total_budget_usd: model.options.budget?.total_budget_usd ?? null,
    ...withFolders,
    ...catalogTokens(options.skill_catalogue_tokens ?? context.settings.skill_catalogue_tokens),
    ...(served === null ? {} : { agent: served.manifest.slug, ...fallback }),
    ...(servers.brought.servers.length === 0 ? {} : { mcp_servers: [...servers.brought.servers] }),
    ...(configs === null ? {} : { tool_configs: configs }),
    ...(limited.deadline_ms === undefined
      ? {}
      : { deadline: { at: Date.now() + limited.deadline_ms, ms: limited.deadline_ms } }),
    daemon: options.daemon === true ? { ...daemonOptions(options, at.session), ...resumed?.daemon } : null,
    ...(chosen.structured === null ? {} : { structured: true as const }),
    ...(served === null || typeof call.max_tokens === "number" ? {} : { skill_max_tokens: true as const }),
  };
  const told = [...warnings, ...(runVault(spec, context)?.warnings ?? [])];
  const warned = told.length === 0 ? {} : { warnings: told };
  return { spec: { ...spec, ...warned, hooks: runHooks(spec, records) }, model: chosen };
}

/** Leaves out options that the specification stores as members of its own. */
function withoutInput<
  T extends { tools?: unknown; messages?: unknown; transcript?: unknown; session_id?: unknown },
>({
  tools: _,
  messages: __,
  transcript: ___,
  session_id: ____,
  ...rest
}: T): Omit<T, "tools" | "messages" | "transcript" | "session_id"> {
  return rest;
}

/** What a specification records about the chosen model. */
export function specModel({
  target,
  context_window,
  capabilities,
}: Pick<ModelChoice, "target" | "context_window" | "capabilities">): AgentSpec["model"] {
  return {
    provider: target.provider,
    model: target.model ?? "",
    context_window,
    native_tools: capabilities.native_tools,
    defer_loading: capabilities.defer_loading,
    tool_search: [...capabilities.tool_search],
    ...(capabilities.vision === false ? { vision: false } : {}),
    ...(capabilities.pdf === true ? { pdf: true } : {}),
  };
}

/** The options of a model call that the loop itself reads. */
export function toolOptions({
  tool_search,
  tool_examples,
  tool_choice,
}: CallOptions): Pick<AgentSpec, "tool_search" | "tool_examples" | "tool_choice"> {
  return {
    tool_search: tool_search ?? null,
    tool_examples: tool_examples ?? null,
    tool_choice: tool_choice ?? null,
  };
}

/** Adds skills that the options do not name. Tools of the run win over theirs. */
function withNamed(
  { settings }: RunContext,
  registry: Awaited<ReturnType<typeof readSkills>>,
  named: NonNullable<RunInput["named"]>,
): typeof registry {
  const skills = named.map(({ record, digest }) => skillOf(settings, record, digest));
  return { ...registry, skills: [...registry.skills, ...skills] };
}

const catalogTokens = (tokens: number | undefined): Pick<AgentSpec, "skill_catalogue_tokens"> =>
  tokens === undefined ? {} : { skill_catalogue_tokens: tokens };

/** What Hull determines for a run besides its options. */
type SpecParts = Pick<
  AgentSpec,
  "run_id" | "session_id" | "system" | "prompt" | "tools" | "tool_format" | "skills" | "model" | "call"
> & {
  profile: ReturnType<typeof profileOf>;
  policies: Pick<RunPolicies, "policy" | "ceiling" | "dropped" | "host">;
};

/** Makes a run's specification from its options and fills in the defaults. @throws InvalidRequest */
export function specOf(options: RunOptions, { profile, policies, ...parts }: SpecParts): AgentSpec {
  return {
    ...parts,
    tool_search: null,
    tool_examples: null,
    tool_choice: null,
    skill_match: { strategy: "auto", top_n: 1, sticky: true, ...options.skill_match },
    working_files: listOf(options.working_files),
    persistent: options.persistent ?? false,
    done_sentinel: options.done_sentinel ?? "##DONE##",
    max_iterations: options.max_iterations ?? profile.max_iterations,
    max_nudges: options.max_nudges ?? profile.max_nudges,
    nudge: options.nudge ?? null,
    tool_retries: options.tool_retries ?? profile.tool_retries,
    tool_backoff_ms: options.tool_backoff_ms ?? 1000,
    turn_policy: turnPolicy(options),
    stop_after_successful_tools: options.stop_after_successful_tools ?? [],
    require_successful_tools: options.require_successful_tools ?? [],
    loop_detect: {
      warn: options.loop_detect_warn ?? 2,
      block: options.loop_detect_block ?? 3,
      skip: options.loop_detect_skip ?? 4,
    },
    exit_when_verified: options.exit_when_verified ?? false,
    token_budget: options.token_budget ?? null,
    total_budget_usd: null,
    native_tool_fallback: options.native_tool_fallback ?? "allow",
    break_unless_phase: options.break_unless_phase ?? null,
    task_ledger: taskLedger(options),
    context_callback: options.context_callback ?? options.context_filter ?? null,
    post_turn_callback: options.post_turn_callback ?? null,
    ...(options.models === undefined ? {} : { models: options.models }),
    ...(options.parallel_tool_calls === false ? { parallel_tool_calls: false as const } : {}),
    ...(options.tool_hooks === undefined ? {} : { tool_hooks: options.tool_hooks.map(toolHook) }),
    policies: {
      ...policies,
      approval_policy: options.approval_policy ?? null,
      permissions: options.permissions ?? null,
      approval_timeout_s: approvalSeconds(options),
    },
    ...(options.bot === undefined ? {} : { bot: options.bot }),
    compaction: compaction(options),
    daemon: null,
  };
}

function approvalSeconds({
  approval_timeout_ms: ms,
  approval_timeout_s: seconds = 86_400,
}: RunOptions): number {
  return ms === undefined ? seconds : ms / 1000;
}

/** The skill's own further targets, unless the options name a model. */
function fallbackOf({ manifest }: SkillRecord, call: JsonObject): Pick<AgentSpec, "fallback"> {
  const targets = manifest.llm?.fallback ?? [];
  const named = [call.provider, call.model, call.model_tier, call.route_policy, call.fallback_chain];
  return targets.length === 0 || named.some((name) => name !== undefined) ? {} : { fallback: targets };
}

/** @throws InvalidRequest */
function compaction(options: RunOptions): CompactionOptions {
  const read = compactionOptions(options);
  if (read.strategy !== "custom" || read.compact_callback !== null) return read;
  const detail = 'The compaction strategy "custom" needs compact_callback, the hook that writes the summary.';
  throw new InvalidRequest({ option: "compact_callback", detail });
}

/**
 * The option `tool_configs` with its secrets sealed, for a run whose request is stored before the run begins.
 * @throws as `agentSpec`
 */
export async function sealedToolConfigs(context: RunContext, given: JsonObject): Promise<JsonObject> {
  const read = readRunOptions(divide(given).run);
  if ("faults" in read) throw refused(read.faults);
  const { skill, skills, tool_configs } = read.options;
  const served = skill === undefined ? [] : [await servedSkill(context, skill)];
  const { records } = await readSkills(context, skills);
  return (await readToolConfigs(context, [...served, ...records], tool_configs)) ?? {};
}

/** The records without duplicates: a skill may be both the run's own and in its list. */
function distinct(records: readonly SkillRecord[]): SkillRecord[] {
  return [...new Map(records.map((record) => [record.manifest.slug, record])).values()];
}

/** The call's options with the model and limits of the option `skill`, unless the options set them. */
function withSkill(call: JsonObject, { manifest }: SkillRecord): JsonObject {
  const { llm, slug } = manifest;
  if (llm === undefined) {
    throw new InvalidRequest({
      option: "skill",
      detail: `The skill ${slug} has mode: ${manifest.mode}; only llm skills can run as agents.`,
    });
  }
  const { provider, model } = llm.target;
  return {
    provider,
    ...(model === null ? {} : { model }),
    max_tokens: llm.max_tokens,
    timeout: manifest.timeout_ms / 1000,
    idle_timeout: manifest.idle_timeout_ms / 1000,
    ...call,
  };
}

/** The rounds of tools that the skill's manifest names, unless the options limit the run; `undefined`: neither. */
const roundsOfSkill = (options: RunOptions, served: SkillRecord | null): number | undefined =>
  options.profile === undefined && options.max_iterations === undefined
    ? served?.manifest.llm?.max_tool_rounds
    : undefined;

/**
 * Adds the rounds and the time that the skill's manifest sets, unless the options do. For a daemon, the rounds apply to
 * each wake, and the time of one call does not apply.
 * @param rounds from `roundsOfSkill`
 */
function withSkillLimits(
  options: RunOptions,
  served: SkillRecord | null,
  rounds: number | undefined,
): RunOptions {
  if (served === null) return options;
  const { timeout_ms, deadline_ms } = served.manifest;
  const usual = options.daemon === true || deadline_ms === usualDeadline(timeout_ms);
  return {
    ...(rounds === undefined ? {} : { max_iterations: rounds + 1 }),
    ...(usual ? {} : { deadline_ms }),
    ...options,
  };
}

const isNamed = (tools: readonly AgentTool[], { definition }: AgentTool): boolean =>
  tools.some((tool) => tool.definition.name === definition.name);

function allTools(
  settings: Settings,
  { tools: given }: CallOptions,
  served: SkillRecord | null,
  ofSkills: readonly AgentTool[],
): AgentTool[] {
  const read =
    given === undefined ? { tools: [] } : readTools(given, { path: "options.tools", commands: false });
  if ("faults" in read) throw refused(read.faults);
  const tools = [
    ...read.tools.map((tool) => agentTool(settings, tool)),
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
  { alone, daemon, hosted }: { alone: boolean; daemon: boolean; hosted: boolean },
): void {
  const client = tools.find(({ executor }) => executor === "client");
  if (client !== undefined && (alone || daemon)) {
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

/** Refuses a transcript in a session: a run has either the session's history or that of the request. */
function checkSession({ session_id, transcript }: CallOptions, session: string | null): void {
  if (session !== null && transcript !== undefined) {
    const detail =
      "A session has a transcript of its own. Leave transcript out, or give it to a run without a session.";
    throw new InvalidRequest({ option: "transcript", detail });
  }
  if (session_id === undefined || session_id === session) return;
  const detail =
    session === null
      ? `The run has no session; POST /sessions/${session_id}/runs runs in that one.`
      : `The run is in the session ${session}, but session_id names ${session_id}. Leave session_id out.`;
  throw new InvalidRequest({ option: "session_id", detail });
}

/** The deployment's policy combined with the run's; both hold. @throws ToolsRejected if no requested tool is left */
function ceiling(
  outer: JsonObject | null,
  own: JsonObject | null,
): Pick<RunPolicies, "policy" | "ceiling" | "dropped"> {
  const policy = intersectPolicies(outer, own);
  const both = { policy, ...(outer === null || own === null ? {} : { ceiling: outer }) };
  const dropped = droppedTools(own, policy);
  if (dropped.length === 0) return both;
  if (Array.isArray(own?.tools) && dropped.length === own.tools.length)
    throw new ToolsRejected({ tools: dropped });
  return { ...both, dropped };
}

type GivenHook = NonNullable<RunOptions["tool_hooks"]>[number];
const toolHook = ({
  pattern,
  pre = null,
  post = null,
  deny = null,
  max_output = null,
}: GivenHook): ToolHook => ({
  pattern,
  pre,
  post,
  deny,
  max_output,
});

function turnPolicy({ turn_policy: given }: RunOptions): AgentSpec["turn_policy"] {
  if (given === undefined) return null;
  return {
    require_action_or_yield: given.require_action_or_yield ?? false,
    allow_done_sentinel: given.allow_done_sentinel ?? true,
    max_prose_chars: given.max_prose_chars ?? null,
  };
}
