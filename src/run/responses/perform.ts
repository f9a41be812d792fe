/** Makes a response, in a request or in the object that outlives it: one model call, or a run of the engine. */

import { wellFormedJson } from "../../bytes.ts";
import type { Block, ModelRequest, Usage, Warning } from "../../engine/messages.ts";
import { type StopReason, stopWords } from "../../engine/stop-reason.ts";
import { type CodeTerms, shellCommands } from "../../engine/workspace-tools/code-tools.ts";
import { stderrOf } from "../../engine/workspace-tools/command-result.ts";
import { HullError } from "../../errors.ts";
import type { ModelChoice, Reached } from "../../llm/host.ts";
import { completionUsage } from "../../llm/openai-api/answer.ts";
import { clientTools } from "../../llm/openai-api/client-tools.ts";
import { furtherMembers, responseRequest } from "../../llm/openai-api/response-request.ts";
import { withoutRefusedThinking } from "../../llm/openai-api/terms.ts";
import { eachOnce } from "../../llm/result.ts";
import { namesSkill } from "../../llm/skill-model.ts";
import { MOST_FILES } from "../../llm/vendor-limits.ts";
import { tokenCounts } from "../../model/usage.ts";
import { appendItems } from "../../registry/conversations/rows.ts";
import { asJson, fromJson, isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { AnswerStream } from "../answer-stream.ts";
import { type Container, containerFileId, filesForUser, openContainer } from "../container.ts";
import type { RunContext } from "../context.ts";
import { ignoredHeader, leftOut, warningsHeader } from "../end-headers.ts";
import type { RunEvent } from "../events.ts";
import type { OperationHandle, RunOutput } from "../handle.ts";
import { finalFault, llmError } from "../llm-problem.ts";
import { notStored } from "../not-stored.ts";
import type { LocalSkill } from "../v1-skills.ts";
import { type VendorModel, vendorModel, vendorTurn, withExtra } from "../vendor-model.ts";
import { type AgentListener, openAgentRun } from "../vendor-run.ts";
import { ResponseEvents, type ResponsePlace } from "./events.ts";
import { inlined } from "./inlined.ts";
import { partEvent, type ResponsePart } from "./response-part.ts";

/** The container in which a response runs code and its skill's tools work on files. */
export interface ResponseContainer {
  id: string;
  skills: { id: string; version: string; digest: string }[];
  terms: CodeTerms;
  /** Whether the model has a shell in it. Absent: it has. */
  shell?: boolean;
  /** Whether the files of the whole work folder are for the user. Absent: only those of the output folder. */
  anywhere?: boolean;
  /** Digests of the files for the user that it held, by path. */
  before: Record<string, string>;
}

/** Whether the model has a shell that Hull runs. */
export const hasShell = (container: ResponseContainer | null): container is ResponseContainer =>
  container !== null && container.shell !== false;

/** A checked request for a response. */
export interface ResponsesOperation {
  operation: "responses";
  /** The request without its input. */
  body: JsonObject;
  /** The model, as the route chose it. Absent: the request names a skill, or an earlier version of Hull stored it. */
  choice?: ModelChoice;
  /** The response as it begins. */
  head: JsonObject;
  /** The request is neither streamed nor in the background, so nobody receives the answer before its end. */
  silent?: boolean;
  /** Items of the conversation before it, and its own input. */
  history: JsonObject[];
  input: JsonObject[];
  /** The conversation to which its items are added when it has ended; `null`: none. */
  conversation: string | null;
  container: ResponseContainer | null;
  local_shell: boolean;
}

/** How a response ended. */
interface Ended {
  stop: StopReason;
  usage: Usage;
  /** Whether the provider counts cached tokens separately from `input_tokens`. */
  excludesCached: boolean;
  model: string;
  /** Whether the rounds of tools are used up. Absent: they are not. */
  max_iterations_reached?: boolean;
  /** Absent: none, or an earlier version of Hull stored how it ended. */
  warnings?: readonly Warning[];
  /** Those of its model calls. */
  call_warnings?: readonly Warning[];
}

/** Where the response's commands run, and the client's tools, which its items show. */
export const placeOf = ({
  container,
  local_shell,
  body,
  history,
  input,
}: ResponsesOperation): ResponsePlace => ({
  container: container?.id ?? null,
  local_shell,
  tools: clientTools(body.tools, [...history, ...input], (n) => `input.${n}`),
});

/**
 * @param found the model, if the route looked it up; `null`: it did not, or the request names a skill
 * @throws HullError, failures of providers by their category
 */
export async function runResponse(
  handle: OperationHandle,
  request: ResponsesOperation & { account: string },
  found: VendorModel | null = null,
): Promise<RunOutput> {
  const { context, durable } = handle;
  const { settings } = context;
  const sent: RunEvent[] = durable?.sentEvents() ?? [];
  const faults: unknown[] = [];
  const emit = async (event: RunEvent): Promise<void> => {
    try {
      // A failure before the first event is the failure of the request.
      handle.started();
      if (durable === null) sent.push(event);
      await handle.emit(event);
    } catch (error) {
      // Nobody awaits this call: the failure is thrown at the end of the run.
      faults.push(error);
    }
  };
  let made = 0;
  const known = sent.filter(({ event }) => event === "response_part").length;
  const part = (shown: ResponsePart): void => {
    made += 1;
    if (made > known) void emit(context.redacted(partEvent(shown)));
  };
  const items = await inlined(context, request);
  const canonical = responseRequest(request.body, items);
  const report = { emit, part };
  const model = String(request.body.model);
  const runs = request.container !== null || namesSkill(model);
  const ended = runs
    ? await runTools(handle, request, canonical, { found, ...report })
    : await callModel(handle, request, canonical, { found, ...report }).catch((error: unknown) => {
        throw error instanceof HullError ? llmError(error, context) : error;
      });
  if (faults.length > 0) throw faults[0];
  const events = new ResponseEvents(request.head, placeOf(request));
  events.begin();
  for (const event of durable?.sentEvents() ?? sent) events.push(event);
  const reason = incompleteReason(ended, events.output());
  events.close(reason === null ? "completed" : "incomplete");
  const output = events.output();
  const response = settings.redactor.json(endedResponse(request.head, { output, reason }, ended));
  if (request.conversation !== null)
    await appendItems(context, request.conversation, [...request.input, ...output]);
  return {
    body: wellFormedJson(response),
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      ...ignoredHeader(leftOut(ended.call_warnings ?? [], "reasoning")),
      ...warningsHeader(ended.warnings ?? []),
    },
    done: { response },
  };
}

