/** `POST /v1/chat/completions` for requests in which Hull runs tools: code in a container, and tools of skills. */

import { toBase64 } from "../../bytes.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { Block, Message, ToolCallBlock } from "../../engine/messages.ts";
import { addResults } from "../../llm/messages.ts";
import { completionOf } from "../../llm/openai-api/answer.ts";
import type { ChatRequest } from "../../llm/openai-api/request.ts";
import { eachOnce } from "../../llm/result.ts";
import { namesSkill } from "../../llm/skill-model.ts";
import { MOST_INCLUDED_BYTES } from "../../llm/vendor-limits.ts";
import { tokenCounts } from "../../model/usage.ts";
import { type Container, type GeneratedFile, makeContainer } from "../../run/container.ts";
import { ignoredHeader, leftOut, warningsHeader } from "../../run/end-headers.ts";
import { notStored } from "../../run/not-stored.ts";
import { type AgentListener, type AgentOutcome, type AgentRun, openAgentRun } from "../../run/vendor-run.ts";
import type { RequestContext } from "../context.ts";
import { accountOf } from "../llm/account.ts";
import { jsonNow } from "../page.ts";
import { chunkedAnswer } from "./chat-chunks.ts";
import { storeTurns } from "./container-turns.ts";
import { ignoredChoice, ignoredStrict, type ModelLookup, modelOfRun } from "./model-call.ts";
import { referencedSkills, shownSkills } from "./skill-references.ts";

/** Whether a request has tools that Hull runs. */
export const runsChatTools = ({ model, container, code }: ChatRequest): boolean =>
  namesSkill(model) || container !== null || code.length > 0;

/** Answers such a request, whole or with events. */
export async function answerChatWithTools(
  context: RequestContext,
  asked: ChatRequest,
  { id, model }: { id: string; model: ModelLookup },
): Promise<Response> {
  const left = new AbortController();
  const signal = AbortSignal.any([context.request.signal, left.signal]);
  const skills = await referencedSkills(context, asked, model);
  const run = await openAgentRun(
    context,
    {
      ...asked,
      found: await modelOfRun(asked.model, model),
      uploads: [],
      hosted: [],
      pauses: false,
      skills,
    },
    { signal, account: accountOf(context, null), execution: id },
  );
  const chosen = ignoredChoice(asked.request.tool_choice);
  const own = run.protocol === "openai-chat" ? [] : Object.keys(asked.extra);
  const ignored = [...own, ...asked.unsupported, ...chosen, ...ignoredStrict(asked.request.tools, null)];
  if (!asked.stream) {
    const silent = { text: () => {}, reasoning: () => {}, call: () => {} };
    const { turn, further, warnings, call_warnings } = await drive(context, run, asked, silent);
    const whole = { ...completionOf(turn, run.excludesCached, Date.now()), ...further };
    const lost = ignoredHeader([...ignored, ...leftOut(call_warnings, "reasoning_effort")]);
    return jsonNow(context.redacted(whole), 200, { ...lost, ...warningsHeader(warnings) });
  }
  const headers = { ...ignoredHeader(ignored), ...warningsHeader(run.spec.warnings ?? []) };
  const about = { model: run.spec.model.model, usage: asked.reports_usage, headers };
  return chunkedAnswer(context, about, async (chunks, reading, write) => {
    reading.addEventListener("abort", () => left.abort(), { once: true });
    const text = (piece: string): void => chunks.sink.onText?.(piece);
    const reasoning = (piece: string): void => chunks.sink.onReasoning?.(piece);
    // A comment, which clients skip. It keeps the stream alive while a tool runs.
    const call = ({ name }: ToolCallBlock): void => write(`: ${name.replace(/[^\w-]/g, "_")}\n\n`);
    const { turn, further } = await drive(context, run, asked, { text, reasoning, call });
    chunks.finish(turn, { excludesCached: run.excludesCached, further });
  });
}

