/**
 * One answer of a model, as `POST /llm/call` makes it: a run that ends with its first turn and keeps its records in
 * memory.
 */
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { AgentSpec, AgentTool } from "../../engine/agent/spec.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import type { Block, Message, ModelTurn, Warning } from "../../engine/messages.ts";
import { textOfBlocks } from "../../engine/messages.ts";
import { type SearchEvent, searchBlock } from "../../engine/tool-vault/events.ts";
import { definitionOf, type Tool } from "../../engine/tools.ts";
import { Internal } from "../../errors.ts";
import type { LlmHost } from "../../llm/host.ts";
import { readOptions } from "../../llm/options.ts";
import {
  type CallInput,
  checkConflicts,
  conversation,
  givenTools,
  nothingToAnswer,
  refused,
  tooManyTools,
} from "../../llm/prepare.ts";
import { added, type CallFigures, type CallTurn, NO_FIGURES, resultOf } from "../../llm/result.ts";
import { checkAnswer, checkSchemas } from "../../llm/structured.ts";
import type { CallOutcome } from "../../llm/structured-call.ts";
import { readTextTurn } from "../../llm/text-turn.ts";
import {
  emptyTranscript,
  extraEvent,
  type Transcript,
  withMessages,
  withTurn,
} from "../../llm/transcript.ts";
import { once } from "../../memo.ts";
import { defined } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import { ignoredInCall } from "./ignored-options.ts";
import { specModel, toolFormatOf } from "./options.ts";
import { MemoryLog, type RunLog } from "./run-log.ts";
import { chosenModel, type RunModel, withAnswering } from "./run-model.ts";
import { profileOf, specOf } from "./spec-of.ts";
import { driveStateless } from "./stateless.ts";
import { type RunVault, runVault } from "./vault.ts";

/** The most model calls when each answer only searches for tools. */
const MAX_SEARCH_ROUNDS = 5;

/** The warning for a call that ends without an answer because of this limit. */
const ONLY_SEARCHES: Warning = {
  code: "tool_search_rounds",
  option: "tool_search",
  message: `The model answered ${MAX_SEARCH_ROUNDS} times with nothing but searches or pauses, so the call has no further answer.`,
};

interface CallEnvironment {
  host: LlmHost;
  signal: AbortSignal;
  /** Called when a provider is about to be asked. Failures before that took no effect. */
  started?: () => void;
  /** Receives text and reasoning as they arrive. Absent: nobody wants them. */
  emit?: (event: RunEvent) => Promise<void>;
}

/**
 * Asks a model for one answer. Where JSON was asked for, asks again until the answer matches or no attempt is left.
 * @throws InputInvalid with a path per finding, InvalidRequest, CallNotFound, the errors of the model choice;
 *   SchemaValidation where `output_validation` is `error`; what the exchange throws
 */
export async function runLlmCall(
  context: RunContext,
  input: CallInput,
  { host, signal, started, emit }: CallEnvironment,
): Promise<CallOutcome> {
  const prepared = prepare(context, input, host);
  const log = new MemoryLog(null);
  const taken: CallFigures[] = [];
  await driveStateless(context, prepared.spec, {
    host,
    signal,
    execution: prepared.spec.run_id,
    log,
    durable: null,
    before: beforeOf(input),
    model: prepared.model,
    vault: prepared.vault,
    streams: emit === undefined ? "nothing" : "text and reasoning",
    admitted: started && once(started),
    took: (figures) => taken.push(figures),
    emit: emit ?? (async () => {}),
  });
  return outcomeOf(prepared, log, taken.reduce(added, NO_FIGURES), host);
}

/** What the session of the call knows about its models. */
const beforeOf = ({ refused_searches: models = [] }: CallInput): AgentRecord[] =>
  models.length === 0 ? [] : [{ v: 1, at: 0, type: "searches_refused", models }];

interface Prepared {
  spec: AgentSpec;
  model: RunModel;
  vault: RunVault | null;
  /** As the caller defined them. */
  tools: readonly Tool[];
  /** Includes the messages of this call. */
  transcript: Transcript;
  warnings: Warning[];
}

function prepare(context: RunContext, input: CallInput, host: LlmHost): Prepared {
  const read = readOptions(input.options, (name) => host.definition(name) !== undefined);
  if ("faults" in read) throw refused(read.faults);
  const { options, own } = read;
  checkConflicts(options);
  const choice = host.choose(options);
  const chosen = chosenModel(read, choice, host);
  checkSchemas(chosen.structured);
  const { system, history, added: said } = conversation(input, options);
  if (history.length + said.length === 0) throw nothingToAnswer();
  const tools = givenTools(options);
  const tool_format = tools.length === 0 ? "native" : toolFormatOf(options, choice, own);
  const { tool_search, tool_examples, tool_choice, prefill } = options;
  const spec: AgentSpec = {
    ...specOf(
      { max_iterations: MAX_SEARCH_ROUNDS, auto_compact: false },
      {
        run_id: `run_${host.ids()}`,
        session_id: null,
        system,
        prompt: [...history, ...said],
        tools: tools.map(clientTool),
        tool_format,
        skills: [],
        profile: profileOf("completer"),
        policies: { policy: null },
        model: specModel(choice),
        call: own,
      },
    ),
    ...defined({ tool_search, tool_examples, tool_choice, prefill }),
    single: true,
  };
  const vault = runVault(spec, context);
  return {
    spec,
    model: withCompletion(chosen, tools, history, input),
    vault,
    tools,
    transcript: withMessages(options.transcript ?? emptyTranscript(host.ids()), said, host.ids),
    warnings: [
      ...choice.warnings,
      ...(vault?.warnings ?? []),
      ...tooManyTools(tools, choice),
      ...ignoredInCall({
        given: { ...input.options, prompt: input.prompt },
        model: chosen,
        tools: tools.length > 0,
        text: tool_format === "text",
      }),
    ],
  };
}

