/**
 * Compaction: what of the prompt-visible history is archived, and what stands in its place. Pure;
 * the record log keeps everything.
 */
import type { Json } from "../../skill/manifest.ts";
import { firstOf, lastOf } from "../cut.ts";
import type { Block, Message } from "../messages.ts";
import { archivedSpan } from "./compaction-cut.ts";
import type { Compacted } from "./records.ts";
import type { CompactionOptions } from "./spec.ts";

type CompactionMode = Compacted["mode"];
type EngineStrategy = "observation_mask" | "truncate" | "llm" | "custom";

/** A compaction that is due. `archived` are the messages that go; `summary` is `null` where it has to be asked for. */
export interface CompactionPlan {
  mode: CompactionMode;
  strategy: string;
  engine_strategy: EngineStrategy;
  /** Messages before the archived ones: more than was asked for where results stay with their calls. */
  keep_first: number;
  /** As asked for. */
  keep_last: number;
  archived: Message[];
  before: number;
  summary: string | null;
}

/** Characters of all texts of the messages and of the system text, by four. */
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

/** Why a compaction is due, and how it is made. */
export interface Due {
  mode: CompactionMode;
  strategy: EngineStrategy;
  /** The strategy as the options name it. */
  named: string;
}

/**
 * Whether a history of so many tokens is to be compacted; `null`: no.
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

/** The default leaves more room to the answer than what the user set. */
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

/** The compaction of these messages that is due, or `null`. Parameters as those of `compactionDue`. */
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

/** What a compaction would archive; `null` where there is nothing to. */
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
    keep_first: span.start,
    keep_last,
    archived,
    before,
    summary: ownSummary(strategy, archived.flatMap(linesOf), archived.length),
  };
}

/** The record of a plan that was carried out with this summary. */
export function compacted(plan: CompactionPlan, summary: string, after: number): Compacted {
  const { mode, strategy, engine_strategy, archived, before, keep_first, keep_last } = plan;
  return {
    mode,
    strategy,
    engine_strategy,
    archived_messages: archived.length,
    estimated_tokens_before: before,
    estimated_tokens_after: after,
    keep_first,
    keep_last,
    summary,
  };
}

/** The history after a compaction: its summary stands as a user's message at the cut. */
export function withoutArchived(messages: readonly Message[], done: Compacted): Message[] {
  const { keep_first, archived_messages, summary } = done;
  return [
    ...messages.slice(0, keep_first),
    summaryMessage(summary, archived_messages),
    ...messages.slice(keep_first + archived_messages),
  ];
}

/** A summary as it stands in a history. @param count messages that it stands for; 0: nobody knows how many */
export function summaryMessage(summary: string, count: number): Message {
  return { role: "user", content: [{ type: "text", text: headedSummary(summary, count) }] };
}

/** A conversation's summary after a further compaction. */
export function joinedSummary(before: string | null | undefined, further: string): string {
  return before === null || before === undefined || before === "" ? further : `${before}\n\n${further}`;
}

/** The first line of every summary that a model gets. */
function summaryHead(count: number, how: string): string {
  if (count === 0) return `[Older messages were compacted: ${how}]`;
  return `[${count} older ${count === 1 ? "message was" : "messages were"} compacted: ${how}]`;
}

const HEAD = /^\[(?:Older|\d+ older) messages? (?:was|were) compacted: [^\n]*\](?:\n|$)/;

/** What a model that was asked for a summary came to: one that says nothing, or cannot be had, Hull makes itself. */
export function summaryFrom(text: string, plan: CompactionPlan): { plan: CompactionPlan; summary: string } {
  const { archived } = plan;
  if (text.trim() !== "") return { plan, summary: modelSummary(text, archived.length) };
  return { plan: { ...plan, engine_strategy: "truncate" }, summary: truncated(archived) };
}

/** A summary as the model gets it: one that a hook or a caller wrote gets its first line here. */
export function headedSummary(summary: string, count: number): string {
  return HEAD.test(summary) ? summary : `${summaryHead(count, "this stands for them")}\n${summary}`;
}

/** What a model wrote, with its first line. */
export function modelSummary(summary: string, count: number): string {
  return `${summaryHead(count, "a model summarised them")}\n${summary}`;
}

/** Whether a message is what an earlier compaction left. */
export function isSummary(message: Message): boolean {
  return message.role === "user" && linesOf(message).every(({ role }) => role === SUMMARY);
}

/** A message as summaries tell it. */
export interface Line {
  role: string;
  text: string;
}

/** The role of what an earlier compaction left. */
export const SUMMARY = "summary";

/** One line per message; one per result of a turn's tools. */
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
 * The summary that a strategy makes without asking anyone; `null`: it has to be asked for.
 * @param count messages that the lines tell
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

/** The summary of `observation_mask` with what a hook puts in place of lines: one entry per line, `null` where it has no say. */
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

/** The first of the archived messages, cut short. */
export function truncated(archived: readonly Message[]): string {
  return firstLines(archived.flatMap(linesOf), archived.length);
}

function firstLines(lines: readonly Line[], count: number): string {
  const shown = lines
    .slice(0, MAX_TRUNCATED)
    .map(({ role, text }) => lineText({ role, text: firstOf(text, MAX_EACH) }));
  const more = lines.length - shown.length;
  const rest = more > 0 ? [`… and ${more} more`] : [];
  return [summaryHead(count, "the first of them, cut short"), ...shown, ...rest].join("\n");
}

/** What the model said, earlier summaries and short messages stay as they are. */
function masked({ role, text }: Line): Line {
  if (role === "assistant" || role === SUMMARY || text.length < MAX_EACH) return { role, text };
  const lines = text.split("\n");
  const first = firstOf(lines[0] ?? "", MAX_FIRST_LINE);
  const count = lines.length === 1 ? "1 line" : `${lines.length} lines`;
  return { role, text: `${first} [masked: ${count}, ${text.length} characters]` };
}

/** What a model is asked that is to write the summary. */
export function summaryInstructions(archived: readonly Message[]): string {
  return instructionsFor(archived.flatMap(linesOf), archived.length);
}

/** @param ask what is asked of the model; absent: a summary to go on with */
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
 * A long output as the model gets it: head and tail at line boundaries, lines between them that look like
 * diagnostics, and how much was left out. Its length is about `limit` characters at most.
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
  const telling = kept.length === 0 ? "" : `; ${kept.length} that look like diagnostics are kept`;
  const marker = `[hull: ${missing} characters left out here${telling}]`;
  return [withoutLastBreak(head), marker, ...kept, tail].filter((part) => part !== "").join("\n");
}

/** The last line's end in a head, if its line is not most of it. */
function atLineEnd(text: string): string {
  const end = text.lastIndexOf("\n");
  return end > text.length / 2 ? text.slice(0, end + 1) : text;
}

function atLineStart(text: string): string {
  const start = text.indexOf("\n");
  return start !== -1 && start < text.length / 2 ? text.slice(start + 1) : text;
}

const withoutLastBreak = (text: string): string => (text.endsWith("\n") ? text.slice(0, -1) : text);
