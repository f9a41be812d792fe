/**
 * A request of a vendor's client whose tools Hull runs: a run of the engine that has the conversation's container as
 * its work folder.
 */
import type { Applied } from "../engine/agent/apply.ts";
import { settledBy } from "../engine/agent/entries.ts";
import { readingOf } from "../engine/agent/reader.ts";
import type { AgentToolResult } from "../engine/agent/records.ts";
import type { AgentSkill, AgentSpec, AgentTool } from "../engine/agent/spec.ts";
import type { RunState } from "../engine/agent/state.ts";
import { roundsUsedUp } from "../engine/agent/status.ts";
import type { ModelTurn, ToolCallBlock, Warning } from "../engine/messages.ts";
import {
  type CodeTerms,
  containerTool,
  copiesOf,
  isContainerTool,
} from "../engine/workspace-tools/code-tools.ts";
import type { Settings } from "../env.ts";
import { HullError } from "../errors.ts";
import type { LlmHost, Reached } from "../llm/host.ts";
import { wrong } from "../llm/members.ts";
import { messageJson } from "../llm/messages.ts";
import type { ChatRequest } from "../llm/openai-api/request.ts";
import { lacksThinking } from "../llm/openai-api/terms.ts";
import { skillNamed } from "../llm/skill-model.ts";
import { asJson, present } from "../skill/json.ts";
import type { JsonObject, Manifest } from "../skill/manifest.ts";
import { type CheckedRun, checkedRun } from "./agent/options.ts";
import { MemoryLog } from "./agent/run-log.ts";
import { toolRounds, withServedTerms } from "./agent/served-terms.ts";
import { countedSkill, runSlot, servedSkill } from "./agent/skills.ts";
import { driveStateless } from "./agent/stateless.ts";
import { type Container, codeTerms, makeContainer, openContainer, putUpload } from "./container.ts";
import type { RunContext } from "./context.ts";
import type { RunEvent } from "./events.ts";
import type { Durable } from "./handle.ts";
import { withRequiredApproval } from "./handler/policy.ts";
import { llmHost } from "./llm-host.ts";
import { llmError } from "./llm-problem.ts";
import type { LocalSkill, ReferencedSkills } from "./v1-skills.ts";
import type { VendorModel } from "./vendor-model.ts";
import { injectedTexts, LITELLM_TOOL, skillTool } from "./whole-skills.ts";
import { skillPath, skillsFolder } from "./workspace-tools/where.ts";

const MAX_TOOL_OUTPUT_BYTES = 256 * 1024;
/** Time limit of the whole run, in ms. It leaves time for a last tool call after an answer's time. */
const WHOLE_MS = 600_000;

/** What such a request asks for. */
interface AgentAsk extends Pick<ChatRequest, "model" | "request" | "container" | "code" | "passthrough"> {
  /** The model, if the route looked it up for a run; `null`: it did not, or the request names a skill. */
  found: VendorModel | null;
  uploads: readonly { file_id: string; path: string }[];
  /** Code tools as the client sent them, for Anthropic when it runs its own skills. */
  hosted: readonly JsonObject[];
  /** Whether the client continues a paused answer. */
  pauses: boolean;
  /** Skills found for `container`, or already in the open container. */
  skills: ReferencedSkills;
  /** An open container; absent: `container` names it. */
  opened?: Container;
  /** Network and memory limits of code; absent: those in the metadata of the request's container. */
  terms?: CodeTerms;
}

/** The caller, and what outlives the request. */
interface RunScope {
  signal: AbortSignal;
  /** Name of the soft ledger that it counts in. */
  account: string;
  /** The id of the run. */
  execution: string;
  /** Absent, or `null`: the run ends with the process. */
  durable?: Durable | null;
}

/** Receives the steps of a run while it is under way, to make an answer from them. Texts are redacted. */
export interface AgentListener {
  text(text: string): void;
  reasoning(text: string): void;
  /** A model call has its answer; its text and reasoning were sent before. */
  turn(turn: ModelTurn): void;
  /** Hull executes a call of the model. */
  call(call: ToolCallBlock): void;
  result(call: ToolCallBlock, result: AgentToolResult): void;
  /**
   * Receives pieces of text and reasoning with their rounds, and each restart of a round; absent: `text` and
   * `reasoning` receive them.
   */
  event?(event: RunEvent): Promise<void>;
}