/**
 * Adds the `completion` request. Not if the answer must be JSON, may be a tool call or follows a conversation: an
 * endpoint for completions knows none of these.
 */
function withCompletion(
  model: RunModel,
  tools: readonly Tool[],
  history: readonly Message[],
  { completion }: CallInput,
): RunModel {
  if (completion === undefined || model.structured !== null || tools.length > 0 || history.length > 0)
    return model;
  return { ...model, settings: (target) => ({ ...model.settings(target), completion }) };
}

/** A tool as the caller executes it, whatever its definition says. */
const clientTool = (tool: Tool): AgentTool => ({
  definition: definitionOf(tool),
  executor: "client",
  annotations: {},
  handler: null,
  skill: null,
});

/** The outcome of a call, from its records. */
function outcomeOf(prepared: Prepared, log: RunLog, figures: CallFigures, host: LlmHost): CallOutcome {
  const { spec, model, transcript } = prepared;
  const warnings = [...prepared.warnings];
  const events: SearchEvent[] = [];
  const retries: JsonObject[] = [];
  /** Models whose providers refused to search in this call. */
  const refused_searches: string[] = [];
  let last: ModelTurn | null = null;
  /** What the model said and searched before the last turn. */
  const earlier: Block[] = [];
  /** Hull's searches since the last turn. */
  let searched: SearchEvent[] = [];
  for (const record of log.records()) {
    if (record.type === "search_refused") {
      warnings.push(...record.warnings);
      refused_searches.push(...(record.models ?? []));
    }
    if (record.type === "tool_searched") {
      events.push(...record.events);
      searched.push(...record.events);
    }
    if (record.type !== "model_call_settled") continue;
    if (last !== null) earlier.push(...keptOf(last, spec), ...searched.map(searchBlock));
    last = record.turn;
    searched = [];
    warnings.push(...record.warnings);
    retries.push(...(record.retries ?? []));
    events.push(...(record.searches ?? []));
  }
  if (last === null) throw new Internal({ cause: "a call ended without an answer" });
  if (log.state().run?.status === "budget_exhausted") warnings.push(ONLY_SEARCHES);
  const { further, message } = saidSince(spec, log.state());
  const turn = answerOf(prepared, last, message, searched);
  const checked = model.structured === null ? null : checkAnswer(model.structured, turn);
  const routing = model.routing === null ? null : withAnswering(model.routing, turn);
  const note = (kind: string, role: string, metadata: Record<string, unknown>) =>
    extraEvent(kind, { role, visibility: "internal", text: "", metadata }, host.ids);
  const kept = spec.tool_format === "text" ? { ...turn, blocks: shown(prepared, message, searched) } : turn;
  const whole = withTurn(withMessages(transcript, further, host.ids), kept, host.ids);
  const notes = [
    ...events.map((event) =>
      note(event.type, event.type === "tool_search_query" ? "assistant" : "tool", { ...event }),
    ),
    ...retries.map((metadata) => note("SchemaRetry", "user", metadata)),
    ...(routing === null ? [] : [note("routing_decision", "system", routing)]),
  ];
  const result = resultOf({
    turn,
    earlier,
    figures,
    data: checked?.data,
    structured: model.structured !== null,
    transcript: { ...whole, events: [...whole.events, ...notes] },
    warnings,
    routing,
    further: host.further(),
  });
  return { result, turn, figures, attempts: retries.length + 1, checked, refused_searches };
}

/** What the answer keeps of a turn that only searched or paused. In the text tool format its text is the search. */
const keptOf = ({ blocks }: ModelTurn, { tool_format }: AgentSpec): Block[] =>
  tool_format === "text" ? [] : blocks.filter(({ type }) => type !== "tool_call");

/** The messages of searches, and the part of the answer that the conversation keeps. */
function saidSince({ prompt }: AgentSpec, { visible }: AgentState): { further: Message[]; message: Block[] } {
  const said = visible.slice(prompt.length);
  const at = said.findLastIndex(({ role }) => role === "assistant");
  const message = said[at];
  return { further: said.slice(0, at), message: message?.role === "assistant" ? message.content : [] };
}

/** The turn, with the calls in its text as blocks. Hull's own searches become blocks, too. */
function answerOf(
  prepared: Prepared,
  turn: ModelTurn,
  message: readonly Block[],
  searched: readonly SearchEvent[],
): CallTurn {
  const { spec, tools } = prepared;
  const written = message.filter((block) => block.type === "tool_call" && !turn.blocks.includes(block));
  const blocks = shown(prepared, [...turn.blocks, ...written], searched);
  const read =
    spec.tool_format === "text"
      ? readTextTurn(turn, tools)
      : { ...turn, text: textOfBlocks(turn.blocks), text_format: null };
  return { ...read, blocks };
}

/** The blocks of a turn as its caller sees them: searches in place of the calls that asked for them. */
const shown = ({ vault }: Prepared, blocks: readonly Block[], searched: readonly SearchEvent[]): Block[] => [
  ...searched.map(searchBlock),
  ...blocks.filter((block) => block.type !== "tool_call" || vault?.owns(block.name) !== true),
];
