/** A request of a vendor's client whose tools Hull runs: a run of the engine with the conversation's container as its work folder. */
import type { Applied } from "../../engine/agent/apply.ts";
import { isAtLeast } from "../../engine/agent/policy.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { AgentSpec, AgentTool } from "../../engine/agent/spec.ts";
import type { RunState } from "../../engine/agent/state.ts";
import type { ModelRequest, ModelTurn, ToolCallBlock } from "../../engine/messages.ts";
import { type CodeTool, codeTool } from "../../engine/workspace-tools/code-tools.ts";
import { SkillNotFound } from "../../errors/request.ts";
import type { ContainerWish, SkillWish } from "../../llm/container-wish.ts";
import { messageJson } from "../../llm/messages.ts";
import { wrong } from "../../llm/wrong.ts";
import { agentSpec } from "../../run/agent/options.ts";
import { MemoryLog, type RunLog } from "../../run/agent/run-log.ts";
import { driveStateless } from "../../run/agent/stateless.ts";
import { type Container, openContainer, putUpload } from "../../run/container.ts";
import type { RunEvent } from "../../run/events.ts";
import { llmHost } from "../../run/llm-host.ts";
import { llmError } from "../../run/llm-problem.ts";
import { type NamedSkill, namedSkill } from "../../run/v1-skills.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { accountOf } from "../llm/account.ts";
import { SKILL_MODEL } from "./models.ts";

/** After so many rounds of tools the model is asked once more, and may call none. */
const MAX_TOOL_ROUNDS = 10;
const MAX_TOOL_OUTPUT_BYTES = 256 * 1024;
/** Of each model call, and of the whole, in ms. */
const CALL_MS = 120_000;
const WHOLE_MS = 600_000;

/** What such a request asks for. */
interface AgentAsk {
  model: string;
  request: ModelRequest;
  container: ContainerWish | null;
  code: CodeTool | null;
  uploads: readonly { file_id: string; path: string }[];
}

/** Whoever makes an answer of a run is told of it as it goes on; texts are redacted. */
export interface AgentListener {
  text(text: string): void;
  reasoning(text: string): void;
  /** A model call is answered; its text and reasoning were told before. */
  turn(turn: ModelTurn): void;
  /** Hull carries out a call of the model. */
  call(call: ToolCallBlock): void;
  result(call: ToolCallBlock, result: AgentToolResult): void;
}

export interface AgentRun {
  spec: AgentSpec;
  skills: NamedSkill[];
  /** Whether the provider counts cached tokens beside `input_tokens`. */
  beside: boolean;
  /** `null`: the run has no use for one. */
  container: Container | null;
  /** Drives it until the model has answered, or calls a tool of the client's. @throws HullError */
  drive(listener: AgentListener): Promise<AgentOutcome>;
}

export interface AgentOutcome {
  run: RunState;
  /** Calls of the client's own tools. */
  calls: ToolCallBlock[];
  /** The rounds were used up. */
  max_iterations_reached: boolean;
}

/** @throws HullError for what cannot be run as it was asked */
export async function openAgentRun(
  context: RequestContext,
  ask: AgentAsk,
  signal: AbortSignal,
): Promise<AgentRun> {
  const { container: wish, uploads } = ask;
  const account = accountOf(context, null);
  const host = await llmHost(context, { signal, session: null, skill: null, account });
  const skills = await Promise.all((wish?.skills ?? []).map((skill) => resolved(context, skill)));
  checkTwice(skills, wish?.skills ?? []);
  const id = `ex_${crypto.randomUUID().replaceAll("-", "")}`;
  const spec = withTerms(await specOf(context, ask, skills, host, `run_${id.slice(3)}`), ask);
  const needed =
    spec.tools.some(({ executor }) => executor === "workspace") ||
    uploads.length > 0 ||
    (wish !== null && wish.id !== null);
  const container = needed ? await openContainer(context, wish?.id ?? null) : null;
  if (container !== null) for (const { file_id } of uploads) await putUpload(context, container, file_id);
  context.log.execution_id = id;
  context.log.run_id = spec.run_id;
  context.log.model = `${spec.model.provider}/${spec.model.model}`;
  if (container !== null) context.log.session_id = container.id;
  return {
    spec,
    skills,
    beside: host.reach(spec.model).protocol === "anthropic",
    container,
    async drive(listener) {
      const clients = new Set(ask.request.tools.map(({ name }) => name));
      const log = new ListenedLog(listener, clients);
      try {
        const { run } = await driveStateless(context, spec, {
          host,
          signal,
          execution: id,
          log,
          durable: null,
          told: "text and reasoning",
          emit: async (event) => tell(event, listener),
          ...(container === null ? {} : { workspace: container.workspace }),
        });
        context.log.usage = { ...run.totals };
        context.log.rounds = run.iterations;
        const open = run.calls.filter(({ call, stage }) => stage !== "settled" && clients.has(call.name));
        const max_iterations_reached = run.iterations > MAX_TOOL_ROUNDS;
        return { run, calls: open.map(({ call }) => call), max_iterations_reached };
      } catch (error) {
        throw llmError(error, context);
      }
    },
  };
}