/** Drives the run. Returns all its turns as one, the additional members of the answer, and the run's warnings. */
async function drive(
  context: RequestContext,
  opened: AgentRun,
  { container: params, request: { json } }: ChatRequest,
  deltas: Pick<AgentListener, "text" | "reasoning" | "call">,
) {
  const ran = new RanTurns();
  let held = "";
  const listener: AgentListener = {
    ...deltas,
    // Of a JSON answer only the text after the last call is sent: remarks before it would make it unreadable.
    text: (piece) => {
      if (json) held += piece;
      else deltas.text(piece);
    },
    turn: ({ blocks }) => {
      ran.turn(blocks);
      if (held !== "" && !blocks.some(({ type }) => type === "tool_call")) deltas.text(held);
      held = "";
    },
    result: (call, result) => ran.result(call, result),
  };
  const outcome = await opened.drive(listener);
  const kept = outcome.calls.length > 0 && ran.any;
  const container = opened.container ?? (kept ? await makeContainer(context, []) : null);
  const run = { ...opened, container };
  const named = kept && container !== null ? await storeTurns(context, container, ran.messages) : undefined;
  const { copies } = run;
  const made = await run.container?.generated({ anywhere: true, copies });
  const { files, missing, beyond } = made ?? { files: [], missing: [], beyond: 0 };
  const warnings = [...outcome.warnings, ...notStored(missing, beyond)];
  const included =
    params?.includes_files === true
      ? { _litellm_generated_files: await withBytes(run.container, files) }
      : {};
  const reached = outcome.max_iterations_reached ? { max_iterations_reached: true } : {};
  context.log.generated_files = files.length;
  return {
    turn: turnOf(run, outcome, { json, named, rest: outcome.hosted === null ? ran.rest : [] }),
    further: {
      ...containerOf(run, outcome),
      generated_files: files,
      ...included,
      ...reached,
      ...eachOnce(warnings),
    },
    warnings,
    call_warnings: outcome.call_warnings,
  };
}

/**
 * @param json whether the answer is JSON; it then consists of the last text only
 * @param named returns the client's ids for the run's calls. Absent: the model's own ids
 * @param rest blocks of the answer other than text and calls
 */
function turnOf(
  { spec }: AgentRun,
  { run, calls, stop }: AgentOutcome,
  {
    json,
    named = (id) => id,
    rest,
  }: { json: boolean; named: ((id: string) => string) | undefined; rest: Block[] },
) {
  const last = calls.length > 0 ? "" : (run.texts.at(-1) ?? "");
  const text: Block = { type: "output_text", text: json ? last : run.texts.join("") };
  return {
    blocks: [...rest, text, ...calls.map((call) => ({ ...call, id: named(call.id) }))],
    stop_reason: stop,
    raw_stop_reason: null,
    usage: tokenCounts(run.totals),
    provider: spec.model.provider,
    model: run.answered?.model ?? spec.model.model,
  };
}

function containerOf({ container, skills }: AgentRun, { hosted }: AgentOutcome): object {
  const used = shownSkills(skills, hosted, false);
  if (hosted !== null) return { container: { ...hosted, skills: used } };
  if (container === null) return {};
  const { id, expires_at } = container;
  return { container: { id, expires_at, skills: used } };
}

/** The turns of a run, and the results of the tools that Hull ran, as messages. */
class RanTurns {
  readonly messages: Message[] = [];
  /** Whether Hull ran a tool. */
  any = false;
  /** What the model thought, and of the last turn also what its provider wants back, or why the model refused. */
  rest: Block[] = [];

  turn(content: Block[]): void {
    this.messages.push({ role: "assistant", content });
    const thoughts = this.rest.flatMap((block) =>
      block.type === "reasoning" || block.type === "reasoning_summary"
        ? [{ type: block.type, text: block.text }]
        : [],
    );
    const last = content.filter(({ type }) => type !== "output_text" && type !== "tool_call");
    this.rest = [...thoughts, ...last];
  }

  result({ id: call_id, name }: ToolCallBlock, { status, content }: AgentToolResult): void {
    this.any = true;
    addResults(this.messages, [{ call_id, name, content, is_error: status !== "ok" }]);
  }
}

/** Files in the form that LiteLLM's clients know. A file that is too large or unreadable comes without its bytes. */
export async function withBytes(
  container: Pick<Container, "read"> | null,
  files: readonly GeneratedFile[],
): Promise<object[]> {
  let left = MOST_INCLUDED_BYTES;
  const shown: object[] = [];
  for (const file of files) {
    const { filename: name, mime_type, size_bytes: size, file_id } = file;
    const fits = container !== null && size <= left;
    if (fits) left -= size;
    const bytes = fits ? await container.read(file) : null;
    shown.push({ name, mime_type, content_base64: bytes === null ? null : toBase64(bytes), size, file_id });
  }
  return shown;
}
