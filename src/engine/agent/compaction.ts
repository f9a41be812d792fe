/**
 * Compaction: which part of the prompt-visible history is archived, and what replaces it. Pure; the record log keeps
 * everything.
 */

import { firstOf, firstWords, lastOf } from "../../cut.ts";
import { counted } from "../../plural.ts";
import type { Json } from "../../skill/manifest.ts";
import type { Block, Message } from "../messages.ts";
import { archivedSpan } from "./compaction-cut.ts";
import type { AgentRecordBody, Compacted } from "./records.ts";
import type { CompactionOptions } from "./spec.ts";

type CompactionMode = Compacted["mode"];
type EngineStrategy = CompactionOptions["strategy"];

/**
 * A compaction that is due. `keep_first` is more than requested if results stay with their calls. `archived`: the messages
 * to archive. `summary`: `null` if a model or a hook must write it.
 */
export interface CompactionPlan
  extends Omit<Compacted, "engine_strategy" | "estimated_tokens_after" | "summary"> {
  engine_strategy: EngineStrategy;
  archived: Message[];
  summary: string | null;
}

/** Characters of all texts of the messages and of the system text, divided by four. */
export function estimateTokens(messages: readonly Message[], system: string): number {
  return tokensIn(messages.reduce((sum, message) => sum + messageLength(message), system.length));
}

export const tokensIn = (characters: number): number => Math.ceil(characters / 4);

/** Characters of a message's texts. */
export function messageLength(message: Message): number {
  if (message.role === "tool") return message.results.reduce((sum, { content }) => sum + content.length, 0);
  if (message.role === "user") {
    return message.content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  }
  return message.content.reduce((sum, block) => sum + blockLength(block), 0);
}

function blockLength(block: Block): number {
  if (block.type === "output_text" || block.type === "reasoning") return block.text.length;
  return block.type === "tool_call" ? block.raw.length : 0;
}

const DEFAULT_THRESHOLD = 48_000;
const MIN_HARD_LIMIT = 4096;

/** Why a compaction is due, and which strategy makes it. */
interface Due {
  mode: CompactionMode;
  strategy: EngineStrategy;
  /** The strategy's name in the options. */
  named: string;
}

/**
 * Whether and how to compact a history of this many tokens; `null`: not.
 * @param window tokens of the model's context; `null`: unknown
 * @param mode `preflight` at the start of a turn, `auto` after tools, `idle` when a daemon goes idle
 */
export function compactionDue(
  tokens: number,
  options: Omit<CompactionOptions, "keep_first" | "keep_last">,
  window: number | null,
  mode: "preflight" | "auto" | "idle",
): Due | null {
  if (options.auto === false) return null;
  if (options.auto === true || mode === "idle") {
    const threshold = thresholdOf(options, window);
    if (mode === "preflight" ? tokens >= threshold : tokens > threshold) {
      return { mode, strategy: options.strategy, named: options.strategy_name ?? options.strategy };
    }
  }
  const hard = hardLimit(options, window);
  if (hard === null || tokens <= hard || mode === "idle") return null;
  const strategy = options.hard_limit_strategy;
  return { mode: "hard_limit", strategy, named: strategy };
}

/** The default leaves more room for the answer than a threshold that the user set. */
function thresholdOf(
  { threshold_tokens }: Pick<CompactionOptions, "threshold_tokens">,
  window: number | null,
) {
  const wanted = threshold_tokens ?? DEFAULT_THRESHOLD;
  const share = threshold_tokens === null ? 0.65 : 0.75;
  return window === null ? wanted : Math.min(wanted, Math.floor(window * share));
}

function hardLimit(
  { hard_limit_tokens }: Pick<CompactionOptions, "hard_limit_tokens">,
  window: number | null,
): number | null {
  if (hard_limit_tokens !== null) return hard_limit_tokens;
  return window === null ? null : Math.max(MIN_HARD_LIMIT, Math.floor(window * 0.75));
}

/** The due compaction of these messages, or `null`. Parameters as those of `compactionDue`. */
export function dueCompaction(
  messages: readonly Message[],
  system: string,
  options: CompactionOptions,
  window: number | null,
  mode: "preflight" | "auto" | "idle",
): CompactionPlan | null {
  if (options.auto === false) return null;
  const before = estimateTokens(messages, system);
  const due = compactionDue(before, options, window, mode);
  return due === null ? null : planCompaction(messages, options, { ...due, before });
}