export interface AgentRun {
  spec: AgentSpec;
  skills: ReferencedSkills;
  /** Whether the provider counts cached tokens separately from `input_tokens`. */
  excludesCached: boolean;
  protocol: Reached["protocol"];
  /** `null`: the run needs no container. */
  container: Container | null;
  /** See `GeneratedFrom.copies`. */
  copies: ReadonlyMap<string, string>;
  /** The tools of a skill work on files, and leave them anywhere in the work folder. */
  anywhere: boolean;
  /** Drives the run until the model has answered, or calls a tool of the client. @throws HullError */
  drive(listener: AgentListener): Promise<AgentOutcome>;
}

export interface AgentOutcome {
  run: RunState;
  /** Calls of the client's own tools. */
  calls: ToolCallBlock[];
  /** No rounds are left. */
  max_iterations_reached: boolean;
  /** The time for one answer is over: the client should send back what there is so far. */
  paused: boolean;
  /** The provider's container, if the provider ran skills of its own. */
  hosted: JsonObject | null;
  /** Those of all its records. */
  warnings: readonly Warning[];
  /** Those of its model calls. */
  call_warnings: readonly Warning[];
}

/** @throws HullError if the request cannot be run */
export async function openAgentRun(
  context: RunContext,
  ask: AgentAsk,
  { signal, account, execution, durable = null }: RunScope,
): Promise<AgentRun> {
  const { container: params, uploads, skills } = ask;
  const begun = durable?.log.state().run?.spec;
  const named = skillNamed(ask.model);
  const skill = await countedSkill(context, begun, named);
  const own = begun === undefined && skill !== null ? await servedSkill(context, skill) : null;
  const demo = named !== null;
  const host = ask.found?.host ?? (await llmHost(context, { signal, session: null, skill, account, demo }));
  const hosted = skills.native.length > 0;
  const wanted = hosted ? null : (params?.id ?? null);
  // The files of a run that outlives its process are its own.
  const opens = ask.opened === undefined && durable === null;
  const known = opens && wanted !== null ? await openContainer(context, wanted) : (ask.opened ?? null);
  const terms = ask.terms ?? codeTerms(known?.metadata ?? {});
  const make = async (): Promise<CheckedRun> => {
    const { request: given } = ask;
    const max_tokens = Math.min(given.max_tokens, own?.manifest.llm?.max_tokens ?? given.max_tokens);
    const target = own?.manifest.llm?.target;
    const reached = ask.found?.reached ?? (target === undefined ? null : host.reach(target));
    const unthinking = reached?.protocol === "anthropic" && lacksThinking(given);
    const capped = { ...ask, request: { ...given, max_tokens }, terms, unthinking };
    const made = await checkedOf(context, capped, host, `run_${execution.slice("ex_".length)}`);
    const limited = withTerms(made.spec, capped, context.settings.limits, own?.manifest ?? null);
    return { spec: withPassthrough(limited, ask), model: made.model };
  };
  // A resumed run keeps the specification with which it began.
  const { spec, model } = begun === undefined ? await make() : { spec: begun, model: undefined };
  const needed = spec.tools.some(({ executor }) => executor === "workspace") || uploads.length > 0;
  const files = uploads.map(({ file_id }) => file_id);
  if (known !== null) for (const id of files) await putUpload(context, known, id);
  const container = known ?? (needed && opens ? await makeContainer(context, files) : null);
  context.log.execution_id = execution;
  context.log.run_id = spec.run_id;
  context.log.model = `${spec.model.provider}/${spec.model.model}`;
  if (container !== null) context.log.session_id = container.id;
  const { protocol } = ask.found?.reached ?? host.reach(spec.model);
  return {
    spec,
    skills,
    excludesCached: protocol === "anthropic",
    protocol,
    container,
    copies: copiesOf(skills.local.map(({ record: { manifest, files } }) => ({ name: manifest.slug, files }))),
    anywhere: worksOnFiles(spec),
    async drive(listener) {
      const clients = new Set(ask.request.tools.map(({ name }) => name));
      const release = await runSlot(context, skill, begun, execution);
      /** The provider's own container, from its last turn. */
      const last: Pick<AgentOutcome, "hosted"> = { hosted: null };
      const warnings: Warning[] = [];
      const call_warnings: Warning[] = [];
      const log = durable?.log ?? new MemoryLog(null);
      try {
        const { run } = await driveStateless(context, spec, {
          host,
          signal,
          execution,
          log,
          durable,
          model,
          // Results of provider tools appear between the texts of a turn, so such a turn is sent whole.
          streams: hosted ? "nothing" : "text and reasoning",
          emit: (event) => pass(event, listener),
          hear: (applied) => {
            const { record } = applied;
            if (record.type === "model_call_settled") {
              last.hosted = record.turn.container ?? last.hosted;
              call_warnings.push(...record.warnings);
            }
            warnings.push(...readingOf(applied).warnings);
            report(applied, listener, clients);
          },
          ...(container === null ? {} : { workspace: container.workspace }),
        });
        const open = run.calls.filter(({ call, stage }) => stage !== "settled" && clients.has(call.name));
        return {
          run,
          calls: open.map(({ call }) => call),
          max_iterations_reached: roundsUsedUp(run),
          paused: run.status === "budget_exhausted",
          warnings,
          call_warnings,
          ...last,
        };
      } catch (error) {
        throw error instanceof HullError ? llmError(error, context) : error;
      } finally {
        release();
      }
    },
  };
}