async function resolved(context: RequestContext, wish: SkillWish): Promise<NamedSkill> {
  if (wish.kind === "native") {
    throw wrong(
      wish.path,
      `${wish.id} is a skill of Anthropic; only a request with no other skills, for a model of Anthropic, can name it`,
    );
  }
  try {
    return await namedSkill(context, wish.id, wish.version);
  } catch (error) {
    if (error instanceof SkillNotFound && wish.version === null) {
      throw wrong(`${wish.path}.skill_id`, `there is no skill "${wish.id.slice(0, 64)}"`);
    }
    throw error;
  }
}

/** Two skills of one name would lie in one folder. @throws InvalidRequest */
function checkTwice(skills: readonly NamedSkill[], wishes: readonly SkillWish[]): void {
  for (const [n, { id, record }] of skills.entries()) {
    const other = skills.slice(0, n).find((known) => known.record.manifest.slug === record.manifest.slug);
    if (other === undefined) continue;
    const path = wishes[n]?.path ?? "container.skills";
    throw wrong(path, `${other.id} and ${id} have the same name, ${record.manifest.slug}`);
  }
}

async function specOf(
  context: RequestContext,
  ask: AgentAsk,
  skills: readonly NamedSkill[],
  host: Awaited<ReturnType<typeof llmHost>>,
  run: string,
): Promise<AgentSpec> {
  const { model, request, container } = ask;
  const served = model.startsWith(SKILL_MODEL) ? model.slice(SKILL_MODEL.length) : null;
  const whole = skills.filter((_, n) => container?.skills[n]?.full === true);
  const { thinking, schema, json, sampling = {}, tools, max_tokens } = request;
  const options: Record<string, unknown> = {
    ...(served === null ? { model } : { skill: served }),
    ...sampling,
    max_tokens,
    messages: request.messages.flatMap(messageJson),
    skill_match: { strategy: "none" },
    ...(thinking === undefined ? {} : { thinking }),
    ...(json
      ? { output_format: schema === undefined ? "json_object" : { kind: "json_schema", ...schema } }
      : {}),
    ...(tools.length === 0 ? {} : { tools }),
    ...(served === null ? { workspace_tools: false } : {}),
  };
  const given: JsonObject = JSON.parse(JSON.stringify(options));
  const input = {
    prompt: null,
    system: null,
    options: given,
    publishes: false,
    named: skills,
    answers: true,
  } as const;
  const spec = await agentSpec(context, host, input, { run, session: null });
  const own = [...whole.map(skillTool), ...codeTools(context, ask, whole)];
  const system = [spec.system, request.system].filter((text) => text !== "").join("\n\n") + injected(whole);
  const hidden = new Set(whole.map(({ record }) => record.manifest.slug));
  return {
    ...spec,
    system: system.trim(),
    skills: spec.skills.map((skill) =>
      hidden.has(skill.name) ? { ...skill, disable_model_invocation: true } : skill,
    ),
    tools: [...spec.tools, ...own],
  };
}

/**
 * The tool that was asked for; and the one that LiteLLM's clients know where a whole skill holds Python, unless the client has one.
 * @throws InvalidRequest where this deployment runs no code
 */