/** What a compaction would archive; `null`: nothing. */
export function planCompaction(
  messages: readonly Message[],
  { keep_first, keep_last }: Pick<CompactionOptions, "keep_first" | "keep_last">,
  wanted: { mode: CompactionMode; before: number; strategy: EngineStrategy; named?: string },
): CompactionPlan | null {
  const items = messages.map((message) => ({ role: message.role, fresh: !isSummary(message) }));
  const span = archivedSpan(items, { keep_first, keep_last });
  if (span === null) return null;
  const archived = messages.slice(span.start, span.end);
  const { mode, before, strategy, named = strategy } = wanted;
  return {
    mode,
    strategy: named,
    engine_strategy: strategy,
    archived_messages: archived.length,
    estimated_tokens_before: before,
    keep_first: span.start,
    keep_last,
    archived,
    summary: ownSummary(strategy, archived.flatMap(linesOf), archived.length),
  };
}

/** The record of an executed plan. @param visible the history that it shortens */
export function compactionRecord(
  visible: readonly Message[],
  run: string | null,
  { archived: _, ...plan }: CompactionPlan,
  summary: string,
): Extract<AgentRecordBody, { type: "compacted" }> {
  const done = { ...plan, summary };
  const saved = estimateTokens(visible, "") - estimateTokens(withoutArchived(visible, done), "");
  const estimated_tokens_after = Math.max(0, done.estimated_tokens_before - saved);
  return { type: "compacted", run, compacted: { ...done, estimated_tokens_after } };
}

/** The history after a compaction: its summary is a user message at the cut. */
export function withoutArchived(
  messages: readonly Message[],
  done: Pick<Compacted, "keep_first" | "archived_messages" | "summary">,
): Message[] {
  const { keep_first, archived_messages, summary } = done;
  return [
    ...messages.slice(0, keep_first),
    summaryMessage(summary, archived_messages),
    ...messages.slice(keep_first + archived_messages),
  ];
}

/** A summary as a message of the history. @param count messages that it replaces; 0: unknown */
export function summaryMessage(summary: string, count: number): Message {
  return { role: "user", content: [{ type: "text", text: headedSummary(summary, count) }] };
}

/** Adds a further summary to the conversation's summary. */
export function joinedSummary(before: string | null | undefined, further: string): string {
  return before === null || before === undefined || before === "" ? further : `${before}\n\n${further}`;
}

/** The first line of every summary that a model gets. */
function summaryHead(count: number, how: string): string {
  if (count === 0) return `[Older messages were compacted: ${how}]`;
  return `[${count} older ${count === 1 ? "message was" : "messages were"} compacted: ${how}]`;
}

const HEAD = /^\[(?:Older|\d+ older) messages? (?:was|were) compacted: [^\n]*\](?:\n|$)/;

/** The summary that a model wrote. If it is empty or the model failed, Hull writes one itself. */
export function summaryFrom(text: string, plan: CompactionPlan): { plan: CompactionPlan; summary: string } {
  const { archived } = plan;
  if (text.trim() !== "") return { plan, summary: modelSummary(text, archived.length) };
  const first = firstLines(archived.flatMap(linesOf), archived.length);
  return { plan: { ...plan, engine_strategy: "truncate" }, summary: first };
}

/** A summary as the model gets it. One that a hook or a caller wrote gets its first line here. */
export function headedSummary(summary: string, count: number): string {
  return HEAD.test(summary) ? summary : `${summaryHead(count, "this replaces them")}\n${summary}`;
}

/** A model's summary with its first line. */
export function modelSummary(summary: string, count: number): string {
  return `${summaryHead(count, "a model summarised them")}\n${summary}`;
}

/** Whether a message is the summary of an earlier compaction. */
export function isSummary(message: Message): boolean {
  return message.role === "user" && linesOf(message).every(({ role }) => role === SUMMARY);
}

/** A message as a line of a summary. */
export interface Line {
  role: string;
  text: string;
}

/** The role of an earlier compaction's summary. */
export const SUMMARY = "summary";

/** The lines of a message: one, or for a turn's tools one per result. */
export function linesOf(message: Message): Line[] {
  if (message.role === "tool") {
    return message.results.map(({ name, content }) => ({ role: `tool ${name}`.trimEnd(), text: content }));
  }
  if (message.role === "user") {
    const text = message.content
      .map((part) => (part.type === "text" ? part.text : `(${part.type})`))
      .join("\n");
    return [HEAD.test(text) ? { role: SUMMARY, text: text.replace(HEAD, "") } : { role: "user", text }];
  }
  const text = message.content
    .map((block) => {
      if (block.type === "output_text") return block.text;
      return block.type === "tool_call" ? `(calls ${block.name} with ${block.raw})` : "";
    })
    .filter((part) => part !== "")
    .join("\n");
  return [{ role: "assistant", text }];
}

const MASKED = "long observations are masked";
const lineText = ({ role, text }: Line): string => `${role}: ${text}`;

