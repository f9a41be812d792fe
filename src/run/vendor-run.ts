/**
 * A request of a vendor's client whose tools Hull runs: a run of the engine that has the conversation's container as
 * its work folder.
 */
import type { Applied } from "../engine/agent/apply.ts";
import { settledBy } from "../engine/agent/entries.ts";
import { readingOf } from "../engine/agent/reader.ts";
import type { AgentToolResult } from "../engine/agent/records.ts";
import type { AgentSpec, AgentTool } from "../engine/agent/spec.ts";
import type { RunState } from "../engine/agent/state.ts";
import { roundsUsedUp } from "../engine/agent/status.ts";
import type { ModelTurn, ProviderPassthrough, ToolCallBlock, Warning } from "../engine/messages.ts";
import { termsOf } from "../engine/run-status.ts";
import type { StopReason } from "../engine/stop-reason.ts";
import {
  type CodeTerms,
  containerTool,
  copiesOf,
  isContainerTool,
} from "../engine/workspace-tools/code-tools.ts";
import { HullError } from "../errors.ts";
import type { LlmHost, Reached } from "../llm/host.ts";
import { wrong } from "../llm/members.ts";
import { messageJson } from "../llm/messages.ts";
import type { ChatRequest } from "../llm/openai-api/request.ts";
import { lacksThinking } from "../llm/openai-api/terms.ts";
import { skillNamed } from "../llm/skill-model.ts";
import { WHOLE_ANSWER_MS } from "../llm/vendor-limits.ts";
import { asJson, defined, present } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { type CheckedRun, checkedRun } from "./agent/options.ts";
import { MemoryLog } from "./agent/run-log.ts";
import type { NamedSkill } from "./agent/run-tools.ts";
import { countedSkill, runSlot, type SkillVersion, servedVersion } from "./agent/skills.ts";
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
  /** Why the last turn ended; `pause`: the run ended before the model had answered. */
  stop: StopReason;
  /** No rounds are left. */
  max_iterations_reached: boolean;
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
  const host =
    ask.found?.host ??
    (await llmHost(context, { signal, session: null, skill, account, demo: named !== null }));
  const hosted = skills.native.length > 0;
  const wanted = hosted ? null : (params?.id ?? null);
  // The files of a run that outlives its process are its own.
  const opens = ask.opened === undefined && durable === null;
  const known = opens && wanted !== null ? await openContainer(context, wanted) : (ask.opened ?? null);
  const terms = ask.terms ?? codeTerms(known?.metadata ?? {});
  const make = async (): Promise<CheckedRun> => {
    const own = named === null ? null : await servedVersion(context, named);
    const run = `run_${execution.slice("ex_".length)}`;
    return vendorRun(context, { ...ask, terms }, { host, own, run });
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
          stop: termsOf(run.status).resumable ? "pause" : (run.answered?.stop_reason ?? "end_turn"),
          max_iterations_reached: roundsUsedUp(run),
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

/** What a model of the client's own protocol gets unchanged, and the skills that its provider runs. */
function besideOf({ passthrough, container, hosted, skills: { native } }: AgentAsk): ProviderPassthrough {
  if (native.length === 0) return passthrough;
  const id = container?.id ?? null;
  const given = native.map(({ given }) => given);
  const { headers } = passthrough;
  const betas = headers["anthropic-version"] === undefined ? { "anthropic-beta": HOSTED_BETAS } : {};
  return {
    protocol: "anthropic",
    body: {
      ...(passthrough.protocol === "anthropic" ? passthrough.body : {}),
      container: { ...(id === null ? {} : { id }), skills: given },
    },
    tools: hosted.length === 0 ? [HOSTED_TOOL] : [...hosted],
    headers: { ...betas, ...headers },
  };
}

/** What Anthropic requires of a request with skills that names no code tool and no version of its API. */
const HOSTED_TOOL = { type: "code_execution_20250825", name: "code_execution" };
const HOSTED_BETAS = "code-execution-2025-08-25,skills-2025-10-02";

/** The run of the request, and its model. @param own the skill that the request names as its model */
function vendorRun(
  context: RunContext,
  ask: AgentAsk & { terms: CodeTerms },
  { host, own, run }: { host: LlmHost; own: SkillVersion | null; run: string },
): Promise<CheckedRun> {
  const { model, request, found } = ask;
  const { local, native } = ask.skills;
  const { llm } = own?.record.manifest ?? {};
  const reached = found?.reached ?? (llm === undefined ? null : host.reach(llm.target));
  // The provider would refuse to think about this conversation.
  const unthinking = reached?.protocol === "anthropic" && lacksThinking(request);
  const { thinking, schema, json, sampling = {}, tools, tool_choice, max_tokens } = request;
  const options: Record<string, unknown> = {
    ...(own === null ? { model, workspace_tools: false } : {}),
    ...sampling,
    max_tokens: Math.min(max_tokens, llm?.max_tokens ?? max_tokens),
    messages: request.messages.flatMap(messageJson),
    skill_match: { strategy: "none" },
    ...(unthinking ? { thinking: false } : thinking === undefined ? {} : { thinking }),
    ...(json
      ? { output_format: schema === undefined ? "json_object" : { kind: "json_schema", ...schema } }
      : {}),
    ...(tools.length === 0 ? {} : { tools: tools.map(({ strict: _, ...tool }) => tool) }),
    ...(tool_choice === "auto" || tool_choice === "none" ? { tool_choice } : {}),
    ...(request.parallel_tool_calls === false ? { parallel_tool_calls: false } : {}),
    ...(context.bot === null ? {} : { bot: context.bot }),
  };
  const whole = local.filter(({ reference }) => reference.full);
  const shell = ask.code.includes("shell");
  const { system_blocks, system_listed, parallel_tool_calls } = request;
  const vendor = present({ system_blocks, system_listed, parallel_tool_calls });
  const pause_at = ask.pauses ? Date.now() + context.settings.limits.answer_ms : undefined;
  const input = {
    ...(own === null ? {} : { own }),
    prompt: null,
    system: null,
    options: asJson<JsonObject>(options),
    publishes: false,
    named: local.map((skill) => ({ ...skill, ...hiddenIn(skill, shell) })),
    instructions: [request.system.trim(), shell ? "" : injectedTexts(whole)]
      .filter((text) => text !== "")
      .join("\n\n"),
    offered: [
      ...whole.map(skillTool),
      ...codeTools(context, native.length > 0 ? { ...ask, code: [] } : ask, whole),
    ],
    ...(Object.keys(vendor).length === 0 ? {} : { vendor }),
    beside: besideOf(ask),
    answers: true,
    // It leaves time for a last tool call after an answer's time.
    answer: { most_ms: WHOLE_ANSWER_MS, ...defined({ pause_at }) },
    ...(found === null ? {} : { choice: found.choice }),
  } as const;
  return checkedRun(context, host, input, { run, session: null });
}

/** How the model reads a skill that it does not load. */
function hiddenIn({ reference }: LocalSkill, shell: boolean): Pick<NamedSkill, "hidden"> {
  if (shell) return { hidden: "in its folder" };
  return reference.full ? { hidden: "in the system text" } : {};
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
