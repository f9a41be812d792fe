/**
 * Compaction (agent-runtime.md §8): what of the prompt-visible history is archived, and what stands in its place. Pure;
 * the record log keeps everything.
 */
import type { Block, Message } from "../messages.ts";
import type { Compacted } from "./records.ts";
import type { CompactionOptions } from "./spec.ts";

export type CompactionMode = Compacted["mode"];

/** A compaction that is due. `archived` are the messages that go; `summary` is `null` where it has to be asked for. */
export interface CompactionPlan {
  mode: CompactionMode;
  strategy: string;
  engine_strategy: "observation_mask" | "truncate" | "llm" | "custom";
  keep_first: number;
  keep_last: number;
  archived: Message[];
  before: number;
  summary: string | null;
}

/** Context windows by model, in tokens; `null`: unknown. */
export function contextWindow(model: string): number | null {
  const id = model.toLowerCase().split("/").at(-1) ?? "";
  const [, window] = WINDOWS.find(([pattern]) => pattern.test(id)) ?? [];
  return window ?? null;
}

const WINDOWS: readonly [RegExp, number][] = [
  [/^claude/, 200_000],
  [/^gpt-4o|^gpt-4\.1/, 128_000],
  [/^gpt-4(?:-|$)/, 8192],
  [/^gpt-3\.5/, 16_385],
  [/^o[134](?:-|$)/, 200_000],
  [/^gemini-(?:1\.5|2)/, 1_000_000],
  [/^gemini/, 128_000],
];

const MIN_HARD_LIMIT = 4096;

/** Characters of string contents and of the system text, by four. */
export function estimateTokens(messages: readonly Message[], system: string): number {
  const characters = messages.reduce((sum, message) => sum + messageLength(message), 0);
  return Math.ceil((characters + system.length) / 4);
}

function messageLength(message: Message): number {
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

/**
 * The compaction that is due, or `null`.
 * @param mode `preflight` at the start of a turn, `auto` after tools, `idle` when a daemon goes idle
 */
export function dueCompaction(
  messages: readonly Message[],
  system: string,
  options: CompactionOptions,
  window: number | null,
  mode: "preflight" | "auto" | "idle",
): CompactionPlan | null {
  if (options.auto === false && mode !== "idle") return null;
  const before = estimateTokens(messages, system);
  const hard = hardLimit(options, window);
  if (options.auto === true || mode === "idle") {
    const threshold =
      window === null
        ? options.threshold_tokens
        : Math.min(options.threshold_tokens, Math.floor(window * 0.75));
    const due = mode === "preflight" ? before >= threshold : before > threshold;
    if (due) return planCompaction(messages, options, { mode, before, strategy: options.strategy });
  }
  if (hard === null || before <= hard || mode === "idle") return null;
  return planCompaction(messages, options, {
    mode: "hard_limit",
    before,
    strategy: options.hard_limit_strategy,
  });
}

function hardLimit({ hard_limit_tokens }: CompactionOptions, window: number | null): number | null {
  if (hard_limit_tokens !== null) return hard_limit_tokens;
  return window === null ? null : Math.max(MIN_HARD_LIMIT, Math.floor(window * 0.75));
}

/** What a compaction would archive; `null` where there is nothing to. */
export function planCompaction(
  messages: readonly Message[],
  options: Pick<CompactionOptions, "keep_first" | "keep_last">,
  wanted: { mode: CompactionMode; before: number; strategy: CompactionPlan["engine_strategy"] },
): CompactionPlan | null {
  const { keep_first, keep_last } = options;
  if (messages.length <= keep_first + keep_last) return null;
  const end = cutBefore(messages, messages.length - keep_last, keep_first);
  const archived = messages.slice(keep_first, end);
  const { mode, before, strategy } = wanted;
  // A summary in place of a single message would be no gain, and could be due again at once.
  if (archived.length < (mode === "manual" ? 1 : 2)) return null;
  const own = strategy === "truncate" || strategy === "observation_mask";
  return {
    mode,
    strategy,
    engine_strategy: strategy,
    keep_first,
    keep_last: messages.length - end,
    archived,
    before,
    summary: own ? summaryOf(strategy, archived) : null,
  };
}

/** Moves a cut back to where a user's message begins, so that a call and its results stay together. */
function cutBefore(messages: readonly Message[], wanted: number, least: number): number {
  for (let at = wanted; at > least; at--) if (messages[at]?.role === "user") return at;
  // No user's message in reach: results at least stay with their calls.
  for (let at = wanted; at > least; at--) if (messages[at]?.role !== "tool") return at;
  return least;
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
    { role: "user", content: [{ type: "text", text: summary }] },
    ...messages.slice(keep_first + archived_messages),
  ];
}