function codeTools(
  { settings }: RequestContext,
  { code, request }: AgentAsk,
  whole: readonly NamedSkill[],
): AgentTool[] {
  const python = whole.some(({ record }) => record.files.some(({ path }) => path.endsWith(".py")));
  const taken = request.tools.some(({ name }) => name === LITELLM_TOOL);
  const names = [...(code === null ? [] : [code]), ...(python && !taken ? [LITELLM_TOOL] : [])];
  if (settings.workspace_tools.enabled === "never") {
    if (code === null) return [];
    throw wrong("tools", "this deployment runs no code: its hull.toml turns workspace tools off");
  }
  const { require_risk = "none" } = settings.approvals;
  return names.map(codeTool).map((tool) => {
    return isAtLeast(tool.risk, require_risk) ? { ...tool, needs_approval: true } : tool;
  });
}

const LITELLM_TOOL = "litellm_code_execution" as const;
/** Characters of a tool's description. */
const MAX_DESCRIPTION = 1024;

/** A whole skill is a tool as well, whose answer is its text: LiteLLM's clients expect one. */
function skillTool({ id, record: { manifest, body } }: NamedSkill): AgentTool {
  const text = body.replace(/^\s*# .*\n+/, "").trim() || manifest.description || manifest.name;
  const short = text.length > MAX_DESCRIPTION ? `${text.slice(0, MAX_DESCRIPTION - 3)}...` : text;
  return {
    definition: {
      name: id.replaceAll(/[- ]/g, "_"),
      description: short,
      parameters: { type: "object", properties: {}, required: [] },
    },
    executor: "builtin",
    annotations: { kind: "read", side_effect_level: "read_only", idempotent: true },
    risk: "safe",
    handler: { text: body.trim() },
    skill: null,
  };
}

/** Whole texts of skills, in the form in which LiteLLM's clients know them. */
function injected(skills: readonly NamedSkill[]): string {
  if (skills.length === 0) return "";
  const texts = skills.map(
    ({ record: { manifest, body } }) => `## Skill: ${manifest.name}\n\n${body.trim()}`,
  );
  return `\n\n---\n\n# Available Skills\n\n${texts.join("\n\n---\n\n")}`;
}

/** A run whose last text is the answer, as one of a served skill. */
function withTerms(spec: AgentSpec, { request }: AgentAsk): AgentSpec {
  return {
    ...spec,
    max_iterations: MAX_TOOL_ROUNDS + 1,
    loop_detect: { ...spec.loop_detect, warn: 0 },
    compaction: { ...spec.compaction, auto: false, tool_output_max_chars: Number.MAX_SAFE_INTEGER },
    deadline: { at: Date.now() + WHOLE_MS, ms: WHOLE_MS },
    served: {
      max_tool_rounds: MAX_TOOL_ROUNDS,
      max_tool_output_bytes: MAX_TOOL_OUTPUT_BYTES,
      json: request.json,
      max_tokens: request.max_tokens,
      timeout_ms: CALL_MS,
      idle_timeout_ms: CALL_MS,
    },
  };
}

function tell({ event, data }: RunEvent, listener: AgentListener): void {
  if (event === "delta") listener.text(String(data.text ?? ""));
  if (event === "thought") listener.reasoning(String(data.text ?? ""));
}

/** Keeps the records in memory, and tells of turns, calls and results. */
class ListenedLog implements RunLog {
  readonly #log = new MemoryLog(null);
  readonly #listener: AgentListener;
  /** Names of the client's own tools. */
  readonly #clients: ReadonlySet<string>;

  constructor(listener: AgentListener, clients: ReadonlySet<string>) {
    this.#listener = listener;
    this.#clients = clients;
  }

  state = (): ReturnType<RunLog["state"]> => this.#log.state();
  records = (): ReturnType<MemoryLog["records"]> => this.#log.records();
  begin: RunLog["begin"] = (records) => this.#log.begin(records);

  append(batch: readonly Applied[]): void {
    this.#log.append(batch);
    for (const { record, before } of batch) {
      if (record.type === "model_call_settled") this.#listener.turn(record.turn);
      if (record.type === "turn_taken") {
        for (const call of record.calls) if (!this.#clients.has(call.name)) this.#listener.call(call);
      }
      if (!("result" in record) || !("effect" in record) || record.type === "tool_executed") continue;
      if (record.type === "hook_settled" || record.type === "tool_searched") continue;
      const open = before.run?.calls.find(({ effect }) => effect === record.effect);
      if (open !== undefined && !this.#clients.has(open.call.name)) {
        this.#listener.result(open.call, record.result);
      }
    }
  }
}
