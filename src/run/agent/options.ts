/** Turns the request of a run into its specification. */
import { hooksNotRun } from "../../engine/agent/command-hooks.ts";
import { droppedTools, intersectPolicies } from "../../engine/agent/policy.ts";
import type {
  AgentSkill,
  AgentSpec,
  AgentTool,
  RunPolicies,
  ServedTerms,
  VendorTerms,
} from "../../engine/agent/spec.ts";
import type { Fault } from "../../engine/fault.ts";
import type { Part, ProviderPassthrough } from "../../engine/messages.ts";
import { readSearchOption } from "../../engine/tool-vault/option.ts";
import type { Settings } from "../../env.ts";
import { InvalidRequest, ToolsRejected } from "../../errors/llm.ts";
import type { LlmHost, ModelChoice } from "../../llm/host.ts";
import { type CallOptions, readOptions } from "../../llm/options.ts";
import { checkConflicts, conversation, refused, tooManyTools } from "../../llm/prepare.ts";
import { checkSchemas } from "../../llm/structured.ts";
import { canonicalProvider } from "../../model/registry/registry.ts";
import type { RunRequest } from "../../session/conversation/rpc.ts";
import { defined } from "../../skill/json.ts";
import type { JsonObject, SkillRecord } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { calledWith, ownFiles, ownInstructions } from "../own-skill.ts";
import { readToolConfigs } from "../tool-config.ts";
import { listedInShell } from "../whole-skills.ts";
import { workingAs } from "./agents.ts";
import { daemonOptions, resumedFrom } from "./daemon-options.ts";
import { runHooks } from "./hooks.ts";
import { ignoredInRun } from "./ignored-options.ts";
import { divide, type RunOptions, readRunOptions, runOptionNames } from "./option-shapes.ts";
import { chosenModel, modelOfCall, type RunModel } from "./run-model.ts";
import { collectTools, type NamedSkill, type RunTools } from "./run-tools.ts";
import {
  effortOf,
  fallbackOf,
  ignoredEffort,
  limitsOf,
  roundsOfSkill,
  toolRounds,
  withSkill,
  withSkillLimits,
} from "./skill-terms.ts";
import { readSkills, type SkillVersion, servedSkill, servedVersion, skillOf } from "./skills.ts";
import { profileOf, specOf } from "./spec-of.ts";
import { forcesNativeSearch, runVault } from "./vault.ts";
import { skillsWithFolders, withheldWorkspaceTools } from "./workspace-option.ts";

/** Returns what is wrong with the names and shapes of options, by reader. `isRun`: they are those of a run. */
export async function optionFaults({
  deployment,
  tenant,
  background,
}: RunContext): Promise<(given: JsonObject, isRun?: boolean) => Fault[][]> {
  const registry = await deployment.tenantRules.registryOf(tenant, background);
  const isProvider = (name: string): boolean => registry.providers.has(canonicalProvider(registry, name));
  return (given, isRun = true) => {
    const { run, call } = isRun ? divide(given) : { run: {}, call: given };
    const read = [readRunOptions(run), readOptions(call, isProvider, isRun ? runOptionNames() : [])];
    return read.map((one) => ("faults" in one ? one.faults : []));
  };
}

export interface RunInput extends RunRequest {
  /** Set for a run whose last text is the answer. Absent: the answer is a document. */
  answer?: AnswerTerms;
  /** The skill that the run executes. Absent: the option `skill` names it, if there is one. */
  own?: SkillVersion;
  /** What the user says, if that is more than the prompt. */
  content?: Part[];
  /** System text that follows that of the run's own skill. Absent: none. */
  instructions?: string;
  /**
   * Tools that Hull adds for a vendor's client: they win over tools of skills, and the request's own tools win over
   * them. Absent: none.
   */
  offered?: readonly AgentTool[];
  vendor?: VendorTerms;
  beside?: ProviderPassthrough;
  /** The result of `readToolConfigs` for the option, if it was read earlier. */
  toolConfigs?: JsonObject;
  /** Skills that are available in addition to those that the options name. Absent: none. */
  named?: readonly NamedSkill[];
  /** The caller takes a call of its own tool as the answer, and asks again with the result. */
  answers?: true;
  /** The choice of `host` for these options, if it was made earlier. */
  choice?: ModelChoice;
}