/** The first line of every summary. */
export function summaryHead(count: number, how: string): string {
  return `[${count} older messages were compacted: ${how}]`;
}

const MAX_TRUNCATED = 15;
const MAX_EACH = 500;
const MAX_FIRST_LINE = 120;

function summaryOf(strategy: "truncate" | "observation_mask", archived: readonly Message[]): string {
  return strategy === "truncate" ? truncated(archived) : masked(archived);
}

/** The first of the archived messages, cut short. */
export function truncated(archived: readonly Message[]): string {
  const lines = archived.flatMap(asLines);
  const shown = lines.slice(0, MAX_TRUNCATED).map(({ role, text }) => `${role}: ${text.slice(0, MAX_EACH)}`);
  const more = lines.length - shown.length;
  const rest = more > 0 ? [`… and ${more} more`] : [];
  return [summaryHead(archived.length, "the first of them, cut short"), ...shown, ...rest].join("\n");
}

function masked(archived: readonly Message[]): string {
  const lines = archived
    .flatMap(asLines)
    .map(({ role, text }) =>
      role === "assistant" || text.length < MAX_EACH ? `${role}: ${text}` : `${role}: ${mask(text)}`,
    );
  return [summaryHead(archived.length, "long observations are masked"), ...lines].join("\n");
}

function mask(text: string): string {
  const lines = text.split("\n");
  const first = (lines[0] ?? "").slice(0, MAX_FIRST_LINE);
  return `${first} [masked: ${lines.length} lines, ${text.length} characters]`;
}

function asLines(message: Message): { role: string; text: string }[] {
  if (message.role === "tool")
    return message.results.map(({ name, content }) => ({ role: `tool ${name}`, text: content }));
  if (message.role === "user") {
    const text = message.content
      .map((part) => (part.type === "text" ? part.text : `(${part.type})`))
      .join("\n");
    return [{ role: "user", text }];
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

/** What a model is asked that is to write the summary. */
export function summaryInstructions(archived: readonly Message[]): string {
  const conversation = archived
    .flatMap(asLines)
    .map(({ role, text }) => `${role}: ${text}`)
    .join("\n");
  return [
    `Summarise the ${archived.length} messages below for an assistant that goes on with the work and cannot see them any more.`,
    "Keep the goals, the constraints, the decisions, the tool work that is finished, the open issues and the next actions.",
    "Answer with the summary only.",
    `<conversation>\n${conversation}\n</conversation>`,
  ].join("\n\n");
}

const DIAGNOSTIC =
  /\b(?:error|warning|failed|failure|panic|exception|traceback)\b|\bFAILED\b|[\w./-]+\.\w+:\d+/i;
const MAX_DIAGNOSTICS = 32;

/**
 * A long output as the model gets it (§8.3): head and tail at line boundaries, and lines between them that look like
 * diagnostics.
 */
export function shortenOutput(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const head = atLineEnd(text.slice(0, half));
  const tail = atLineStart(text.slice(-half));
  const middle = text.slice(head.length, text.length - tail.length);
  const telling = middle.split("\n").filter((line) => line.length < 1000 && DIAGNOSTIC.test(line));
  const kept = telling.slice(0, MAX_DIAGNOSTICS);
  const marker = `[hull: ${middle.length} characters left out${kept.length > 0 ? `; ${kept.length} lines of them that look like diagnostics:` : ""}]`;
  return [head.trimEnd(), marker, ...kept, tail.trimStart()].join("\n");
}

function atLineEnd(text: string): string {
  const end = text.lastIndexOf("\n");
  return end > text.length / 2 ? text.slice(0, end + 1) : text;
}

function atLineStart(text: string): string {
  const start = text.indexOf("\n");
  return start !== -1 && start < text.length / 2 ? text.slice(start + 1) : text;
}