/**
 * The summary that the strategy makes without a model; `null`: a model or a hook must write it.
 * @param count number of messages that the lines cover
 */
export function ownSummary(strategy: EngineStrategy, lines: readonly Line[], count: number): string | null {
  switch (strategy) {
    case "truncate":
      return firstLines(lines, count);
    case "observation_mask":
      return [summaryHead(count, MASKED), ...lines.map(masked).map(lineText)].join("\n");
    default:
      return null;
  }
}

/**
 * The summary of `observation_mask`, in which a hook's entries replace lines: one entry per line, `null` keeps the
 * line.
 */
export function maskedSummary(archived: readonly Message[], masks: Json): string {
  const given = Array.isArray(masks) ? masks : [];
  const lines = archived.flatMap(linesOf).map((line, index) => {
    const text = given[index];
    return typeof text === "string" ? { ...line, text } : masked(line);
  });
  return [summaryHead(archived.length, MASKED), ...lines.map(lineText)].join("\n");
}

const MAX_TRUNCATED = 15;
const MAX_EACH = 500;
const MAX_FIRST_LINE = 120;

/** The summary of `truncate`: the first of the archived messages, shortened. */
function firstLines(lines: readonly Line[], count: number): string {
  const shown = lines
    .slice(0, MAX_TRUNCATED)
    .map(({ role, text }) => lineText({ role, text: firstWords(text, MAX_EACH) }));
  const more = lines.length - shown.length;
  const rest = more > 0 ? [`… and ${more} more`] : [];
  return [summaryHead(count, "the first of them, cut short"), ...shown, ...rest].join("\n");
}

/** Keeps the model's texts, earlier summaries and short messages unchanged. */
function masked({ role, text }: Line): Line {
  if (role === "assistant" || role === SUMMARY || text.length < MAX_EACH) return { role, text };
  const lines = text.split("\n");
  const first = firstOf(lines[0] ?? "", MAX_FIRST_LINE);
  const size = `${counted(lines.length, "line")}, ${counted(text.length, "character")}`;
  return { role, text: `${first} [masked: ${size}]` };
}

/** The prompt for the model that writes the summary. */
export function summaryInstructions(archived: readonly Message[]): string {
  return instructionsFor(archived.flatMap(linesOf), archived.length);
}

/** @param ask what the model is asked for; absent: a summary with which to continue */
export function instructionsFor(lines: readonly Line[], count: number, ask?: string): string {
  return [
    ask ??
      `Summarise the ${count} ${count === 1 ? "message" : "messages"} below for an assistant that goes on with the work and cannot see them any more.\n\nKeep the goals, the constraints, the decisions, the tool work that is finished, the open issues and questions, and the next actions.\n\nAnswer with the summary only.`,
    `<conversation>\n${lines.map(lineText).join("\n")}\n</conversation>`,
  ].join("\n\n");
}

const DIAGNOSTIC = /error|warning|fail(?:ed|ure)|panic|exception|traceback|\.[a-z][a-z0-9]{0,9}(?::\d|\(\d)/i;
const MAX_DIAGNOSTICS = 32;
const MAX_DIAGNOSTIC = 400;

/**
 * A long output for the model: head and tail at line boundaries, lines between them that look like diagnostics, and how
 * much was left out. The result has at most about `limit` characters. Hull has redacted the outputs of its tools before.
 */
export function shortenOutput(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const share = Math.floor((limit * 3) / 8);
  const head = atLineEnd(firstOf(text, share));
  const tail = atLineStart(lastOf(text, share));
  const middle = text.slice(head.length, text.length - tail.length);
  const kept: string[] = [];
  let room = limit - 2 * share;
  for (const line of middle.split("\n")) {
    if (kept.length === MAX_DIAGNOSTICS) break;
    const shown = firstOf(line, MAX_DIAGNOSTIC);
    if (!DIAGNOSTIC.test(shown) || shown.length > room) continue;
    kept.push(shown);
    room -= shown.length;
  }
  const missing = kept.reduce((left, line) => left - line.length, middle.length);
  const keptLines = kept.length === 0 ? "" : `; ${kept.length} that look like diagnostics are kept`;
  const marker = `[hull: ${counted(missing, "character")} left out here${keptLines}]`;
  return [head.replace(/\n$/, ""), marker, ...kept, tail].filter((part) => part !== "").join("\n");
}

/** Cuts a head at the end of its last line, unless that line is most of it. */
function atLineEnd(text: string): string {
  const end = text.lastIndexOf("\n");
  return end > text.length / 2 ? text.slice(0, end + 1) : text;
}

function atLineStart(text: string): string {
  const start = text.indexOf("\n");
  return start !== -1 && start < text.length / 2 ? text.slice(start + 1) : text;
}