interface Report {
  found: VendorModel | null;
  emit: (event: RunEvent) => Promise<void>;
  part: (part: ResponsePart) => void;
}

/** Makes one model call, whose turn is the response. */
async function callModel(
  { context, signal, durable, streaming: followed }: OperationHandle,
  { account, body, choice, silent = false }: ResponsesOperation & { account: string },
  request: ModelRequest,
  { found, emit, part }: Report,
): Promise<Ended> {
  const terms = { signal, account, single: true, choice };
  const model = found ?? (await vendorModel(context, String(body.model), terms));
  // An earlier attempt of the operation wrote this, below.
  const earlier = fromJson<{ blocks: Block[]; ended: Ended } | null>(durable?.memo ?? null);
  if (earlier !== null) {
    part({ turn: earlier.blocks });
    return earlier.ended;
  }
  const answer = new AnswerStream(context, emit);
  // What nobody has received can be asked for again.
  const streaming = followed && !silent;
  const extra = takesFurther(model.reached.protocol) ? furtherMembers(body) : {};
  const call = {
    request: withoutRefusedThinking(withExtra(request, extra), model.reached),
    signal,
    stream: streaming,
    sink: streaming ? answer.watcher : {},
    // A request that ends with its client repeats a plain call.
    beforeAttempt: durable === null ? undefined : () => context.beforeEffects(),
  };
  const { turn, figures } = await answer.during(1, () => vendorTurn(model, call).catch(finalFault(signal)));
  context.log.usage = figures;
  const { excludesCached } = model;
  const warnings = [...model.choice.warnings, ...(turn.warnings ?? [])];
  const { stop_reason: stop, usage, warnings: call_warnings = [], model: answered } = turn;
  const ended = { stop, usage, excludesCached, model: answered, warnings, call_warnings };
  durable?.remember(asJson({ blocks: turn.blocks, ended }));
  part({ turn: turn.blocks });
  return ended;
}

/** Whether a target gets the members without a canonical form: only if it has the same protocol. */
export const takesFurther = (protocol: Reached["protocol"]): boolean => protocol === "openai-responses";

