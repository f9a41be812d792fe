/** `POST /v1/messages` for requests in which Hull runs tools: code in a container, and tools of skills. */

import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { ModelTurn, ToolCallBlock } from "../../engine/messages.ts";
import { isCodeTool } from "../../engine/workspace-tools/code-tools.ts";
import { EDITOR_TOOL } from "../../engine/workspace-tools/editor-tool.ts";
import { stopDetails, wireUsage } from "../../llm/anthropic-api/answer.ts";
import { callBlock, resultBlock } from "../../llm/anthropic-api/executed.ts";
import type { MessagesRequest } from "../../llm/anthropic-api/request.ts";
import { eachOnce } from "../../llm/result.ts";
import { namesSkill } from "../../llm/skill-model.ts";
import { anthropicStop } from "../../llm/stop-words.ts";
import { tokenCounts } from "../../model/usage.ts";
import type { GeneratedFile } from "../../run/container.ts";
import { ignoredHeader, leftOut, warningsHeader } from "../../run/end-headers.ts";
import { type NotStored, notStored } from "../../run/not-stored.ts";
import type { ReferencedSkills } from "../../run/v1-skills.ts";
import { type AgentListener, type AgentOutcome, type AgentRun, openAgentRun } from "../../run/vendor-run.ts";
import { LITELLM_TOOL } from "../../run/whole-skills.ts";
import { withSentDigits } from "../../skill/exact-json.ts";
import { asJson, isObject } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { accountOf } from "../llm/account.ts";
import { jsonNow } from "../page.ts";
import { formatted } from "../sse.ts";
import { withBytes } from "./agent-chat.ts";
import { dialectOf } from "./dialect.ts";
import { errorBody } from "./errors.ts";
import { MessageEvents } from "./message-events.ts";
import { ignoredChoice, ignoredStrict, type ModelLookup, modelOfRun, streamedAnswer } from "./model-call.ts";
import { shownSkills } from "./skill-references.ts";

/** Whether a request has tools that Hull runs. */
export function runsTools({ model, container, code, uploads }: MessagesRequest): boolean {
  return namesSkill(model) || container !== null || code.length > 0 || uploads.length > 0;
}

/** Answers such a request, whole or with events. */
export async function answerWithTools(
  context: RequestContext,
  asked: MessagesRequest,
  { id, skills, model }: { id: string; skills: ReferencedSkills; model: ModelLookup },
): Promise<Response> {
  const left = new AbortController();
  const signal = AbortSignal.any([context.request.signal, left.signal]);
  const run = await openAgentRun(
    context,
    { ...asked, found: await modelOfRun(asked.model, model), skills, pauses: true },
    { signal, account: accountOf(context, null), execution: id },
  );
  const lost = [...ignoredChoice(asked.request.tool_choice), ...ignoredStrict(asked.request.tools, null)];
  const ignored = run.excludesCached ? lost : [...asked.ignored, ...lost];
  if (!asked.stream) {
    const message = new WholeMessage();
    const { warnings, call_warnings } = await drive(context, run, asked, (event) => message.push(event));
    const lacks = ignoredHeader([...ignored, ...leftOut(call_warnings, "thinking")]);
    return jsonNow(message.message, 200, { ...lacks, ...warningsHeader(warnings) });
  }
  return streamedAnswer(context, {
    headers: { ...ignoredHeader(ignored), ...warningsHeader(run.spec.warnings ?? []) },
    async run(write, reading) {
      reading.addEventListener("abort", () => left.abort(), { once: true });
      await drive(context, run, asked, (event) => write(formatted(event)));
    },
    failed: (error) => formatted({ ...errorBody(error, context, dialectOf(context)) }),
  });
}

/** Drives the run, and sends the events of all its turns as the events of one message. */
async function drive(
  context: RequestContext,
  run: AgentRun,
  { container: params, uploads }: MessagesRequest,
  emit: (event: JsonObject) => void,
): Promise<AgentOutcome> {
  const events = new MessageEvents(run.spec.model.model, context, emit);
  const turns = new ShownTurns(context, run, events);
  const outcome = await run.drive(turns);
  await turns.reported;
  events.rest(outcome.calls);
  const { made } = turns;
  const legacy = dialectOf(context) === "anthropic_legacy";
  const isUsed = params !== null || uploads.length > 0 || turns.called;
  const shown = containerOf(run, outcome, { legacy, isUsed });
  const all =
    params?.includes_files === true ? { _litellm_generated_files: await withBytes(run.container, made) } : {};
  const stop =
    outcome.calls.length > 0 ? "tool_use" : anthropicStop({ stop_reason: outcome.stop, blocks: [] });
  const warnings = [...outcome.warnings, ...notStored(turns.lacking, turns.lackingMore)];
  const refused = stop === "refusal" ? stopDetails({ ...turns.last, stop_reason: stop }) : null;
  const further = asJson({
    stop_details: refused,
    ...(made.length === 0 ? {} : { generated_files: made }),
    ...all,
    ...(outcome.max_iterations_reached ? { max_iterations_reached: true } : {}),
    ...eachOnce(warnings),
  });
  events.end(stop, usageOf(run, outcome, turns.executions), shown, further);
  return { ...outcome, warnings };
}