/** Whether a run has workspace tools other than those of code execution. */
const worksOnFiles = ({ tools }: AgentSpec): boolean =>
  tools.some(({ executor, handler }) => executor === "workspace" && !isContainerTool(handler));

/** Adds what a model of the client's own protocol gets unchanged, and the skills that its provider runs. */
function withPassthrough(
  spec: AgentSpec,
  { passthrough, container, hosted, skills: { native } }: AgentAsk,
): AgentSpec {
  if (native.length === 0) return { ...spec, beside: passthrough };
  const id = container?.id ?? null;
  const given = native.map(({ given }) => given);
  const { headers } = passthrough;
  const betas = headers["anthropic-version"] === undefined ? { "anthropic-beta": HOSTED_BETAS } : {};
  return {
    ...spec,
    beside: {
      protocol: "anthropic",
      body: {
        ...(passthrough.protocol === "anthropic" ? passthrough.body : {}),
        container: { ...(id === null ? {} : { id }), skills: given },
      },
      tools: hosted.length === 0 ? [HOSTED_TOOL] : [...hosted],
      headers: { ...betas, ...headers },
    },
  };
}

/** What Anthropic requires of a request with skills that names no code tool and no version of its API. */
const HOSTED_TOOL = { type: "code_execution_20250825", name: "code_execution" };
const HOSTED_BETAS = "code-execution-2025-08-25,skills-2025-10-02";

/** @param ask `unthinking`: the provider would refuse to think about this conversation */
async function checkedOf(
  context: RunContext,
  ask: AgentAsk & { unthinking: boolean },
  host: LlmHost,
  run: string,
): Promise<CheckedRun> {
  const { model, request, found } = ask;
  const { local, native } = ask.skills;
  const served = skillNamed(model);
  const whole = local.filter(({ reference }) => reference.full);
  const { thinking, schema, json, sampling = {}, tools, tool_choice, max_tokens } = request;
  const options: Record<string, unknown> = {
    ...(served === null ? { model } : { skill: served, tool_format: "native" }),
    ...sampling,
    max_tokens,
    messages: request.messages.flatMap(messageJson),
    skill_match: { strategy: "none" },
    ...(ask.unthinking ? { thinking: false } : thinking === undefined ? {} : { thinking }),
    ...(json
      ? { output_format: schema === undefined ? "json_object" : { kind: "json_schema", ...schema } }
      : {}),
    ...(tools.length === 0 ? {} : { tools: tools.map(({ strict: _, ...tool }) => tool) }),
    ...(tool_choice === "auto" || tool_choice === "none" ? { tool_choice } : {}),
    ...(request.parallel_tool_calls === false ? { parallel_tool_calls: false } : {}),
    ...(served === null ? { workspace_tools: false } : {}),
    ...(context.bot === null ? {} : { bot: context.bot }),
  };
  const given = asJson(options);
  const input = {
    prompt: null,
    system: null,
    options: given,
    publishes: false,
    named: local,
    answers: true,
    ...(found === null ? {} : { choice: found.choice }),
  } as const;
  const checked = await checkedRun(context, host, input, { run, session: null });
  const { spec } = checked;
  const clients = new Set(tools.map(({ name }) => name));
  const offered = [
    ...whole.map(skillTool),
    ...codeTools(context, native.length > 0 ? { ...ask, code: [] } : ask, whole),
  ];
  // The client's tools win over these, and these over the tools of skills.
  const own = offered.filter(({ definition }) => !clients.has(definition.name));
  const replaced = offered
    .filter((tool) => !own.includes(tool))
    .map(({ definition: { name } }) => {
      // It names no option: no member of the request is left out.
      const message = `Hull's tool ${name} has no effect: the request has a tool of this name.`;
      return { code: "option_ignored", message };
    });
  const names = new Set(own.map(({ definition }) => definition.name));
  const shell = ask.code.includes("shell");
  const hidden = new Set((shell ? local : whole).map(({ record }) => record.manifest.slug));
  const folder = skillsFolder(context, spec).path;
  const skills = spec.skills.map((skill) => {
    if (!hidden.has(skill.name)) return skill;
    // The model reads the skill through the shell, in its folder.
    const dir = shell ? { dir: `${folder}/${skillPath(skill)}` } : {};
    return { ...skill, ...dir, disable_model_invocation: true };
  });
  const shown = shell ? listed(skills.filter(({ name }) => hidden.has(name))) : injectedTexts(whole);
  const { system_blocks, system_listed, parallel_tool_calls } = request;
  const vendor = present({ system_blocks, system_listed, parallel_tool_calls });
  const system = [spec.system, request.system].filter((text) => text !== "").join("\n\n") + shown;
  const extended: AgentSpec = {
    ...spec,
    system: system.trim(),
    ...(Object.keys(vendor).length === 0 ? {} : { vendor }),
    skills,
    tools: [...spec.tools.filter(({ definition }) => !names.has(definition.name)), ...own],
    ...(replaced.length === 0 ? {} : { warnings: [...replaced, ...(spec.warnings ?? [])] }),
  };
  return { spec: extended, model: checked.model };
}