/** Drives a run whose tools Hull executes. */
async function runTools(
  handle: OperationHandle,
  { account, body, container, choice }: ResponsesOperation & { account: string },
  request: ModelRequest,
  { found: known, emit, part }: Report,
): Promise<Ended> {
  const { context, signal, durable, id } = handle;
  const terms = { signal, account, single: false, choice };
  const model = String(body.model);
  const found = known ?? (choice === undefined ? null : await vendorModel(context, model, terms));
  const opened = container === null ? null : await openContainer(context, container.id);
  const shell = hasShell(container);
  const skills = { local: shell ? await skillsOf(context, container) : [], native: [] };
  const run = await openAgentRun(
    context,
    {
      model,
      found,
      request,
      container: null,
      code: shell ? ["shell"] : [],
      uploads: [],
      passthrough: { protocol: "openai-chat", body: {}, tools: [], headers: {} },
      hosted: [],
      pauses: false,
      skills,
      ...(opened === null || container === null ? {} : { opened, terms: container.terms }),
    },
    { signal, account, execution: id, durable },
  );
  const listener: AgentListener = {
    text: () => {},
    reasoning: () => {},
    event: async (event) => {
      if (event.event === "delta" || event.event === "thought" || event.event === "round") await emit(event);
    },
    turn: ({ blocks }) => part({ turn: blocks.filter(({ type }) => type !== "tool_call") }),
    call: (call) => part({ call }),
    result: ({ id: call, name, arguments: args }, { content, value, exit_code, error_category, status }) => {
      const commands = shellCommands(args ?? {}).length;
      const stderr = stderrOf(value);
      const ended = { content, ...(stderr === "" ? {} : { stderr }), exit_code, error_category, status };
      part({ result: { id: call, name, commands, ...ended } });
    },
  };
  const {
    run: state,
    calls,
    stop,
    max_iterations_reached,
    warnings,
    call_warnings,
  } = await run.drive(listener);
  const left = opened === null || container === null ? [] : await newFiles(opened, container);
  const files = left.slice(0, MOST_FILES);
  if (files.length > 0) part({ files });
  if (calls.length > 0) part({ turn: calls });
  return {
    stop: calls.length > 0 ? "tool_use" : stop,
    usage: tokenCounts(state.totals),
    excludesCached: run.excludesCached,
    model: run.spec.model.model,
    max_iterations_reached,
    warnings: [...warnings, ...notStored([], left.length - MOST_FILES)],
    call_warnings,
  };
}

function skillsOf(context: RunContext, { skills }: ResponseContainer): Promise<LocalSkill[]> {
  const { tenant, deployment } = context;
  return Promise.all(
    skills.map(async ({ id, version, digest }) => {
      // Whoever creates a session can make it look like a container with skills.
      const record = await deployment.registry.skillOf(tenant, digest);
      const named = { id, version, digest, record, epoch: null, label: record.manifest.name };
      return { ...named, reference: { path: "tools", full: false } };
    }),
  );
}

/** Files for the user that are new or changed since the response began. */
async function newFiles(opened: Container, { before, anywhere = false }: ResponseContainer) {
  const files = Object.entries(await filesForUser(opened, { anywhere }));
  const made = files.filter(([path, sha256]) => before[path] !== sha256);
  return made.map(([path]) => ({
    container_id: opened.id,
    file_id: containerFileId(path),
    filename: path.slice(path.lastIndexOf("/") + 1),
  }));
}

/** Why the answer is incomplete; `null`: it is complete. A refusal text is a complete answer. */
function incompleteReason(
  { stop }: Ended,
  output: readonly JsonObject[],
): "max_output_tokens" | "content_filter" | null {
  if (stop === "refusal" && output.some(isRefusal)) return null;
  return stopWords(stop).response ?? null;
}

const isRefusal = ({ content }: JsonObject): boolean =>
  Array.isArray(content) && content.some((part) => isObject(part) && part.type === "refusal");

function endedResponse(
  head: JsonObject,
  { output, reason }: { output: JsonObject[]; reason: ReturnType<typeof incompleteReason> },
  { usage, excludesCached, model, max_iterations_reached = false, warnings = [] }: Ended,
): JsonObject {
  const asked = String(head.model);
  return asJson({
    ...head,
    status: reason === null ? "completed" : "incomplete",
    completed_at: reason === null ? Math.floor(Date.now() / 1000) : null,
    incomplete_details: reason === null ? null : { reason },
    ...(max_iterations_reached ? { max_iterations_reached } : {}),
    model: namesSkill(asked) ? asked : model,
    output,
    usage: responseUsage(usage, excludesCached),
    ...eachOnce(warnings),
  });
}

/** @param excludesCached whether the provider counts cached tokens separately from `input_tokens` */
export function responseUsage(usage: Usage, excludesCached: boolean): JsonObject {
  const { prompt_tokens, completion_tokens, total_tokens } = completionUsage(usage, excludesCached);
  const { cache_read_tokens, cache_write_tokens } = usage;
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: cache_read_tokens, cache_write_tokens },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  };
}