/** Sends what happens in the run as events of the message, and collects what the end of the message tells. */
class ShownTurns implements AgentListener {
  readonly #context: RequestContext;
  readonly #run: AgentRun;
  readonly #events: MessageEvents;
  /** The number of running commands. Files that appear while they run are theirs, even if other calls end first. */
  #commands = 0;
  /**
   * Ends with the last event so far. They are sent in order: a result waits until the files of its call are found, and
   * later events wait for the result.
   */
  reported: Promise<void> = Promise.resolve();
  /** The files that calls made, those of them that could not be stored, and how many more there were. */
  readonly made: GeneratedFile[] = [];
  readonly lacking: NotStored[] = [];
  lackingMore = 0;
  /** Whether the model has called a tool of Hull's. */
  called = false;
  /** The number of commands that ended. */
  executions = 0;
  /** The last turn. */
  last: Pick<ModelTurn, "blocks" | "refusal"> = { blocks: [] };

  constructor(context: RequestContext, run: AgentRun, events: MessageEvents) {
    this.#context = context;
    this.#run = run;
    this.#events = events;
  }

  text(text: string): void {
    this.#then(() => this.#events.sink.onText?.(text));
  }

  reasoning(text: string): void {
    this.#then(() => this.#events.sink.onReasoning?.(text));
  }

  turn(turn: ModelTurn): void {
    this.last = turn;
    // Each call is sent on its own.
    this.#then(() => this.#events.rest(turn.blocks, { calls: false }));
  }

  call(call: ToolCallBlock): void {
    this.#then(() => {
      this.called = true;
      if (isCodeTool(call.name)) this.#commands += 1;
      this.#events.block(callBlock(call));
    });
  }

  result(call: ToolCallBlock, result: AgentToolResult): void {
    this.#then(async () => {
      if (isCodeTool(call.name)) {
        this.executions += 1;
        this.#commands -= 1;
      }
      const { files, missing, beyond } = await this.#filesOf(call);
      this.made.push(...files);
      this.lacking.push(...missing);
      this.lackingMore += Math.max(0, beyond);
      const notes = notStored(missing, beyond).map(({ message }) => `[hull: ${message}]`);
      const content = this.#context.settings.redactor.text([result.content, ...notes].join("\n"));
      const full = missing.some((file) => file.full);
      const lost = full ? { value: { error_code: "output_file_too_large" } } : {};
      const ids = files.map(({ file_id }) => file_id);
      this.#events.block(resultBlock(call, { ...result, content, ...lost }, ids));
    });
  }

  /**
   * The files that the result of a call names. The text editor's names none; the result of the next command names the
   * files that the editor made.
   */
  async #filesOf({ name }: ToolCallBlock) {
    const { container, anywhere, copies } = this.#run;
    const names = name !== EDITOR_TOOL && (isCodeTool(name) || this.#commands === 0);
    if (container === null || !names) return { files: [], missing: [], beyond: 0 };
    return container.generated({ anywhere: anywhere || name === LITELLM_TOOL, copies });
  }

  #then(report: () => void | Promise<void>): void {
    this.reported = this.reported.then(report);
    this.reported.catch(() => {});
  }
}

function usageOf({ excludesCached }: AgentRun, { run }: AgentOutcome, executions: number): JsonObject {
  const counts = { web_search_requests: 0, web_fetch_requests: 0, code_execution_requests: executions };
  return asJson({ ...wireUsage(tokenCounts(run.totals), excludesCached), server_tool_use: counts });
}

/**
 * The message's member `container`; `null`: none was used.
 * @param legacy names versions of stored skills as Anthropic's beta of skills does
 */
function containerOf(
  { container, skills: { local, native } }: AgentRun,
  { hosted }: AgentOutcome,
  { legacy, isUsed }: { legacy: boolean; isUsed: boolean },
): JsonObject | null {
  const skills = shownSkills({ local, native }, hosted, legacy);
  if (hosted !== null) return { ...hosted, skills };
  if (container === null || !isUsed) return null;
  const { id, expires_at } = container;
  return { id, expires_at, skills: skills.length === 0 ? null : skills };
}

/** Assembles a message from its events. */
class WholeMessage {
  message: JsonObject = {};
  readonly #content: JsonObject[] = [];
  #input = "";

  push(event: JsonObject): void {
    const { type, message, content_block, delta, usage } = event;
    const open = this.#content.at(-1);
    if (type === "message_start" && isObject(message)) this.message = { ...message, content: this.#content };
    else if (type === "content_block_start" && isObject(content_block)) {
      this.#content.push({ ...content_block });
      this.#input = "";
    } else if (type === "content_block_delta" && isObject(delta) && open !== undefined)
      this.#grow(open, delta);
    else if (type === "content_block_stop" && open !== undefined && this.#input !== "") {
      open.input = withSentDigits(parsedJson(this.#input) ?? {}, this.#input);
    } else if (type === "message_delta" && isObject(delta)) {
      this.message = { ...this.message, ...delta, ...(usage === undefined ? {} : { usage }) };
    }
  }

  #grow(open: JsonObject, delta: JsonObject): void {
    if (typeof delta.partial_json === "string") this.#input += delta.partial_json;
    for (const name of ["text", "thinking", "signature"]) {
      if (typeof delta[name] === "string") open[name] = String(open[name] ?? "") + delta[name];
    }
  }
}