/** The terms of a run whose last text is the answer: a call of a served skill, or of one of the vendors' APIs. */
interface AnswerTerms extends Pick<ServedTerms, "inputs">, Pick<AgentSpec, "pause_at"> {
  /** The most time for the whole request, in ms. Absent: only the run's skill limits it. */
  most_ms?: number;
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

/** The request of a run, read and checked. */
interface ReadRequest {
  options: RunOptions;
  /** The options of the model call, as the request has them. */
  given: JsonObject;
  /** The same with the model and the limits of the run's own skill. */
  asked: JsonObject;
  call: CallOptions;
  /** Additional options for each provider, by its name. */
  own: Record<string, JsonObject>;
  /** The skill that the run executes; `null`: none. */
  served: SkillRecord | null;
  own_skill: AgentSkill | null;
  choice: ModelChoice;
  /** About what the skill asks for and does not get. */
  warnings: ModelChoice["warnings"];
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
  const { run: run_id, session: session_id } = at;
  const { answer, content, named = [], vendor, beside } = input;
  const request = await readRequest(context, host, input, session_id);
  const { options, given, asked, call, served, choice } = request;
  const found = await collectTools(context, {
    ...request,
    named,
    offered: input.offered ?? [],
    publishes: input.publishes,
    answers: session_id !== null || input.answers === true,
  });
  const { records, tools, files } = found;
  const profile = profileOf(options.profile);
  checkSearch(call);
  const configs = input.toolConfigs ?? (await readToolConfigs(context, records, options.tool_configs));
  const { retry_count: llm_retries = profile.llm_retries } = host.definition(choice.target.provider) ?? {};
  const retries = { llm_retries, schema_retries: profile.schema_retries };
  const fallback = served === null ? {} : fallbackOf(served, given);
  const called = calledIn(input, served);
  const model = modelOfCall(
    called,
    chosenModel(
      { options: { ...retries, ...withoutInput(call) }, own: request.own },
      choice,
      host,
      fallback.fallback,
    ),
  );
  checkSchemas(model.structured);
  const resumed =
    options.daemon === true && options.resume_path !== undefined
      ? await resumedFrom(context, session_id, options.resume_path)
      : null;
  const said = conversation(input, call);
  const warnings = [
    ...choice.warnings,
    ...request.warnings,
    ...found.warnings,
    ...tooManyTools(tools, choice),
    ...ignoredInRun({
      given: { ...divide(input.options).run, ...given, prompt: input.prompt },
      model,
      session: session_id,
      skills: found.skills.length,
      names:
        found.skills.length > 0 || options.dynamic_tools === true || call.tool_search !== undefined
          ? null
          : new Set(tools.map(({ definition }) => definition.name)),
      tools: tools.length + found.skills.length > 0 || options.dynamic_tools === true,
      text: toolFormatOf(call, choice, request.own) === "text",
      tool_retries: options.tool_retries ?? profile.tool_retries,
    }),
    ...withheldWorkspaceTools(context, options.workspace_tools, records),
  ];
  const inShell = new Set(
    named.flatMap(({ record, hidden }) => (hidden === "in its folder" ? [record.manifest.slug] : [])),
  );
  const toSkill = input.arguments ?? input.prompt ?? "";
  const { own_skill, ...folders } = skillsWithFolders(context, session_id, {
    skills: found.skills,
    own: ownSkill(request, found, toSkill),
    agents: found.agents,
    tools: files || inShell.size > 0,
  });
  const stated = roundsOfSkill(options, served);
  const rounds = called.called === undefined && answer === undefined ? stated : toolRounds(stated, files);
  const limited = withSkillLimits(answer === undefined ? options : { ...WHOLE, ...options }, served, rounds);
  const { skill_catalogue_tokens = context.settings.skill_catalogue_tokens } = options;
  const { tool_search, tool_examples, tool_choice, prefill } = call;
  const spec: AgentSpec = {
    ...specOf(limited, {
      run_id,
      session_id,
      system: joined([
        said.system,
        instructionsOf(own_skill, folders.skills, { session_id, input: toSkill }),
        input.instructions ?? "",
        listedInShell(folders.skills.filter(({ name }) => inShell.has(name))),
      ]),
      prompt: content === undefined ? (resumed?.prompt ?? said.added) : [{ role: "user", content }],
      tools,
      // A caller that gets the text of a served skill cannot tell calls in it from the answer.
      tool_format:
        answer !== undefined && served !== null ? "native" : toolFormatOf(call, choice, request.own),
      skills: folders.skills,
      profile,
      policies: policiesOf(context.settings, options),
      model: specModel(choice),
      call: { ...retries, ...withoutInput(asked) },
    }),
    ...called,
    ...(answer === undefined ? {} : answered(answer, served, toolRounds(stated, files), model.options)),
    ...defined({ vendor, beside, skills_key: folders.skills_key, pause_at: answer?.pause_at }),
    ...defined({ agents: folders.agents }),
    ...defined({ tool_search, tool_examples, tool_choice, prefill, skill_catalogue_tokens }),
    ...defined({ max_tool_rounds: rounds }),
    total_budget_usd: call.budget?.total_budget_usd ?? null,
    // A model without tools cannot read files, so the instructions must do without them.
    ...(own_skill === undefined || (answer !== undefined && lacksTools(choice)) ? {} : { own_skill }),
    ...(served === null ? {} : { agent: served.manifest.slug, ...fallback, ...limitsOf(served, call) }),
    ...(found.servers.length === 0 ? {} : { mcp_servers: [...found.servers] }),
    ...(configs === null ? {} : { tool_configs: configs }),
    ...deadlineOf(context, limited, served, answer),
    daemon: options.daemon === true ? { ...daemonOptions(options, session_id), ...resumed?.daemon } : null,
    ...(model.routing === null ? {} : { routing: model.routing }),
    ...(model.structured === null ? {} : { structured: true as const }),
    ...(served === null || typeof given.max_tokens === "number" ? {} : { skill_max_tokens: true as const }),
  };
  const warned = [...warnings, ...hooksNotRun(spec), ...(runVault(spec, context)?.warnings ?? [])];
  const further = warned.length === 0 ? {} : { warnings: warned };
  return { spec: { ...spec, ...further, hooks: runHooks(spec, records) }, model };
}

/** Options of a run whose last text is the answer: Hull shortens, counts and archives nothing. */
const WHOLE = {
  loop_detect_warn: 0,
  auto_compact: false,
  tool_output_max_chars: Number.MAX_SAFE_INTEGER,
} satisfies RunOptions;

/** Limit of the results of tools where no skill says one. */
const MAX_TOOL_OUTPUT_BYTES = 256 * 1024;

function answered(
  { inputs }: AnswerTerms,
  served: SkillRecord | null,
  max_tool_rounds: number,
  { max_tokens = 0 }: CallOptions,
): Pick<AgentSpec, "served"> {
  const { max_tool_output_bytes = MAX_TOOL_OUTPUT_BYTES } = served?.manifest.llm ?? {};
  return { served: { max_tool_rounds, max_tool_output_bytes, max_tokens, ...defined({ inputs }) } };
}

const lacksTools = ({ capabilities }: ModelChoice): boolean =>
  capabilities.matched && !capabilities.native_tools;

/** Reads the options, finds the skill that the run executes, and chooses the model. @throws as `checkedRun` */
async function readRequest(
  context: RunContext,
  host: LlmHost,
  input: RunInput,
  session: string | null,
): Promise<ReadRequest> {
  const { run, call: given } = divide(input.options);
  const read = readRunOptions(run);
  if ("faults" in read) throw refused(read.faults);
  const { options } = read;
  const own = input.own ?? (options.skill === undefined ? null : await servedVersion(context, options.skill));
  const record = own?.record ?? null;
  const { llm } = record?.manifest ?? {};
  // A provider that is missing here is the deployment's fault, while the choice of a model blames the request.
  if (input.called === true && llm !== undefined) host.reach(llm.target);
  const asked = record === null ? given : withSkill(given, record, host);
  const model = readOptions(asked, (name) => host.definition(name) !== undefined, runOptionNames());
  if ("faults" in model) throw refused(model.faults);
  checkConflicts(model.options);
  checkSession(model.options, session);
  const choice = input.choice ?? host.choose(model.options);
  const { thinking, reasoning_effort } = model.options;
  const says = thinking !== undefined || reasoning_effort !== undefined;
  const { target, capabilities } = choice;
  const thinks = says ? null : record;
  const effort = thinks === null ? {} : effortOf(thinks, capabilities);
  return {
    options,
    given,
    asked: { ...asked, ...effort },
    call: { ...model.options, ...effort },
    own: model.own,
    served: record,
    own_skill: own && { ...skillOf(context, own.record, own.digest), files: ownFiles(own.record) },
    choice,
    warnings: thinks === null ? [] : ignoredEffort(thinks, { model: target.model, capabilities }),
  };
}

/** @throws InputInvalid if the option `tool_search` is wrong */
function checkSearch({ tool_search }: CallOptions): void {
  const search = readSearchOption(tool_search);
  if (search !== null && "faults" in search) throw refused(search.faults);
}

/** The skill that the run executes, as the agent that it names. @param given what it is called with */
function ownSkill(
  { own_skill, served }: ReadRequest,
  { agents, records }: Pick<RunTools, "agents" | "records">,
  given: string,
): AgentSkill | null {
  if (own_skill === null || served === null) return null;
  return calledWith(workingAs(own_skill, served, agents, records), given);
}

/** The instructions of the run's own skill; empty: it has none. */
const instructionsOf = (
  own: AgentSkill | undefined,
  others: readonly AgentSkill[],
  reader: { session_id: string | null; input: string },
): string => (own === undefined ? "" : ownInstructions(own, { ...reader, skills: [own, ...others] }));

const joined = (texts: readonly string[]): string => texts.filter((text) => text.trim() !== "").join("\n\n");

const calledIn = ({ called }: RunRequest, served: SkillRecord | null): Pick<AgentSpec, "called"> =>
  called === true ? { called: { json: served?.manifest.output === "json" } } : {};

/** An answer's time counts from the beginning of the request. */
function deadlineOf(
  { startedAt }: RunContext,
  { deadline_ms }: RunOptions,
  served: SkillRecord | null,
  answer: AnswerTerms | undefined,
): Pick<AgentSpec, "deadline"> {
  if (answer === undefined)
    return deadline_ms === undefined ? {} : { deadline: { at: Date.now() + deadline_ms, ms: deadline_ms } };
  const { most_ms = Number.POSITIVE_INFINITY } = answer;
  const ms = Math.min(served?.manifest.deadline_ms ?? most_ms, most_ms);
  return { deadline: { at: startedAt + ms, ms } };
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

/** How tools reach the model. A provider that is said to search itself takes them as its protocol has them. */
export const toolFormatOf = (
  options: Pick<CallOptions, "tool_format">,
  { target, tool_format }: Pick<ModelChoice, "target" | "tool_format">,
  own: { readonly [name: string]: unknown },
): AgentSpec["tool_format"] =>
  options.tool_format ?? (forcesNativeSearch(own, target.provider) ? "native" : tool_format);

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
function policiesOf(
  settings: Settings,
  options: RunOptions,
): Pick<RunPolicies, "policy" | "ceiling" | "dropped" | "host"> {
  const { host, policy: outer = null } = settings;
  const own = options.policy ?? null;
  const policy = intersectPolicies(outer, own);
  const dropped = droppedTools(own, policy);
  if (dropped.length > 0 && dropped.length === own?.tools?.length)
    throw new ToolsRejected({ tools: dropped });
  return {
    policy,
    ...(host === undefined ? {} : { host: true as const }),
    ...(outer === null ? {} : { ceiling: outer }),
    ...(dropped.length === 0 ? {} : { dropped }),
  };
}