/**
 * The requested tools for code, and the tool that LiteLLM's clients know if a whole skill holds Python.
 * @throws InvalidRequest if this deployment runs no code
 */
function codeTools(
  { settings }: RunContext,
  { code, terms }: AgentAsk,
  whole: readonly LocalSkill[],
): AgentTool[] {
  const python = whole.some(({ record }) => record.files.some(({ path }) => path.endsWith(".py")));
  const names = [...code, ...(python ? [LITELLM_TOOL] : [])];
  if (settings.workspace_tools.enabled === "never") {
    if (code.length === 0) return [];
    throw wrong(
      "tools",
      'this deployment runs no code: its hull.toml says [workspace_tools] enabled = "never"',
    );
  }
  return names.map((name) => withRequiredApproval(settings, containerTool(name, terms)));
}

/** The list of skills for a model with a shell, which reads them itself. */
function listed(skills: readonly AgentSkill[]): string {
  if (skills.length === 0) return "";
  const lines = skills.map(
    ({ name, description, dir = "" }) => `- ${name}: ${description} (${dir}/SKILL.md)`,
  );
  return `\n\n# Skills\n\nRead a skill's SKILL.md with the shell before you do what it is for.\n\n${lines.join("\n")}`;
}

/**
 * A run whose last text is the answer, like that of a served skill.
 * @param own of the skill that is run, whose limits hold too
 */
function withTerms(
  spec: AgentSpec,
  { request, pauses }: AgentAsk,
  { answer_ms }: Settings["limits"],
  own: Manifest | null,
): AgentSpec {
  const { llm, deadline_ms = WHOLE_MS } = own ?? {};
  const { max_tool_output_bytes = MAX_TOOL_OUTPUT_BYTES } = llm ?? {};
  const max_tool_rounds = toolRounds(llm?.max_tool_rounds, own !== null && worksOnFiles(spec));
  const whole = Math.min(deadline_ms, WHOLE_MS);
  const run = pauses ? { ...spec, pause_at: Date.now() + answer_ms } : spec;
  const served = {
    max_tool_rounds,
    max_tool_output_bytes,
    json: request.json,
    max_tokens: request.max_tokens,
  };
  return withServedTerms(run, served, { at: Date.now() + whole, ms: whole });
}

async function pass(given: RunEvent, listener: AgentListener): Promise<void> {
  const { event, data } = given;
  if (listener.event !== undefined) return listener.event(given);
  if (event === "delta") listener.text(String(data.text ?? ""));
  if (event === "thought") listener.reasoning(String(data.text ?? ""));
}

/** Reports turns, calls and results as they are recorded. @param clients names of the client's own tools */
function report(applied: Applied, listener: AgentListener, clients: ReadonlySet<string>): void {
  const { record } = applied;
  if (record.type === "model_call_settled") listener.turn(record.turn);
  if (record.type === "turn_taken")
    for (const call of record.calls) if (!clients.has(call.name)) listener.call(call);
  const settled = record.type === "tool_searched" ? null : settledBy(applied);
  if (settled !== null && !clients.has(settled.call.name)) listener.result(settled.call, settled.result);
}
